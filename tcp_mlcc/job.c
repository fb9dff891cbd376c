// SPDX-License-Identifier: GPL-2.0
/*
 * The jobs that have open flows on this host: a hash table by network namespace and id.
 *
 * A job comes to be with its first flow and goes with its last.  Every flow holds a reference, and
 * for a moment whoever does something to the job (control.c), who finds it by its id alone.
 * Look-ups run under RCU and take a reference only while there is one; a job whose last reference
 * is gone stays findable, but not takeable, until it is unlinked, and a new one may already stand
 * beside it.
 *
 * No namespace is pinned or looked into: the table knows it by its cookie, which is never reused.
 */
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "event.h"
#include "job.h"
#include "profile.h"
#include "settings.h"
#include "../include/mlcc/hint.h"
#include "../include/mlcc/uapi/mlcc_netlink.h"

#define MLCC_SLOT_BITS	10

static struct hlist_head mlcc_slots[1 << MLCC_SLOT_BITS];
static struct hlist_head mlcc_slots_by_id[1 << MLCC_SLOT_BITS];
static DEFINE_SPINLOCK(mlcc_slots_lock);	/* writers, from softirq too */
static struct mlcc_quota mlcc_slots_quota = {	/* under the lock */
	.had[0 ... MLCC_WHOSE_COUNT - 1] = XARRAY_INIT(mlcc_slots_quota, 0),
};

static u32 mlcc_mask = MLCC_MARK_MASK;

u32 mlcc_mark_mask(void)
{
	return READ_ONCE(mlcc_mask);
}

void mlcc_mark_set_mask(u32 mask)
{
	WRITE_ONCE(mlcc_mask, mask);
}

/* Id of the job that @sk is marked with, 0: none. */
u32 mlcc_mark_id(const struct sock *sk)
{
	u32 mask = mlcc_mark_mask();

	return (READ_ONCE(sk->sk_mark) & mask) >> __ffs(mask);
}

static struct hlist_head *mlcc_slot_bucket(u64 cookie, u32 id)
{
	return &mlcc_slots[hash_64(cookie ^ (u64)id << 32, MLCC_SLOT_BITS)];
}

static struct hlist_head *mlcc_slot_ids(u32 id)
{
	return &mlcc_slots_by_id[hash_32(id, MLCC_SLOT_BITS)];
}

/* In a user's namespace flows that root has given to the job have another than those of his own. */
static struct mlcc_slot *mlcc_slot_find(u64 cookie, u32 id, u32 whose)
{
	struct mlcc_slot *s;

	hlist_for_each_entry_rcu(s, mlcc_slot_bucket(cookie, id), node,
				 lockdep_is_held(&mlcc_slots_lock))
		if (s->id == id && s->net_cookie == cookie && s->owner.whose == whose &&
		    refcount_inc_not_zero(&s->users))
			return s;
	return NULL;
}

/* A phase that was announced before the job had a flow begins with the first one. */
static void mlcc_slot_begin(struct mlcc_slot *s, struct net *net, struct mlcc_setting *set)
{
	struct mlcc_phase_was was;
	s64 pending;

	if (likely(!atomic64_read(&set->pending)))
		return;
	pending = atomic64_xchg(&set->pending, 0);
	if (!pending)
		return;
	mlcc_phase_was(s, &was);
	if (mlcc_job_hint_start(&s->job, pending & ~MLCC_PENDING, tcp_clock_us()))
		mlcc_phase_begun(net, s, &was);
	else
		atomic64_cmpxchg(&set->pending, 0, pending);
}

static struct mlcc_setting *mlcc_slot_setting(const struct mlcc_slot *s)
{
	return mlcc_setting_of(s->net_cookie, s->id, s->owner.whose);
}

bool mlcc_slot_classify(struct mlcc_slot *s)
{
	const struct mlcc_setting *set;

	rcu_read_lock();
	set = mlcc_slot_setting(s);
	WRITE_ONCE(s->class, set ? set->class : MLCC_CLASS_TRAINING);
	rcu_read_unlock();
	return set;
}

/* Takes over what userspace has set or announced since the last phase.  @net: the job's own. */
void mlcc_slot_refresh(struct mlcc_slot *s, struct net *net)
{
	u32 profile = MLCC_PROFILE_NONE;
	struct mlcc_setting *set;
	u64 phase_bytes = 0;
	u32 gen = 0, class = MLCC_CLASS_TRAINING;

	rcu_read_lock();
	set = mlcc_slot_setting(s);
	if (set) {
		profile = set->profile;
		class = set->class;
		phase_bytes = set->phase_bytes;
		gen = set->gen;
	}
	if (profile == MLCC_PROFILE_NONE)
		profile = mlcc_profile_default();
	if (profile != READ_ONCE(s->profile))
		WRITE_ONCE(s->profile, profile);
	if (class != READ_ONCE(s->class))
		WRITE_ONCE(s->class, class);
	mlcc_job_hint_take(&s->job, &s->gen, gen, phase_bytes);
	if (set)
		mlcc_slot_begin(s, net, set);
	rcu_read_unlock();
}

static struct mlcc_slot *mlcc_slot_new(const struct net *net, u32 id, struct mlcc_owner owner)
{
	struct mlcc_slot *s;

	if (READ_ONCE(mlcc_slots_quota.all) >= MLCC_JOBS_MAX)
		return NULL;
	/* an allocation that fails is no news: the flow goes on as plain base */
	s = kzalloc_obj(*s, GFP_ATOMIC | __GFP_NOWARN);
	if (!s)
		return NULL;
	s->id = id;
	s->netns = net->ns.inum;
	s->net_cookie = net->net_cookie;
	s->owner = owner;
	refcount_set(&s->users, 1);
	return s;
}

static void mlcc_slot_add(struct mlcc_slot *s)
{
	hlist_add_head_rcu(&s->node, mlcc_slot_bucket(s->net_cookie, s->id));
	hlist_add_head_rcu(&s->by_id, mlcc_slot_ids(s->id));
}

static void mlcc_slot_remove(struct mlcc_slot *s)
{
	hlist_del_rcu(&s->node);
	hlist_del_rcu(&s->by_id);
	mlcc_quota_give(&mlcc_slots_quota, s->owner);
}

/* Links @s unless another CPU was first or there is no room; returns what there is now, or NULL. */
static struct mlcc_slot *mlcc_slot_link(struct mlcc_slot *s)
{
	struct mlcc_slot *other;

	spin_lock_bh(&mlcc_slots_lock);
	other = mlcc_slot_find(s->net_cookie, s->id, s->owner.whose);
	if (!other && !mlcc_quota_take(&mlcc_slots_quota, s->owner)) {
		mlcc_slot_add(s);
		other = s;
	}
	spin_unlock_bh(&mlcc_slots_lock);
	if (other != s)
		kfree(s);
	return other;
}

/* Job @id of @net with a reference, made if it is new; NULL if there is no room. */
struct mlcc_slot *mlcc_slot_get(struct net *net, u32 id, bool tagged)
{
	struct mlcc_owner owner = mlcc_owner_of(net, tagged ? id : 0);
	struct mlcc_slot *s;

	rcu_read_lock();
	s = mlcc_slot_find(net->net_cookie, id, owner.whose);
	rcu_read_unlock();
	if (!s) {
		s = mlcc_slot_new(net, id, owner);
		if (s)
			s = mlcc_slot_link(s);
	}
	if (s) {
		atomic_inc(&s->flows);
		mlcc_slot_refresh(s, net);
	}
	return s;
}

static void mlcc_slot_unref(struct mlcc_slot *s)
{
	if (!refcount_dec_and_test(&s->users))
		return;
	spin_lock_bh(&mlcc_slots_lock);
	mlcc_slot_remove(s);
	spin_unlock_bh(&mlcc_slots_lock);
	kfree_rcu(s, rcu);
}

void mlcc_slot_put(struct mlcc_slot *s)
{
	atomic_dec(&s->flows);
	mlcc_slot_unref(s);
}

/* Whether @s goes by what namespace @cookie says of job @id. */
static bool mlcc_slot_goes_by(const struct mlcc_slot *s, u64 cookie, u32 id)
{
	if (s->id != id)
		return false;
	if (s->owner.whose == MLCC_OF_JOB)
		return mlcc_net_is_initial(cookie);
	if (s->net_cookie == cookie)
		return true;
	return s->owner.whose == MLCC_OF_HOST && mlcc_net_is_initial(cookie) &&
	       !mlcc_setting_find(s->net_cookie, id);
}

static struct mlcc_slot *mlcc_slot_first(u32 id)
{
	struct hlist_node *first = rcu_dereference(hlist_first_rcu(mlcc_slot_ids(id)));

	return hlist_entry_safe(first, struct mlcc_slot, by_id);
}

/* Who holds a reference to @s is not unlinked, so the walk goes on from there. */
static struct mlcc_slot *mlcc_slot_after(struct mlcc_slot *s)
{
	return hlist_entry_safe(rcu_dereference(hlist_next_rcu(&s->by_id)), struct mlcc_slot,
				by_id);
}

struct mlcc_slot *mlcc_slot_next(struct mlcc_slot *s, u64 cookie, u32 id)
{
	struct mlcc_slot *next;

	rcu_read_lock();
	next = s ? mlcc_slot_after(s) : mlcc_slot_first(id);
	hlist_for_each_entry_from_rcu(next, by_id)
		if (mlcc_slot_goes_by(next, cookie, id) && refcount_inc_not_zero(&next->users))
			break;
	rcu_read_unlock();
	if (s)
		mlcc_slot_unref(s);
	return next;
}

const struct mlcc_slot *mlcc_slots_sum(u64 cookie, u32 id, struct mlcc_totals *t)
{
	const struct mlcc_slot *s, *last = NULL;
	u32 flows;

	memset(t, 0, sizeof(*t));
	hlist_for_each_entry_rcu(s, mlcc_slot_ids(id), by_id) {
		flows = atomic_read(&s->flows);
		if (!flows || !mlcc_slot_goes_by(s, cookie, id))
			continue;
		t->flows += flows;
		t->bytes += READ_ONCE(s->job.acked);
		t->retrans += atomic64_read(&s->retrans);
		t->ce += atomic64_read(&s->ce);
		if (!last || READ_ONCE(s->job.last_us) > READ_ONCE(last->job.last_us))
			last = s;
	}
	return last;
}

/* At unload: every flow has given its job back. */
void mlcc_slots_check_empty(void)
{
	WARN_ON_ONCE(READ_ONCE(mlcc_slots_quota.all));
}
