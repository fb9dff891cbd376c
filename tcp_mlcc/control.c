// SPDX-License-Identifier: GPL-2.0
/*
 * What is done to jobs on behalf of people.
 *
 *	         set                          delete, with flows
 *	learnt -------> ruled by what was set  ------------------> neutral
 *	   ^              ^                                          |  |
 *	   |              +-------------------- set -----------------+  |
 *	   +---------------------------- last flow gone ----------------+
 *
 * What has been set counts from a job's next phase on, its class and a deletion from each flow's
 * next ACK on.  A phase that is announced before the job has a flow begins with its first flow.
 */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/slab.h>

#include "compat.h"
#include "control.h"
#include "event.h"
#include "job.h"
#include "../include/mlcc/hint.h"

#define MLCC_TRIES	100

typedef bool (*mlcc_slot_fn)(struct net *net, struct mlcc_slot *s, u64 bytes);

/*
 * Calls @fn until it no longer finds that a flow is just beginning a phase.  Not to be interrupted
 * by flows on this CPU: they would not wait, and would miss the rollover.
 */
static bool mlcc_slot_do(mlcc_slot_fn fn, struct net *net, struct mlcc_slot *s, u64 bytes)
{
	bool done;
	int i;

	for (i = 0; i < MLCC_TRIES; i++) {
		local_bh_disable();
		done = fn(net, s, bytes);
		local_bh_enable();
		if (done)
			return true;
		usleep_range(10, 50);
	}
	return false;
}

/* Calls @fn for every slot that goes by what @net says of job @id; returns how many, or -EBUSY. */
static int mlcc_slots_do(mlcc_slot_fn fn, struct net *net, u32 id, u64 bytes)
{
	struct mlcc_slot *s = NULL;
	bool busy = false;
	int count = 0;

	while ((s = mlcc_slot_next(s, net->net_cookie, id))) {
		if (mlcc_slot_do(fn, net, s, bytes))
			count++;
		else
			busy = true;
	}
	return busy ? -EBUSY : count;
}

/* Where the initial namespace has a job of that id, too, that one may hold from now on. */
static bool mlcc_slot_delete(struct net *net, struct mlcc_slot *s, u64 unused)
{
	if (mlcc_slot_classify(s))
		return true;
	WRITE_ONCE(s->deleted, 1);
	return mlcc_job_hint_reset(&s->job);
}

/* The job that is set now is another one than was deleted. */
static bool mlcc_slot_revive(struct net *net, struct mlcc_slot *s, u64 unused)
{
	mlcc_slot_classify(s);
	if (!s->deleted)
		return true;
	if (!mlcc_job_hint_reset(&s->job))
		return false;
	WRITE_ONCE(s->led.told, 0);
	WRITE_ONCE(s->deleted, 0);
	return true;
}

static bool mlcc_slot_start(struct net *net, struct mlcc_slot *s, u64 bytes)
{
	struct mlcc_phase_was was;

	mlcc_phase_was(s, &was);
	if (!mlcc_job_hint_start(&s->job, bytes, tcp_clock_us()))
		return false;
	if (READ_ONCE(s->job.seq) != was.seq)
		mlcc_phase_begun(net, s, &was);
	return true;
}

static bool mlcc_slot_end(struct net *net, struct mlcc_slot *s, u64 unused)
{
	return mlcc_job_hint_end(&s->job);
}

int mlcc_control_set(struct net *net, struct mlcc_setting *set, bool create)
{
	int err;

	mutex_lock(&mlcc_settings_lock);
	err = mlcc_setting_put(net, set, create);
	if (!err) {
		mlcc_slots_do(mlcc_slot_revive, net, set->id, 0);
		mlcc_event_job(net, MLCC_CMD_JOB_SET_NTF, set);
	}
	mutex_unlock(&mlcc_settings_lock);
	return err;
}

int mlcc_control_delete(struct net *net, u32 id)
{
	struct mlcc_setting *set;

	mutex_lock(&mlcc_settings_lock);
	set = mlcc_setting_take(net, id);
	if (set) {
		mlcc_slots_do(mlcc_slot_delete, net, id, 0);
		mlcc_event_job(net, MLCC_CMD_JOB_DEL_NTF, set);
		kfree_rcu(set, rcu);
	}
	mutex_unlock(&mlcc_settings_lock);
	return set ? 0 : -ENOENT;
}

/* Keeps what was announced for the job's first flow; 0: nothing. */
static int mlcc_setting_pending(struct net *net, u32 id, u64 pending)
{
	struct mlcc_setting *set;

	rcu_read_lock();
	set = mlcc_setting_find(net->net_cookie, id);
	if (set)
		atomic64_set(&set->pending, pending);
	rcu_read_unlock();
	return set ? 0 : -ENOENT;
}

int mlcc_control_start(struct net *net, u32 id, u64 bytes)
{
	int err = mlcc_setting_pending(net, id, 0);
	int count;

	if (err)
		return err;
	count = mlcc_slots_do(mlcc_slot_start, net, id, bytes);
	if (count)
		return min(count, 0);
	/* a flow that comes between these lines finds it when it starts to send */
	return mlcc_setting_pending(net, id, bytes | MLCC_PENDING);
}

int mlcc_control_end(struct net *net, u32 id)
{
	int err = mlcc_setting_pending(net, id, 0);

	return err ?: min(mlcc_slots_do(mlcc_slot_end, net, id, 0), 0);
}

int mlcc_control_hear(struct net *net, u32 id, const struct mlcc_lead_answer *answer)
{
	struct mlcc_slot *s = NULL;
	int err = 0;

	mutex_lock(&mlcc_settings_lock);
	if (!mlcc_setting_find(net->net_cookie, id))
		err = -ENOENT;
	while (!err && (s = mlcc_slot_next(s, net->net_cookie, id)))
		mlcc_led_hear(&s->led, answer, READ_ONCE(s->job.acked), tcp_clock_us());
	mutex_unlock(&mlcc_settings_lock);
	return err;
}
