// SPDX-License-Identifier: GPL-2.0
/* The rule: properties over random inputs of every magnitude. */
#include "../../include/mlcc/profiles.h"
#include "random.h"
#include "tap.h"

#define CASES	1000000

static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
static const char *const names[] = MLCC_PROFILE_NAMES;

/* Any profile that an operator may set. */
static struct mlcc_profile random_profile(u64 *seed)
{
	return (struct mlcc_profile) {
		.floor = MLCC_GROW_MIN + random_below(seed, MLCC_GROW_MAX / 2 - MLCC_GROW_MIN + 1),
		.slope = random_below(seed, MLCC_GROW_MAX / 2 + 1),
		.hold = random_below(seed, MLCC_HOLD_MAX + 1),
		.shape = 1 + random_below(seed, MLCC_SHAPE_MAX),
	};
}

static double pow_of(u32 p, u8 shape)
{
	double x = 1;

	while (shape--)
		x *= (double)p / MLCC_ONE;
	return x;
}

/* A D_phase of any size that counts, and a D_sent around it as often as anywhere. */
static void random_bytes(u64 *seed, u64 *d_sent, u64 *d_phase)
{
	do
		*d_phase = random_magnitude(seed) & MLCC_PHASE_BYTES_MAX;
	while (!*d_phase);
	*d_sent = random_u64(seed) & 1 ? random_magnitude(seed) : random_below(seed, *d_phase + 2);
}

static u32 progress(u64 d_sent, u64 d_phase)
{
	return mlcc_progress(d_sent, d_phase, mlcc_recip(d_phase));
}

TEST(shipped_profiles_keep_the_limits)
{
	for (u32 i = 0; i < MLCC_PROFILE_COUNT; i++) {
		const struct mlcc_profile *pr = &profiles[i];

		CHECK(pr->floor >= MLCC_GROW_MIN, "%s: floor %u", names[i], pr->floor);
		CHECK(pr->floor + pr->slope <= MLCC_GROW_MAX, "%s: %u + %u", names[i], pr->floor,
		      pr->slope);
		CHECK(pr->hold <= MLCC_HOLD_MAX, "%s: hold %u", names[i], pr->hold);
		CHECK(pr->shape >= 1 && pr->shape <= MLCC_SHAPE_MAX, "%s: shape %u", names[i],
		      pr->shape);
	}
}

TEST(bounds_and_accuracy)
{
	u64 seed = 1;

	for (u32 i = 0; i < CASES; i++) {
		const struct mlcc_profile pr = random_profile(&seed);
		u32 p = i & 7 ? random_below(&seed, MLCC_ONE + 1) : i & 8 ? MLCC_ONE : 0;
		double x = pow_of(p, pr.shape);
		u32 g = mlcc_grow(&pr, p), y = mlcc_yield(&pr, p);

		CHECK(g >= pr.floor && g <= pr.floor + pr.slope, "p %u: grow %u", p, g);
		CHECK(y <= MLCC_ONE && y >= MLCC_ONE - pr.hold && y > 0, "p %u: yield %u", p, y);
		/* each truncated product loses less than one unit of p, times slope */
		CHECK(g <= pr.floor + pr.slope * x + 1 &&
		      g >= pr.floor + pr.slope * (x - 3.0 / MLCC_ONE) - 1,
		      "p %u, shape %u: grow %u, exactly %f", p, pr.shape, g,
		      pr.floor + pr.slope * x);
		CHECK(y >= MLCC_ONE - pr.hold * x - 1 && y <= MLCC_ONE - pr.hold * x + 5,
		      "p %u, shape %u: yield %u, exactly %f", p, pr.shape, y,
		      MLCC_ONE - pr.hold * x);
	}
}

TEST(progress_is_within_2_to_the_minus_15)
{
	u64 seed = 3, d_sent, d_phase;

	for (u32 i = 0; i < CASES; i++) {
		unsigned __int128 exact;
		s64 off;
		u32 p;

		random_bytes(&seed, &d_sent, &d_phase);
		p = progress(d_sent, d_phase);
		/* Q32, so that the error of a unit in Q16 can be told from two */
		exact = ((unsigned __int128)d_sent << 32) / d_phase;
		if (exact > 1ULL << 32)
			exact = 1ULL << 32;
		off = ((s64)p << 16) - (s64)(u64)exact;
		CHECK(off <= 1LL << 17 && off >= -(1LL << 17), "%ju of %ju: p %u", d_sent, d_phase,
		      p);
		CHECK(d_sent < d_phase ? p <= MLCC_ONE : p == MLCC_ONE, "%ju of %ju: p %u", d_sent,
		      d_phase, p);
	}
}

TEST(what_is_no_phase_has_no_progress)
{
	static const u64 none[] = { 0, MLCC_PHASE_BYTES_MAX + 1, 1ULL << 63, ~0ULL };
	u64 seed = 5;

	for (u32 i = 0; i < sizeof(none) / sizeof(*none); i++) {
		CHECK(mlcc_recip(none[i]) == 0, "%ju", none[i]);
		for (u32 n = 0; n < 1000; n++)
			CHECK(progress(random_magnitude(&seed), none[i]) == 0, "%ju", none[i]);
	}
}

TAP_MAIN
