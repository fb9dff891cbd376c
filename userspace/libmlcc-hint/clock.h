/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MLCC_HINT_CLOCK_H
#define MLCC_HINT_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#define MS_NS	1000000ULL

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* CLOCK_MONOTONIC; no system call on machines whose clock is in the vDSO. */
static inline uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * To a moment, not for a time: signals make it no longer, and neither does a clock of day that
 * steps.
 */
static inline void sleep_until(uint64_t until_ns)
{
	const struct timespec until = {
		.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

#endif /* MLCC_HINT_CLOCK_H */
