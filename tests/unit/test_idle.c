// SPDX-License-Identifier: GPL-2.0
/* When mlcc-dcqcn may leave a job that computes alone. */
#include "../../userspace/mlcc-dcqcn/drive.c"
#include "random.h"
#include "tap.h"

#define MS	1000ULL
#define SLOW_US	20000	/* between two looks otherwise */

static u64 rnd(void)
{
	static u64 state = 20261123;

	return random_u64(&state);
}

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

TEST(a_regular_job_is_met_in_time)
{
	for (uintmax_t period = 100 * MS; period < 20000 * MS; period += period / 7) {
		struct seen s = watch(period, period / 3, 0, 40 * period);

		CHECK(s.latest_us <= SLOW_US, "%ju us: %ju us late", period, s.latest_us);
		CHECK(s.looks < 40 * period / SLOW_US, "%ju us: %ju looks", period, s.looks);
	}
}

/* The least of the last periods is awaited, so that a job with some noise is met as well. */
TEST(an_irregular_job_is_met_soon)
{
	for (uintmax_t period = 100 * MS; period < 20000 * MS; period += period / 7) {
		struct seen s = watch(period, period / 3, period / 10, 200 * period);

		CHECK(s.latest_us <= SLOW_US + period / 10, "%ju us: %ju us late", period,
		      s.latest_us);
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

TAP_MAIN
