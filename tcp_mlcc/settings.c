// SPDX-License-Identifier: GPL-2.0
/*
 * What an administrator has said of jobs, by network namespace and id.  A setting may be there long
 * before the job's first socket and outlive its last one, but not its namespace.  What the initial
 * namespace says holds in all others that say nothing of that id.
 *
 *	mlcc_settings	all of them, by the namespace's cookie and the id: what flows look up
 *	mlcc_net	a namespace's own by id: what people list
 *
 * A flow's namespace may be on its way out, so flows go by its cookie, which is never used again.
 * Settings do not change, they are replaced.
 */
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/netns/generic.h>

#include "compat.h"
#include "owner.h"
#include "settings.h"
#include "../include/mlcc/hint.h"

#define MLCC_SETTING_BITS	12

struct mlcc_net {
	struct xarray settings;
};

DEFINE_MUTEX(mlcc_settings_lock);		/* writers; protects what follows */

static struct hlist_head mlcc_settings[1 << MLCC_SETTING_BITS];
static struct mlcc_quota mlcc_settings_quota = {
	.had[0 ... MLCC_WHOSE_COUNT - 1] = XARRAY_INIT(mlcc_settings_quota, 0),
};

static u32 mlcc_settings_gen;
static unsigned int mlcc_net_id __read_mostly;

static struct mlcc_net *mlcc_net(const struct net *net)
{
	return net_generic(net, mlcc_net_id);
}

static struct hlist_head *mlcc_setting_bucket(u64 cookie, u32 id)
{
	return &mlcc_settings[hash_64(cookie ^ (u64)id << 32, MLCC_SETTING_BITS)];
}

struct mlcc_setting *mlcc_setting_find(u64 cookie, u32 id)
{
	struct mlcc_setting *s;

	hlist_for_each_entry_rcu(s, mlcc_setting_bucket(cookie, id), node,
				 lockdep_is_held(&mlcc_settings_lock))
		if (s->id == id && s->net_cookie == cookie)
			return s;
	return NULL;
}

struct mlcc_setting *mlcc_setting_of(u64 cookie, u32 id, u32 whose)
{
	struct mlcc_setting *s = NULL;

	if (whose != MLCC_OF_JOB)
		s = mlcc_setting_find(cookie, id);
	if (s || whose == MLCC_OF_USER || mlcc_net_is_initial(cookie))
		return s;
	return mlcc_setting_find(init_net.net_cookie, id);
}

struct mlcc_setting *mlcc_setting_next(struct net *net, unsigned long *id)
{
	return xa_find(&mlcc_net(net)->settings, id, ULONG_MAX, XA_PRESENT);
}

/*
 * Puts @s in the place of the one that its job has in @net; with @create there must be none.
 * The caller holds the lock, and keeps @s if this fails.
 */
int mlcc_setting_put(struct net *net, struct mlcc_setting *s, bool create)
{
	struct mlcc_setting *old;
	int err;

	s->net_cookie = net->net_cookie;
	old = mlcc_setting_find(s->net_cookie, s->id);
	if (old && create)
		return -EEXIST;
	err = old ? 0 : mlcc_quota_take(&mlcc_settings_quota, mlcc_owner_of(net, 0));
	if (err)
		return err;
	s->gen = mlcc_job_hint_gen(old ? old->gen : 0, old ? old->phase_bytes : 0, s->phase_bytes,
				   &mlcc_settings_gen);
	err = xa_err(xa_store(&mlcc_net(net)->settings, s->id, s, GFP_KERNEL));
	if (err) {
		if (!old)
			mlcc_quota_give(&mlcc_settings_quota, mlcc_owner_of(net, 0));
		return err;
	}
	if (old) {
		if (old->gen == s->gen)
			atomic64_set(&s->pending, atomic64_xchg(&old->pending, 0));
		hlist_replace_rcu(&old->node, &s->node);
		kfree_rcu(old, rcu);
		return 0;
	}
	hlist_add_head_rcu(&s->node, mlcc_setting_bucket(s->net_cookie, s->id));
	return 0;
}

/* Takes it out; the caller holds the lock, and frees it after a grace period. */
struct mlcc_setting *mlcc_setting_take(struct net *net, u32 id)
{
	struct mlcc_setting *s = xa_erase(&mlcc_net(net)->settings, id);

	if (!s)
		return NULL;
	hlist_del_rcu(&s->node);
	mlcc_quota_give(&mlcc_settings_quota, mlcc_owner_of(net, 0));
	return s;
}

static int __net_init mlcc_net_init(struct net *net)
{
	xa_init(&mlcc_net(net)->settings);
	return 0;
}

/*
 * Before anything else of the namespace goes: whoever has found one under RCU may still send
 * an event there.
 */
static void __net_exit mlcc_net_pre_exit(struct net *net)
{
	struct mlcc_setting *s;
	unsigned long id = 0;

	mutex_lock(&mlcc_settings_lock);
	while ((s = mlcc_setting_next(net, &id))) {
		mlcc_setting_take(net, id);
		kfree_rcu(s, rcu);
	}
	mutex_unlock(&mlcc_settings_lock);
}

static void __net_exit mlcc_net_exit(struct net *net)
{
	xa_destroy(&mlcc_net(net)->settings);
}

static struct pernet_operations mlcc_net_ops = {
	.init		= mlcc_net_init,
	.pre_exit	= mlcc_net_pre_exit,
	.exit		= mlcc_net_exit,
	.id		= &mlcc_net_id,
	.size		= sizeof(struct mlcc_net),
};

int mlcc_settings_init(void)
{
	return register_pernet_subsys(&mlcc_net_ops);
}

/* Frees all settings; the caller lets RCU's callbacks run before the module goes. */
void mlcc_settings_exit(void)
{
	unregister_pernet_subsys(&mlcc_net_ops);
}
