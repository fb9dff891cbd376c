// SPDX-License-Identifier: GPL-2.0
/*
 * What an administrator has said of jobs, by the job's id.  A rule may be there long before the
 * job's first socket and outlive its last one.  It holds for that id in every network namespace:
 * who writes rules owns the host.
 *
 * Rules do not change, they are replaced.
 */
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "compat.h"
#include "rules.h"

#define MLCC_RULE_BITS	10

static struct hlist_head mlcc_rules[1 << MLCC_RULE_BITS];
static DEFINE_MUTEX(mlcc_rules_lock);	/* writers; protects what follows */
static u32 mlcc_rules_count;
static u32 mlcc_rules_gen;

static struct hlist_head *mlcc_rule_bucket(u32 id)
{
	return &mlcc_rules[hash_32(id, MLCC_RULE_BITS)];
}

static struct mlcc_job_rule *mlcc_rule_find(u32 id)
{
	struct mlcc_job_rule *r;

	hlist_for_each_entry_rcu(r, mlcc_rule_bucket(id), node,
				 lockdep_is_held(&mlcc_rules_lock))
		if (r->id == id)
			return r;
	return NULL;
}

const struct mlcc_job_rule *mlcc_rule_rcu(u32 id)
{
	return mlcc_rule_find(id);
}

/* Puts @r in the place of the rule that its job has.  The caller holds the lock. */
static int mlcc_rule_put(struct mlcc_job_rule *r)
{
	struct mlcc_job_rule *old = mlcc_rule_find(r->id);

	if (!old && mlcc_rules_count >= MLCC_RULES_MAX)
		return -ENOSPC;
	if (!++mlcc_rules_gen)
		mlcc_rules_gen = 1;
	r->gen = mlcc_rules_gen;
	if (old) {
		hlist_replace_rcu(&old->node, &r->node);
		kfree_rcu(old, rcu);
	} else {
		hlist_add_head_rcu(&r->node, mlcc_rule_bucket(r->id));
		mlcc_rules_count++;
	}
	return 0;
}

int mlcc_rule_set(u32 id, u32 profile, u64 phase_bytes)
{
	struct mlcc_job_rule *r;
	int err;

	r = kzalloc_obj(*r, GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	r->id = id;
	r->profile = profile;
	r->phase_bytes = phase_bytes;

	mutex_lock(&mlcc_rules_lock);
	err = mlcc_rule_put(r);
	mutex_unlock(&mlcc_rules_lock);
	if (err)
		kfree(r);
	return err;
}

int mlcc_rule_delete(u32 id)
{
	struct mlcc_job_rule *r;

	mutex_lock(&mlcc_rules_lock);
	r = mlcc_rule_find(id);
	if (r) {
		hlist_del_rcu(&r->node);
		mlcc_rules_count--;
		kfree_rcu(r, rcu);
	}
	mutex_unlock(&mlcc_rules_lock);
	return r ? 0 : -ENOENT;
}

/* Frees all rules; there are no readers any more. */
void mlcc_rules_free(void)
{
	struct mlcc_job_rule *r;
	struct hlist_node *next;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mlcc_rules); i++)
		hlist_for_each_entry_safe(r, next, &mlcc_rules[i], node) {
			hlist_del(&r->node);
			kfree(r);
		}
}
