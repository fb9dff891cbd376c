/* SPDX-License-Identifier: GPL-2.0 */
/* The jobs that have open flows on this host. */
#ifndef MLCC_JOB_H
#define MLCC_JOB_H

#include <linux/refcount.h>

#include "mlcc.h"

#define MLCC_JOBS_MAX		16384U		/* on the host; a job needs about 256 bytes */
#define MLCC_MARK_MASK		0xffffU		/* bits of the socket mark that are the job's id */

/* A job as this host sees it, shared by its flows. */
struct mlcc_slot {
	struct mlcc_job job;	/* first: "acked" and "last_us" are written on every ACK */
	u32 profile;		/* enum mlcc_profile_id */
	u32 gen;		/* of the rule that was applied, 0: none */
	u32 id;
	u32 netns;		/* inode number of the namespace, for people */
	u64 net_cookie;		/* the namespace; unlike its address never used again */
	refcount_t users;	/* open flows */
	struct hlist_node node;
	struct rcu_head rcu;
};

u32 mlcc_mark_mask(void);
void mlcc_mark_set_mask(u32 mask);
u32 mlcc_mark_id(const struct sock *sk);

struct mlcc_slot *mlcc_slot_get(const struct sock *sk, u32 id);
void mlcc_slot_put(struct mlcc_slot *s);
void mlcc_slot_refresh(struct mlcc_slot *s);
int mlcc_slots_show(char *buf, size_t size);
void mlcc_slots_check_empty(void);

#endif /* MLCC_JOB_H */
