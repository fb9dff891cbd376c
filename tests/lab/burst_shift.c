// SPDX-License-Identifier: GPL-2.0
/*
 * Takes part in a plan: the phase that is about to begin waits for its slot, if mlccd has given the
 * job one (include/mlcc/shift.h).  The other hosts' clocks need not agree with ours: --clock-ms.
 */
#include <time.h>

#include "../../include/mlcc/shift.h"
#include "../../include/mlcc/uapi/mlcc_ring.h"
#include "burst.h"

#define READ_TRIES	8

static struct {
	struct mlcc_ring *ring;		/* NULL: nobody plans this job */
	struct mlcc_shift plan;
	struct mlcc_shifter state;
	int64_t clock_ns;		/* how far the clock of day is off */
} shift;

void shift_open(const struct options *opt, struct mlcc_ring *ring)
{
	shift.ring = ring;
	shift.clock_ns = ms_to_ns(opt->clock_ms);
}

/* mlccd writes a few words: who meets it there twice goes on with what there was. */
static void plan_read(void)
{
	const struct mlcc_ring *r = shift.ring;
	struct mlcc_shift plan;
	uint64_t seq;
	int i;

	for (i = 0; i < READ_TRIES; i++) {
		seq = __atomic_load_n(&r->shift_seq, __ATOMIC_ACQUIRE);
		plan.period = __atomic_load_n(&r->shift_period_ns, __ATOMIC_RELAXED);
		plan.offset = __atomic_load_n(&r->shift_offset_ns, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (seq & 1 || seq != __atomic_load_n(&r->shift_seq, __ATOMIC_RELAXED))
			continue;
		shift.plan = plan;
		return;
	}
}

static void say(void)
{
	struct mlcc_ring_said *said = &shift.ring->shift_said;

	__atomic_store_n(&said->state, shift.state.state, __ATOMIC_RELAXED);
	__atomic_store_n(&said->waits, shift.state.waits, __ATOMIC_RELAXED);
	__atomic_store_n(&said->error_ns, shift.state.error, __ATOMIC_RELAXED);
	__atomic_store_n(&said->period_ns, mlcc_shift_own(&shift.state), __ATOMIC_RELAXED);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)(now.tv_sec * 1000000000LL + now.tv_nsec + shift.clock_ns);
}

int64_t shift_wait_ns(void)
{
	uint64_t wait;

	if (!shift.ring)
		return 0;
	plan_read();
	wait = mlcc_shift_start(&shift.state, &shift.plan, wall_ns(), (uint64_t)now_ns());
	say();
	return (int64_t)wait;
}

void shift_end(void)
{
	if (shift.ring)
		mlcc_shift_end(&shift.state, (uint64_t)now_ns());
}
