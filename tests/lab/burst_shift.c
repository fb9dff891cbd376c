// SPDX-License-Identifier: GPL-2.0
/*
 * Takes part in a plan: the phase that is about to begin waits for its slot, if mlccd has given the
 * job one (include/mlcc/shift_ring.h).  The other hosts' clocks need not agree with ours: --clock-ms.
 */
#include <time.h>

#include "../../include/mlcc/shift_ring.h"
#include "burst.h"

static struct {
	struct mlcc_ring *ring;		/* NULL: nobody plans this job */
	struct mlcc_shifter state;
	int64_t clock_ns;		/* how far the clock of day is off */
} shift;

void shift_open(const struct options *opt, struct mlcc_ring *ring)
{
	shift.ring = ring;
	shift.clock_ns = ms_to_ns(opt->clock_ms);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)(now.tv_sec * 1000000000LL + now.tv_nsec + shift.clock_ns);
}

int64_t shift_wait_ns(void)
{
	if (!shift.ring)
		return 0;
	return (int64_t)mlcc_shift_ring_start(&shift.state, shift.ring, wall_ns(),
					      (uint64_t)now_ns());
}

void shift_end(void)
{
	if (shift.ring)
		mlcc_shift_end(&shift.state, (uint64_t)now_ns());
}
