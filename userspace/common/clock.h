/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef MLCC_CLOCK_H
#define MLCC_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, microseconds. */
static inline uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

#endif /* MLCC_CLOCK_H */
