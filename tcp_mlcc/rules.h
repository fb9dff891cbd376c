/* SPDX-License-Identifier: GPL-2.0 */
/* What an administrator has said of jobs, by the job's id. */
#ifndef MLCC_RULES_H
#define MLCC_RULES_H

#include "mlcc.h"

#define MLCC_RULES_MAX		16384U
#define MLCC_PROFILE_NONE	MLCC_PROFILE_COUNT	/* no choice: the default profile */

struct mlcc_job_rule {
	u64 phase_bytes;	/* hint, 0: learn */
	u32 profile;		/* enum mlcc_profile_id or MLCC_PROFILE_NONE */
	u32 gen;		/* differs from every other rule's, never 0 */
	u32 id;
	struct hlist_node node;
	struct rcu_head rcu;
};

/* Rule of job @id or NULL; the caller is in an RCU read-side section. */
const struct mlcc_job_rule *mlcc_rule_rcu(u32 id);

int mlcc_rule_set(u32 id, u32 profile, u64 phase_bytes);
int mlcc_rule_delete(u32 id);
void mlcc_rules_free(void);

#endif /* MLCC_RULES_H */
