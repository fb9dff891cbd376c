/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A seeded generator (splitmix64), the same on every build: a failure can be run again.
 * Freestanding, for the parity test's carriers.
 */
#ifndef MLCC_RANDOM_H
#define MLCC_RANDOM_H

#include "../../include/mlcc/types.h"

static __always_inline u64 random_u64(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 .. @limit - 1 */
static __always_inline u64 random_below(u64 *state, u64 limit)
{
	return random_u64(state) % limit;
}

/* All magnitudes alike: as many numbers of 3 bits as of 63, and now and then an edge. */
static __always_inline u64 random_magnitude(u64 *state)
{
	u64 v = random_u64(state);
	u32 pick = v & 15;

	if (pick == 0)
		return 0;
	if (pick == 1)
		return ~0ULL;
	if (pick == 2)
		return (1ULL << (v >> 58)) - ((v >> 4) & 1);
	return random_u64(state) >> (v >> 58);
}

#endif /* MLCC_RANDOM_H */
