// SPDX-License-Identifier: GPL-2.0
/* The rule: values worked out by hand, then properties over random inputs of every magnitude. */
#include "../../include/mlcc/profiles.h"
#include "random.h"
#include "tap.h"

#define CASES	1000000
#define HALF	(MLCC_ONE / 2)

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

TEST(hotnets22_is_one_plus_p)
{
	const struct mlcc_profile *pr = &profiles[MLCC_PROFILE_HOTNETS22];

	for (u32 p = 0; p <= MLCC_ONE; p++) {
		CHECK(mlcc_grow(pr, p) == MLCC_ONE + p, "p %u: %u", p, mlcc_grow(pr, p));
		CHECK(mlcc_yield(pr, p) == MLCC_ONE, "p %u: %u", p, mlcc_yield(pr, p));
	}
}

TEST(mltcp_at_nought_half_and_one)
{
	const struct mlcc_profile *pr = &profiles[MLCC_PROFILE_MLTCP];

	CHECK(mlcc_grow(pr, 0) == 16384, "0.25 is %u", mlcc_grow(pr, 0));
	CHECK(mlcc_grow(pr, HALF) == 73728, "0.25 + 0.875 is %u", mlcc_grow(pr, HALF));
	CHECK(mlcc_grow(pr, MLCC_ONE) == 131072, "2 is %u", mlcc_grow(pr, MLCC_ONE));
	CHECK(mlcc_yield(pr, MLCC_ONE) == MLCC_ONE, "yield is %u", mlcc_yield(pr, MLCC_ONE));
}

/* 0.5 + 4 p^shape, 1 - 0.75 p^shape: at a half p^2 = 1/4, p^3 = 1/8, p^4 = 1/16 */
TEST(every_shape_at_a_half)
{
	static const u32 grow[] = { 163840, 98304, 65536, 49152 };
	static const u32 yield[] = { 40960, 53248, 59392, 62464 };

	for (u8 shape = 1; shape <= MLCC_SHAPE_MAX; shape++) {
		const struct mlcc_profile pr = {
			.floor = HALF, .slope = 4 * MLCC_ONE, .hold = MLCC_ONE / 4 * 3,
			.shape = shape,
		};

		CHECK(mlcc_grow(&pr, 0) == HALF, "shape %u: %u", shape, mlcc_grow(&pr, 0));
		CHECK(mlcc_grow(&pr, HALF) == grow[shape - 1], "shape %u: %u", shape,
		      mlcc_grow(&pr, HALF));
		CHECK(mlcc_grow(&pr, MLCC_ONE) == 294912, "shape %u: %u", shape,
		      mlcc_grow(&pr, MLCC_ONE));
		CHECK(mlcc_yield(&pr, 0) == MLCC_ONE, "shape %u: %u", shape, mlcc_yield(&pr, 0));
		CHECK(mlcc_yield(&pr, HALF) == yield[shape - 1], "shape %u: %u", shape,
		      mlcc_yield(&pr, HALF));
		CHECK(mlcc_yield(&pr, MLCC_ONE) == MLCC_ONE / 4, "shape %u: %u", shape,
		      mlcc_yield(&pr, MLCC_ONE));
	}
}

/* The shipped constants change with the measurements; what they have to keep to does not. */
TEST(shipped_profiles_follow_the_formula)
{
	for (u32 i = 0; i < MLCC_PROFILE_COUNT; i++) {
		const struct mlcc_profile *pr = &profiles[i];

		for (u32 p = 0; p <= MLCC_ONE; p += HALF) {
			double grow = pr->floor + pr->slope * pow_of(p, pr->shape);
			double yield = MLCC_ONE - pr->hold * pow_of(p, pr->shape);

			CHECK(mlcc_grow(pr, p) <= grow && mlcc_grow(pr, p) > grow - 1,
			      "%s, p %u: %u, not %f", names[i], p, mlcc_grow(pr, p), grow);
			CHECK(mlcc_yield(pr, p) >= yield && mlcc_yield(pr, p) < yield + 1,
			      "%s, p %u: %u, not %f", names[i], p, mlcc_yield(pr, p), yield);
		}
	}
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
		u32 p = random_below(&seed, MLCC_ONE + 1);
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

TEST(monotone_in_p)
{
	u64 seed = 2;

	for (u32 i = 0; i < CASES; i++) {
		const struct mlcc_profile pr = random_profile(&seed);
		u32 p = random_below(&seed, MLCC_ONE);
		u32 q = p + 1 + random_below(&seed, i & 1 ? 1 : MLCC_ONE - p);

		CHECK(mlcc_grow(&pr, q) >= mlcc_grow(&pr, p), "%u and %u", p, q);
		CHECK(mlcc_yield(&pr, q) <= mlcc_yield(&pr, p), "%u and %u", p, q);
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
		CHECK(off <= 1LL << 17 && off >= -(1LL << 17), "%llu of %llu: p %u",
		      (unsigned long long)d_sent, (unsigned long long)d_phase, p);
		CHECK(p <= MLCC_ONE, "%llu of %llu: p %u", (unsigned long long)d_sent,
		      (unsigned long long)d_phase, p);
	}
}

TEST(progress_is_monotone_in_d_sent)
{
	u64 seed = 4, d_sent, d_phase;

	for (u32 i = 0; i < CASES; i++) {
		u64 more;

		random_bytes(&seed, &d_sent, &d_phase);
		more = d_sent + random_magnitude(&seed);
		if (more < d_sent)
			more = ~0ULL;
		CHECK(progress(more, d_phase) >= progress(d_sent, d_phase),
		      "%llu and %llu of %llu", (unsigned long long)d_sent,
		      (unsigned long long)more, (unsigned long long)d_phase);
	}
}

TEST(progress_at_the_edges)
{
	static const u64 phases[] = {
		1, 2, 3, 65535, 65536, 10000000, (1ULL << 32) - 1, 1ULL << 32, (1ULL << 32) + 1,
		1ULL << 40, MLCC_PHASE_BYTES_MAX,
	};

	for (u32 i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
		u64 d = phases[i];

		CHECK(progress(0, d) == 0, "D_phase %llu", (unsigned long long)d);
		CHECK(progress(d, d) == MLCC_ONE, "D_phase %llu", (unsigned long long)d);
		CHECK(progress(~0ULL, d) == MLCC_ONE, "D_phase %llu", (unsigned long long)d);
		CHECK(progress(d - 1, d) <= MLCC_ONE, "D_phase %llu", (unsigned long long)d);
	}
}

TEST(what_is_no_phase_has_no_progress)
{
	static const u64 none[] = { 0, MLCC_PHASE_BYTES_MAX + 1, 1ULL << 63, ~0ULL };
	u64 seed = 5;

	for (u32 i = 0; i < sizeof(none) / sizeof(*none); i++) {
		CHECK(mlcc_recip(none[i]) == 0, "%llu", (unsigned long long)none[i]);
		for (u32 n = 0; n < 1000; n++)
			CHECK(progress(random_magnitude(&seed), none[i]) == 0, "%llu",
			      (unsigned long long)none[i]);
	}
}

TAP_MAIN
