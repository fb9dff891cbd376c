/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef MLCC_CLOCK_H
#define MLCC_CLOCK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static inline uint64_t now_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

/* Since 1970; it may be set back. */
static inline uint64_t wall_us(void)
{
	return clock_us(CLOCK_REALTIME);
}

/* Until @at, or one of @set, which are blocked: whether there was one. */
static inline bool wait_signal(const sigset_t *set, uint64_t at)
{
	uint64_t now = now_us(), us = at > now ? at - now : 0;
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	return sigtimedwait(set, NULL, &t) > 0;
}

#endif /* MLCC_CLOCK_H */
