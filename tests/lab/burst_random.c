// SPDX-License-Identifier: GPL-2.0
/* Random numbers of mlcc-burst, which depend on the seed alone. */
#include "burst.h"

/* splitmix64 (Steele, Lea, Flood 2014): small, and good enough for noise. */
static uint64_t random_u64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

double random_unit(uint64_t *state)
{
	return ((double)(random_u64(state) >> 11) + 0.5) / 9007199254740992.0;
}
