// SPDX-License-Identifier: GPL-2.0
/*
 * Who answers for what: anybody may make user namespaces, network namespaces in them, and mark
 * sockets and set jobs there.  Of all slots, and of all settings,
 *
 *	1/4	is kept for the initial network namespace
 *	1/4	may be other namespaces' that the initial user namespace owns, such as pods', too
 *	1/2	may be anybody's: each user, or job with flows in their namespaces, has at most what
 *		he leaves to others
 */
#include <linux/user_namespace.h>
#include <net/sock.h>

#include "compat.h"
#include "owner.h"
#include "../include/mlcc/uapi/mlcc_netlink.h"

bool mlcc_is_tagged(const struct sock *sk, u32 id)
{
	const struct mlcc_tagged *t;
	bool is;

	rcu_read_lock();
	t = mlcc_sk_storage(sk, MLCC_TAGGED_MAP, sizeof(*t));
	is = t && READ_ONCE(t->job) == id;
	rcu_read_unlock();
	return is;
}

/* Who has made @ns, or the one that it is in: in his own he makes others for any id of his. */
static u32 mlcc_user_of(const struct user_namespace *ns)
{
	while (ns->level > 1)
		ns = ns->parent;
	return __kuid_val(ns->owner);
}

struct mlcc_owner mlcc_owner_of(const struct net *net, u32 job)
{
	if (net->user_ns == &init_user_ns)
		return (struct mlcc_owner){ MLCC_OF_HOST,
					    net_eq(net, &init_net) ? 0 : net->ns.inum };
	if (job)
		return (struct mlcc_owner){ MLCC_OF_JOB, job };
	return (struct mlcc_owner){ MLCC_OF_USER, mlcc_user_of(net->user_ns) };
}

static bool mlcc_owner_is_initial(struct mlcc_owner o)
{
	return o.whose == MLCC_OF_HOST && !o.who;
}

static u32 mlcc_quota_had(struct mlcc_quota *q, struct mlcc_owner o)
{
	return xa_to_value(xa_load(&q->had[o.whose], o.who));
}

static int mlcc_quota_room(struct mlcc_quota *q, struct mlcc_owner o)
{
	u32 had = mlcc_quota_had(q, o);
	bool fits;

	if (q->all >= MLCC_JOBS_MAX)
		return -ENOSPC;
	if (mlcc_owner_is_initial(o))
		return 0;
	if (q->others >= MLCC_JOB_OTHERS_MAX)
		return -ENOSPC;
	if (o.whose == MLCC_OF_HOST)
		fits = had < MLCC_JOB_NETNS_MAX;
	else
		fits = mlcc_share_has_room(MLCC_JOB_USERS_MAX, q->users, had);
	return fits ? 0 : -EDQUOT;
}

static int mlcc_quota_change(struct mlcc_quota *q, struct mlcc_owner o, int change)
{
	u32 n = mlcc_quota_had(q, o) + change;
	int err;

	if (!mlcc_owner_is_initial(o)) {
		/* the last one's place goes: nothing is allocated for less */
		err = xa_err(xa_store(&q->had[o.whose], o.who, n ? xa_mk_value(n) : NULL,
				      GFP_ATOMIC | __GFP_NOWARN));
		if (err)
			return err;
		q->others += change;
	}
	if (o.whose != MLCC_OF_HOST)
		q->users += change;
	WRITE_ONCE(q->all, q->all + change);
	return 0;
}

int mlcc_quota_take(struct mlcc_quota *q, struct mlcc_owner o)
{
	return mlcc_quota_room(q, o) ?: mlcc_quota_change(q, o, 1);
}

void mlcc_quota_give(struct mlcc_quota *q, struct mlcc_owner o)
{
	mlcc_quota_change(q, o, -1);
}
