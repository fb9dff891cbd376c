/* SPDX-License-Identifier: GPL-2.0 */
/* What a host knows of a job that has open flows. */
#ifndef MLCC_SLOT_H
#define MLCC_SLOT_H

#include <linux/refcount.h>

#include "mlcc.h"
#include "owner.h"

/* A job as this host sees it, shared by its flows. */
struct mlcc_slot {
	struct mlcc_job job;	/* first: "acked" and "last_us" are written on every ACK */
	struct mlcc_path paths[MLCC_PATHS];
	struct mlcc_led led;	/* one of several hosts, as far as it has been told (share.c) */
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

#endif /* MLCC_SLOT_H */
