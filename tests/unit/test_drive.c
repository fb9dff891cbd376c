// SPDX-License-Identifier: GPL-2.0
/*
 * What mlcc-dcqcn makes of a gain: values, when they are written, and how often; and what it says of
 * a run that has no effect.
 */
#include <math.h>
#include <stddef.h>

#include "../../userspace/mlcc-dcqcn/drive.c"
#include "../../userspace/mlcc-dcqcn/symptoms.c"
#include "../../include/mlcc/profiles.h"
#include "random.h"
#include "tap.h"

#define MS	1000ULL
#define SECOND	1000000ULL

static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;

static u64 rnd(void)
{
	static u64 state = 20260914;

	return random_u64(&state);
}

static struct drive any_drive(void)
{
	struct drive d = {
		.base = 1 + rnd() % 100000, .divide = rnd() & 1,
		.cap = MLCC_ONE + rnd() % (15 * MLCC_ONE), .min = 1, .max = 131071,
		.hysteresis = rnd() % MLCC_ONE,
	};

	return d;
}

/* R_AI' = g R_AI and T' = T / g, to the nearest whole number, within cap and range */
TEST(values_are_those_of_the_formula)
{
	for (int i = 0; i < 200000; i++) {
		struct drive d = any_drive();
		uint32_t gain = MLCC_GROW_MIN + rnd() % MLCC_GROW_MAX;
		double g = fmin(gain, d.cap) / 65536.0;
		double v = d.divide ? d.base / g : d.base * g;
		uint32_t is = drive_value(&d, gain);

		v = fmin(fmax(v, d.min), d.max);
		CHECK(fabs(is - v) <= 0.5001, "base %u gain %u divide %d: %u, not %g", d.base, gain,
		      d.divide, is, v);
	}
}

/* Whatever the progress, the value is between the ends that are saved for restore */
TEST(range_covers_all)
{
	for (int i = 0; i < 20000; i++) {
		const struct mlcc_profile *pr = &profiles[rnd() % MLCC_PROFILE_COUNT];
		struct drive d = any_drive();
		uint32_t low, high, v;

		drive_range(&d, pr, &low, &high);
		v = drive_value(&d, mlcc_grow(pr, rnd() % (MLCC_ONE + 1)));
		CHECK(v >= low && v <= high, "%u is not in %u to %u", v, low, high);
		v = drive_value(&d, MLCC_ONE);
		CHECK(v >= low && v <= high, "gain 1: %u is not in %u to %u", v, low, high);
	}
}

static bool moves(const struct drive *d, uint32_t is, double written, double gain)
{
	const uint32_t ends[2] = { 100, 200 };

	return drive_moves(d, is, written * MLCC_ONE, gain * MLCC_ONE, ends);
}

TEST(small_steps_are_not_written)
{
	struct drive d = {
		.base = 100, .cap = 2 * MLCC_ONE, .hysteresis = MLCC_ONE / 8, .min = 1, .max = 1000,
	};

	CHECK(!moves(&d, 150, 1.5, 1.5), "nothing to do");
	CHECK(!moves(&d, 150, 1.5, 1.62) && !moves(&d, 150, 1.5, 1.38), "less than an eighth");
	CHECK(moves(&d, 150, 1.5, 1.63) && moves(&d, 150, 1.5, 1.37), "more than an eighth");
	CHECK(moves(&d, 199, 1.99, 2) && moves(&d, 101, 1.01, 1), "the ends");
	CHECK(!moves(&d, 200, 2, 3) && moves(&d, 200, 3, 1.8), "the cap is what is written");
	d.hysteresis = 0;
	CHECK(moves(&d, 150, 1.5, 1.51), "without hysteresis");
	CHECK(!moves(&d, 150, 1.5, 1.501), "no whole number further");
	/* T: an eighth of the gain, not of T */
	d.divide = true;
	d.hysteresis = MLCC_ONE / 8;
	CHECK(moves(&d, 57, 1.75, 1.88), "from 57 to 53");
}

/* Never more than its rate and the reserve of a tenth of a second, whenever it is asked */
TEST(budget_is_kept)
{
	for (int i = 0; i < 200; i++) {
		uint64_t now = rnd() % (1ULL << 40), begun = now, taken = 0;
		uint32_t rate = 1 + rnd() % 1000;
		struct budget b;

		budget_init(&b, rate, now);
		for (int n = 0; n < 20000; n++) {
			now += rnd() % 2000;
			taken += budget_take(&b, now);
		}
		CHECK(taken <= (now - begun) * rate / 1e6 + fmax(2, rate / 10.0) + 1, "%u/s: %ju",
		      rate, taken);
		CHECK(taken + 2 >= fmin(20000, (now - begun) * rate / 1e6) * 0.5, "%u/s: only %ju",
		      rate, taken);
	}
}

/* After a night without a write there is no more than the reserve */
TEST(budget_does_not_pile_up)
{
	unsigned int taken = 0;
	struct budget b;

	budget_init(&b, 100, 0);
	while (budget_take(&b, 0))
		taken++;
	CHECK(taken == 10, "%u at first", taken);
	for (taken = 0; budget_take(&b, 36000000000ULL); taken++)
		;
	CHECK(taken == 10, "%u after ten hours", taken);
}

/*** Symptoms ***/

static struct symptoms s;
static uint64_t now_us, cnps;

static void begin(void)
{
	s = (struct symptoms){ };
	now_us = 1000 * SECOND;
	cnps = 0;
}

/* How often @wanted was told in @seconds, of each of which the job sends a part, or none. */
static int told(enum symptom wanted, unsigned int seconds, bool sends, bool counts, bool marked)
{
	int n = 0;

	while (seconds--) {
		enum symptom found;

		s.sends |= sends;
		now_us += SECOND;
		cnps += marked;
		found = symptoms_look(&s, counts ? &cnps : NULL, now_us);
		n += found == wanted;
		CHECK(!found || found == wanted, "%d, not %d", found, wanted);
	}
	return n;
}

/* And again when it was over. */
static void told_once(enum symptom symptom, bool sends)
{
	begin();
	CHECK(!told(symptom, 60, sends, true, false), "%d: too early", symptom);
	CHECK(told(symptom, 1000, sends, true, false) == 1, "%d: not once", symptom);
	CHECK(!told(symptom, 1000, true, true, true), "%d: it is over", symptom);
	CHECK(told(symptom, 61, sends, true, false) == 1, "%d: not once more", symptom);
}

TEST(silence_and_the_lack_of_cnps_are_told_once)
{
	told_once(SYMPTOM_NO_PROGRESS, false);
	told_once(SYMPTOM_NO_CNP, true);
}

/* A port that counts no CNPs says nothing, and of a job only the seconds count in which it sends. */
TEST(what_works_is_not_told)
{
	begin();
	CHECK(!told(SYMPTOM_NONE + 100, 1000, true, true, true), "something is");
	begin();
	CHECK(!told(SYMPTOM_NO_CNP, 1000, true, false, false), "without a counter");
	begin();
	for (int i = 0; i < 50; i++) {
		CHECK(!told(SYMPTOM_NO_CNP, 1, true, true, false), "iteration %d", i);
		CHECK(!told(SYMPTOM_NO_CNP, 30, false, true, false), "iteration %d", i);
	}
}

TAP_MAIN
