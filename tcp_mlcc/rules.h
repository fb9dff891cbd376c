/* SPDX-License-Identifier: GPL-2.0 */
/* What an administrator has said of jobs, by network namespace and id. */
#ifndef MLCC_RULES_H
#define MLCC_RULES_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <net/net_namespace.h>

#include "mlcc.h"
#include "../include/mlcc/uapi/mlcc_netlink.h"

#define MLCC_PROFILE_NONE	MLCC_PROFILE_COUNT	/* no choice: the default profile */
#define MLCC_AHEAD		BIT_ULL(63)		/* in "ahead": there is something */

struct mlcc_job_rule {
	u64 phase_bytes;	/* hint, 0: learn */
	u64 net_cookie;		/* the namespace that it was set in */
	atomic64_t ahead;	/* bytes of a phase announced before the first flow; else 0 */
	u32 profile;		/* enum mlcc_profile_id or MLCC_PROFILE_NONE */
	u32 gen;		/* of "phase_bytes", see mlcc_hint_gen() */
	u32 id;
	char name[MLCC_JOB_NAME_MAX + 1];	/* "": none */
	struct hlist_node node;
	struct rcu_head rcu;
};

/* Writers hold it; it also puts what they do to the jobs into the order of their rules. */
extern struct mutex mlcc_rules_lock;

/* Rule of job @id of the namespace itself, or NULL; the caller is in an RCU read-side section. */
struct mlcc_job_rule *mlcc_rule_find(u64 cookie, u32 id);
/* The rule that holds there: its own, else the initial namespace's. */
struct mlcc_job_rule *mlcc_rule_of(u64 cookie, u32 id);
/* The namespace's rule with the least id from *@id on; sets *@id. */
struct mlcc_job_rule *mlcc_rule_next(struct net *net, unsigned long *id);

int mlcc_rule_put(struct net *net, struct mlcc_job_rule *r, bool create);
struct mlcc_job_rule *mlcc_rule_take(struct net *net, u32 id);

int mlcc_rules_init(void);
void mlcc_rules_exit(void);

static inline bool mlcc_net_is_initial(u64 cookie)
{
	return cookie == init_net.net_cookie;
}

#endif /* MLCC_RULES_H */
