// SPDX-License-Identifier: GPL-2.0
/*
 * What mlcc-dcqcn makes of a gain: values, when they are written, and how often; when it may leave a
 * job that computes alone; and what it says of a run that has no effect.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "../../userspace/mlcc-dcqcn/drive.c"
#include "../../userspace/mlcc-dcqcn/symptoms.c"
#include "../../include/mlcc/profiles.h"
#include "random.h"
#include "tap.h"

#define MS	1000ULL
#define SECOND	1000000ULL
#define SLOW_US	20000	/* between two looks otherwise */

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

/*** When it looks ***/

/* A job of @period_us, of which it sends for @sends_us, is looked at until @until_us. */
struct seen {
	uintmax_t looks, latest_us;	/* how long after its beginning a phase was seen, at worst */
};

static struct seen watch(u64 period_us, u64 sends_us, u64 jitter_us, u64 until_us)
{
	u64 begin = period_us, now = 0, late;
	struct idle r = { 0 };
	struct seen s = { 0 };
	bool was = false;

	while (now < until_us) {
		bool sends = now >= begin && now < begin + sends_us;

		idle_note(&r, sends, now);
		late = now - begin;
		/* the first few have to be met before anything is known */
		if (sends && !was && begin > 8 * period_us && late > s.latest_us)
			s.latest_us = late;
		was = sends;
		s.looks++;
		now += idle_us(&r, now) > SLOW_US ? idle_us(&r, now) : SLOW_US;
		while (now >= begin + sends_us)
			begin += period_us + (jitter_us ? rnd() % jitter_us : 0);
	}
	return s;
}

/* The least of the last periods is awaited, so that a job with some noise is met as well. */
TEST(a_job_is_met_in_time)
{
	for (uintmax_t period = 100 * MS; period < 20000 * MS; period += period / 7) {
		struct seen even = watch(period, period / 3, 0, 40 * period);
		struct seen uneven = watch(period, period / 3, period / 10, 200 * period);

		CHECK(even.latest_us <= SLOW_US, "%ju us: %ju us late", period, even.latest_us);
		CHECK(even.looks < 40 * period / SLOW_US, "%ju us: %ju looks", period, even.looks);
		CHECK(uneven.latest_us <= SLOW_US + period / 10, "%ju us, uneven: %ju us late",
		      period, uneven.latest_us);
	}
}

TEST(nothing_is_known_of_a_new_job)
{
	struct idle r = { 0 };

	CHECK(!idle_us(&r, 5000 * MS), "no phase yet");
	for (int i = 0; i < IDLE_PERIODS; i++) {
		idle_note(&r, true, (1000 + 500 * i) * MS);
		idle_note(&r, false, (1200 + 500 * i) * MS);
		CHECK(!idle_us(&r, (1200 + 500 * i) * MS), "%d periods are too few", i);
	}
	idle_note(&r, true, 3000 * MS);
	CHECK(!idle_us(&r, 3100 * MS), "it sends");
	idle_note(&r, false, 3200 * MS);
	CHECK(idle_us(&r, 3200 * MS) > 100 * MS, "%u us", idle_us(&r, 3200 * MS));
	CHECK(!idle_us(&r, 3490 * MS), "it is due");
	CHECK(!idle_us(&r, 9000 * MS), "it is overdue");
}

TEST(idle_is_no_longer_than_it_may_be)
{
	struct idle r = { 0 };
	u64 now = 0;

	for (int i = 0; i < 200000; i++) {
		now += rnd() % (1ULL << (rnd() % 28));
		idle_note(&r, rnd() & 1, now);
		CHECK(idle_us(&r, now) <= IDLE_MAX_US, "%u us", idle_us(&r, now));
	}
}

/* A job that stopped for an hour may come back as another one. */
TEST(a_long_silence_is_forgotten)
{
	struct idle r = { 0 };

	for (int i = 0; i < 10; i++) {
		idle_note(&r, true, (1000 + 500 * i) * MS);
		idle_note(&r, false, (1200 + 500 * i) * MS);
	}
	CHECK(idle_us(&r, 5700 * MS), "known");
	idle_note(&r, true, 3600000 * MS);
	idle_note(&r, false, 3600100 * MS);
	CHECK(!idle_us(&r, 3600100 * MS), "new");
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

TEST(a_silent_job_is_told_once)
{
	begin();
	CHECK(!told(SYMPTOM_NO_PROGRESS, 60, false, true, false), "too early");
	CHECK(told(SYMPTOM_NO_PROGRESS, 1000, false, true, false) == 1, "not once");
	/* and again when it was over */
	CHECK(!told(SYMPTOM_NO_PROGRESS, 10, true, true, true), "it sends");
	CHECK(told(SYMPTOM_NO_PROGRESS, 61, false, true, false) == 1, "not once more");
}

TEST(a_port_without_cnps_is_told_once)
{
	begin();
	CHECK(!told(SYMPTOM_NO_CNP, 60, true, true, false), "too early");
	CHECK(told(SYMPTOM_NO_CNP, 1000, true, true, false) == 1, "not once");
	CHECK(!told(SYMPTOM_NO_CNP, 1000, true, true, true), "it has some");
	CHECK(told(SYMPTOM_NO_CNP, 61, true, true, false) == 1, "not once more");
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
