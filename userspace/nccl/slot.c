// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stddef.h>

#include "../../include/mlcc/shift_ring.h"
#include "clock.h"
#include "slot.h"

static struct mlcc_shifter shifter;

/* By this the hosts agree. */
static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

uint64_t slot_start(struct mlcc_ring *ring)
{
	static const struct mlcc_shift none;
	uint64_t now = now_ns(), wait;

	/* without a plan, too, phases are measured: the job's own period is what a plan is held to */
	if (ring)
		wait = mlcc_shift_ring_start(&shifter, ring, wall_ns(), now);
	else
		wait = mlcc_shift_start(&shifter, &none, 0, now);
	return wait ? now + wait : 0;
}

void slot_end(uint64_t now_ns)
{
	mlcc_shift_end(&shifter, now_ns);
}

/* To a moment, not for a time: signals make it no longer, and neither does a clock of day that steps. */
void slot_sleep(uint64_t until_ns)
{
	const struct timespec until = {
		.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}
