// SPDX-License-Identifier: GPL-2.0
/*
 * What an administrator has said of jobs, by network namespace and id.  A rule may be there long
 * before the job's first socket and outlive its last one, but not its namespace.  What the initial
 * namespace says holds in all others that say nothing of that id.
 *
 *	mlcc_rules	all rules, by the namespace's cookie and the id: what flows look up
 *	mlcc_net	a namespace's rules by id: what people list
 *
 * A flow's namespace may be on its way out, so flows go by its cookie, which is never used again.
 * Rules do not change, they are replaced.
 */
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/netns/generic.h>

#include "compat.h"
#include "rules.h"
#include "../include/mlcc/hint.h"

#define MLCC_RULE_BITS	12

struct mlcc_net {
	struct xarray rules;
	u32 count;
};

DEFINE_MUTEX(mlcc_rules_lock);		/* writers; protects what follows */

static struct hlist_head mlcc_rules[1 << MLCC_RULE_BITS];
static u32 mlcc_rules_count;
static u32 mlcc_rules_others;		/* of them, those that are not the initial namespace's */
static u32 mlcc_rules_gen;
static unsigned int mlcc_net_id __read_mostly;

static struct mlcc_net *mlcc_net(const struct net *net)
{
	return net_generic(net, mlcc_net_id);
}

static struct hlist_head *mlcc_rule_bucket(u64 cookie, u32 id)
{
	return &mlcc_rules[hash_64(cookie ^ (u64)id << 32, MLCC_RULE_BITS)];
}

struct mlcc_job_rule *mlcc_rule_find(u64 cookie, u32 id)
{
	struct mlcc_job_rule *r;

	hlist_for_each_entry_rcu(r, mlcc_rule_bucket(cookie, id), node,
				 lockdep_is_held(&mlcc_rules_lock))
		if (r->id == id && r->net_cookie == cookie)
			return r;
	return NULL;
}

struct mlcc_job_rule *mlcc_rule_of(u64 cookie, u32 id)
{
	struct mlcc_job_rule *r = mlcc_rule_find(cookie, id);

	if (r || mlcc_net_is_initial(cookie))
		return r;
	return mlcc_rule_find(init_net.net_cookie, id);
}

struct mlcc_job_rule *mlcc_rule_next(struct net *net, unsigned long *id)
{
	return xa_find(&mlcc_net(net)->rules, id, ULONG_MAX, XA_PRESENT);
}

/* Whether there is room for one more; namespaces that anybody may make must not take it all. */
static int mlcc_rule_room(const struct net *net)
{
	bool initial = net_eq(net, &init_net);

	if (mlcc_rules_count >= MLCC_JOB_RULES_MAX)
		return -ENOSPC;
	if (!initial && mlcc_rules_others >= MLCC_JOB_OTHERS_MAX)
		return -ENOSPC;
	if (!initial && mlcc_net(net)->count >= MLCC_JOB_NETNS_MAX)
		return -EDQUOT;
	return 0;
}

static void mlcc_rule_counted(const struct net *net, int change)
{
	mlcc_net(net)->count += change;
	mlcc_rules_count += change;
	if (!net_eq(net, &init_net))
		mlcc_rules_others += change;
}

/*
 * Puts @r in the place of the rule that its job has in @net; with @create there must be none.
 * The caller holds the lock, and keeps @r if this fails.
 */
int mlcc_rule_put(struct net *net, struct mlcc_job_rule *r, bool create)
{
	struct mlcc_job_rule *old;
	int err;

	r->net_cookie = net->net_cookie;
	old = mlcc_rule_find(r->net_cookie, r->id);
	if (old && create)
		return -EEXIST;
	err = old ? 0 : mlcc_rule_room(net);
	if (err)
		return err;
	r->gen = mlcc_hint_gen(old ? old->gen : 0, old ? old->phase_bytes : 0, r->phase_bytes,
			       &mlcc_rules_gen);
	err = xa_err(xa_store(&mlcc_net(net)->rules, r->id, r, GFP_KERNEL));
	if (err)
		return err;
	if (old) {
		if (old->gen == r->gen)
			atomic64_set(&r->ahead, atomic64_xchg(&old->ahead, 0));
		hlist_replace_rcu(&old->node, &r->node);
		kfree_rcu(old, rcu);
		return 0;
	}
	hlist_add_head_rcu(&r->node, mlcc_rule_bucket(r->net_cookie, r->id));
	mlcc_rule_counted(net, 1);
	return 0;
}

/* Takes the rule out; the caller holds the lock, and frees it after a grace period. */
struct mlcc_job_rule *mlcc_rule_take(struct net *net, u32 id)
{
	struct mlcc_job_rule *r = xa_erase(&mlcc_net(net)->rules, id);

	if (!r)
		return NULL;
	hlist_del_rcu(&r->node);
	mlcc_rule_counted(net, -1);
	return r;
}

static int __net_init mlcc_net_init(struct net *net)
{
	xa_init(&mlcc_net(net)->rules);
	return 0;
}

/*
 * Before anything else of the namespace goes: whoever has found a rule under RCU may still send
 * an event there.
 */
static void __net_exit mlcc_net_pre_exit(struct net *net)
{
	struct mlcc_job_rule *r;
	unsigned long id = 0;

	mutex_lock(&mlcc_rules_lock);
	while ((r = mlcc_rule_next(net, &id))) {
		mlcc_rule_take(net, id);
		kfree_rcu(r, rcu);
	}
	mutex_unlock(&mlcc_rules_lock);
}

static void __net_exit mlcc_net_exit(struct net *net)
{
	xa_destroy(&mlcc_net(net)->rules);
}

static struct pernet_operations mlcc_net_ops = {
	.init		= mlcc_net_init,
	.pre_exit	= mlcc_net_pre_exit,
	.exit		= mlcc_net_exit,
	.id		= &mlcc_net_id,
	.size		= sizeof(struct mlcc_net),
};

int mlcc_rules_init(void)
{
	return register_pernet_subsys(&mlcc_net_ops);
}

/* Frees all rules; the caller lets RCU's callbacks run before the module goes. */
void mlcc_rules_exit(void)
{
	unregister_pernet_subsys(&mlcc_net_ops);
}
