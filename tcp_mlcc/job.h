/* SPDX-License-Identifier: GPL-2.0 */
/* The jobs that have open flows on this host. */
#ifndef MLCC_JOB_H
#define MLCC_JOB_H

#include <linux/refcount.h>
#include <net/net_namespace.h>

#include "mlcc.h"
#include "owner.h"

/* A job as this host sees it, shared by its flows. */
struct mlcc_slot {
	struct mlcc_job job;	/* first: "acked" and "last_us" are written on every ACK */
	struct mlcc_path paths[MLCC_PATHS];
	u32 profile;		/* enum mlcc_profile_id; as the next one, read on every ACK */
	u32 deleted;		/* flows are neutral until it is set; under mlcc_settings_lock */
	u32 class;		/* enum mlcc_class */
	u32 gen;		/* of the hint that was taken over, 0: none */
	u32 id;
	u32 netns;		/* inode number of the namespace, for people */
	atomic_t flows;		/* open ones */
	u64 net_cookie;		/* the namespace; unlike its address never used again */
	struct mlcc_owner owner;
	atomic64_t retrans;	/* segments sent again */
	atomic64_t ce;		/* segments with an ECN mark */
	refcount_t users;	/* flows, and who does something to the job */
	struct hlist_node node;	/* by namespace and id */
	struct hlist_node by_id;
	struct rcu_head rcu;
};

/* What several slots have done together. */
struct mlcc_totals {
	u32 flows;
	u64 bytes;
	u64 retrans;
	u64 ce;
};

u32 mlcc_mark_mask(void);
void mlcc_mark_set_mask(u32 mask);
u32 mlcc_mark_id(const struct sock *sk);

/* A flow's reference.  @tagged: root has given it to the job, whoever owns the namespace. */
struct mlcc_slot *mlcc_slot_get(struct net *net, u32 id, bool tagged);
void mlcc_slot_put(struct mlcc_slot *s);
void mlcc_slot_refresh(struct mlcc_slot *s, struct net *net);
/* Takes over the class alone, at once; returns whether a setting holds for the job. */
bool mlcc_slot_classify(struct mlcc_slot *s);

/*
 * Slot after @s of those that go by what namespace @cookie says of job @id, which is set or
 * was.  With a reference; @s loses its own.  Begin with NULL; at the end comes NULL.
 */
struct mlcc_slot *mlcc_slot_next(struct mlcc_slot *s, u64 cookie, u32 id);

/* The one of these slots that was active last, or NULL; the caller is in an RCU read section. */
const struct mlcc_slot *mlcc_slots_sum(u64 cookie, u32 id, struct mlcc_totals *t);

void mlcc_slots_check_empty(void);

#endif /* MLCC_JOB_H */
