// SPDX-License-Identifier: BSD-2-Clause
#include <stddef.h>

#include "../libmlcc-hint/clock.h"
#include "history.h"
#include "phase.h"

#define GAP_MIN_NS	(5 * MS_NS)
#define GAP_MAX_NS	(100 * MS_NS)
#define GAP_PART	20		/* of the iteration: 5 % */

enum phase_state {
	PHASE_NONE,
	PHASE_RUNNING,
	PHASE_OVER,
};

/* What was done until a moment. */
struct mark {
	uint64_t bytes, ops, sum;
};

struct phase_hot phase_hot;
struct mlcc_hint *phase_hint;

static struct {
	_Alignas(64) _Atomic uint64_t ops, sum;	/* done, ever */
	_Atomic uint64_t last_ns;		/* when one was done last */
	_Alignas(64) _Atomic uint32_t edge;
	/* the rest is for the holder of "edge" */
	enum phase_state state;
	bool said_end;
	struct mark base;			/* when the phase began */
	struct mark rest;			/* when somebody saw that nothing was active */
	struct past_phase expected;		/* which this one repeats; no ops: none that is known */
	uint64_t first, start_ns, over_ns;
	uint64_t gap_ns;
	uint64_t phases;
	struct history history;
} p = { .gap_ns = GAP_MIN_NS };

static bool try_lock(void)
{
	return !atomic_load_explicit(&p.edge, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&p.edge, 1, memory_order_acquire);
}

void phase_unlock(void)
{
	atomic_store_explicit(&p.edge, 0, memory_order_release);
}

void phase_lock(void)
{
	const struct timespec pause = { .tv_nsec = 50000 };

	while (!try_lock())
		nanosleep(&pause, NULL);
}

static struct mark mark_now(void)
{
	return (struct mark){
		.bytes = mlcc_hint_sent_bytes(phase_hint),
		.ops = atomic_load_explicit(&p.ops, memory_order_relaxed),
		.sum = atomic_load_explicit(&p.sum, memory_order_relaxed),
	};
}

static void set_state(enum phase_state state)
{
	p.state = state;
	atomic_store_explicit(&phase_hot.running, state == PHASE_RUNNING, memory_order_relaxed);
}

static void say_end(void)
{
	if (!p.said_end)
		mlcc_hint_end(phase_hint);
	p.said_end = true;
}

static void set_gap(uint64_t now)
{
	uint64_t gap = history_period(&p.history, now) / GAP_PART;

	p.gap_ns = gap < GAP_MIN_NS ? GAP_MIN_NS : gap > GAP_MAX_NS ? GAP_MAX_NS : gap;
}

/* The phase that was: its end is what was done when nothing was active. */
static void close_phase(uint64_t now)
{
	const struct past_phase done = {
		.first = p.first, .start_ns = p.start_ns,
		.bytes = p.rest.bytes - p.base.bytes,
		.ops = p.rest.ops - p.base.ops,
		.sum = p.rest.sum - p.base.sum,
	};

	say_end();
	history_add(&p.history, &done);
	set_gap(now);
}

static void announce(uint64_t now)
{
	p.start_ns = now;
	p.said_end = false;
	mlcc_hint_start(phase_hint, p.expected.bytes);
}

/* Returns until when its slot has to be waited for, before it is announced; 0: it has been. */
static uint64_t open_phase(uint64_t sig, uint64_t now)
{
	const struct past_phase *last = history_find(&p.history, sig);
	uint64_t until;

	p.expected = last ? *last : (struct past_phase){ };
	p.base = p.rest;
	p.first = sig;
	p.start_ns = now;
	p.said_end = true;
	p.phases++;
	set_state(PHASE_RUNNING);
	until = mlcc_hint_slot(phase_hint, false);
	if (!until)
		announce(now);
	return until;
}

/*
 * Somebody missed the lock when he came to rest, or sent on while another stopped his operation:
 * both belong to the phase that was.  All that is counted does, if nobody but us has begun
 * anything.
 */
static void look_at_rest_again(void)
{
	struct mark now = mark_now();

	if (now.ops != p.rest.ops ||
	    atomic_load_explicit(&phase_hot.active, memory_order_acquire) == 1)
		p.rest = now;
}

/* @idle: nothing was active before.  Returns what open_phase() does. */
static uint64_t look_at_start(uint64_t sig, bool idle)
{
	uint64_t now = clock_now_ns(), since;

	if (p.state == PHASE_RUNNING && !idle)
		return 0;
	since = p.state == PHASE_OVER ? p.over_ns :
		atomic_load_explicit(&p.last_ns, memory_order_relaxed);
	if (p.state != PHASE_NONE && now < since + p.gap_ns) {
		set_state(PHASE_RUNNING);
		return 0;
	}
	if (idle)
		look_at_rest_again();
	if (p.state != PHASE_NONE)
		close_phase(now);
	return open_phase(sig, now);
}

/*
 * A slot is waited for without the lock.  Meanwhile the communicators may have ended, or another
 * phase begun: then this one is none any more.
 */
static void look_now(uint64_t sig, bool idle)
{
	uint64_t until, phase;

	if (!try_lock())
		return;
	until = look_at_start(sig, idle);
	phase = p.phases;
	phase_unlock();
	if (!until)
		return;
	sleep_until(until);
	phase_lock();
	if (p.phases == phase && p.state == PHASE_RUNNING)
		announce(clock_now_ns());
	phase_unlock();
}

void phase_retry(uint64_t sig)
{
	look_now(sig, false);
}

void phase_begin(uint64_t sig)
{
	bool idle = !atomic_fetch_add_explicit(&phase_hot.active, 1, memory_order_acq_rel);

	if (idle || !atomic_load_explicit(&phase_hot.running, memory_order_relaxed))
		look_now(sig, idle);
}

static void phase_over(uint64_t now)
{
	if (p.state != PHASE_RUNNING)
		return;
	p.over_ns = now;
	set_state(PHASE_OVER);
	say_end();
}

static bool as_expected(void)
{
	return p.expected.ops && p.rest.ops - p.base.ops == p.expected.ops &&
	       p.rest.sum - p.base.sum == p.expected.sum;
}

static void look_at_rest(uint64_t now)
{
	if (atomic_load_explicit(&phase_hot.active, memory_order_acquire))
		return;
	p.rest = mark_now();
	if (!p.said_end && as_expected())
		phase_over(now);
}

void phase_done(uint64_t sig)
{
	uint64_t now = clock_now_ns();

	/* all before "active": who finds it to be 0 sees them */
	atomic_store_explicit(&p.last_ns, now, memory_order_relaxed);
	atomic_fetch_add_explicit(&p.ops, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&p.sum, sig, memory_order_relaxed);
	if (atomic_fetch_sub_explicit(&phase_hot.active, 1, memory_order_acq_rel) != 1)
		return;
	if (!try_lock())
		return;
	look_at_rest(now);
	phase_unlock();
}

void phase_stop(void)
{
	phase_over(clock_now_ns());
}

uint64_t phase_count(void)
{
	return p.phases;
}
