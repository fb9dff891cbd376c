/* SPDX-License-Identifier: GPL-2.0 */
/* Who answers for a job's slot, or a setting, and how many of them he may have. */
#ifndef MLCC_OWNER_OF_H
#define MLCC_OWNER_OF_H

#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "mlcc.h"
#include "../include/mlcc/owner.h"

struct mlcc_owner {
	u32 whose;	/* enum mlcc_whose */
	u32 who;	/* host: number of the network namespace, 0: the initial; job; user */
};

/* Whether the tagger has given the socket job @id. */
bool mlcc_is_tagged(const struct sock *sk, u32 id);

/* Of what is in @net.  @job: root has given it to that one, 0: to none. */
struct mlcc_owner mlcc_owner_of(const struct net *net, u32 job);

/* What is counted is protected by a lock of the caller's. */
struct mlcc_quota {
	struct xarray had[MLCC_WHOSE_COUNT];	/* by who: how many, as a value */
	u32 all;
	u32 others;	/* of them, those that are not the initial namespace's, */
	u32 users;	/* and in namespaces of users */
};

/* One more.  -ENOSPC: the host is full, -EDQUOT: the namespace, or the owner, has enough. */
int mlcc_quota_take(struct mlcc_quota *q, struct mlcc_owner o);
void mlcc_quota_give(struct mlcc_quota *q, struct mlcc_owner o);

#endif /* MLCC_OWNER_OF_H */
