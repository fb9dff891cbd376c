// SPDX-License-Identifier: GPL-2.0
/* Time-shifts: slots, waits and what bounds them. */
#include <string.h>

#include "../../include/mlcc/shift.h"
#include "random.h"
#include "tap.h"

#define MS	((u64)1000000)
#define SECOND	(1000 * MS)
#define EPOCH	1790000000123456789ULL	/* some time of day */

/* A job alone: @gap of computing, @comm of communication, waits as told. */
struct run {
	struct mlcc_shifter s;
	struct mlcc_shift plan;
	u64 now;		/* mono */
	u64 epoch;		/* wall less mono */
	u64 gap, comm;
	u64 waited;		/* in all */
};

static void run_init(struct run *r, u64 period, u64 offset)
{
	memset(r, 0, sizeof(*r));
	r->plan = (struct mlcc_shift){ period, offset };
	r->now = 5 * SECOND;
	r->epoch = EPOCH;
	r->gap = period / 3 * 2;
	r->comm = period - r->gap;
}

static u64 iterate(struct run *r)
{
	u64 wait;

	r->now += r->gap;
	wait = mlcc_shift_start(&r->s, &r->plan, r->now + r->epoch, r->now);
	r->now += wait;
	r->waited += wait;
	CHECK(!wait || (r->now + r->epoch - r->plan.offset) % r->plan.period == 0,
	      "waits until %ju", r->now + r->epoch);
	r->now += r->comm;
	mlcc_shift_end(&r->s, r->now);
	return wait;
}

TEST(a_slot_is_reached_with_one_wait)
{
	u64 seed = 1;

	for (int i = 0; i < 10000; i++) {
		u64 period = MLCC_SHIFT_PERIOD_MIN + random_below(&seed, 2 * SECOND);
		struct run r;
		u64 first;

		run_init(&r, period, random_below(&seed, period));
		r.now += random_below(&seed, SECOND);
		first = iterate(&r);
		CHECK(first < period, "%ju of %ju", first, period);
		CHECK(r.s.state == MLCC_SHIFT_HELD, "state %u", r.s.state);
		for (int k = 0; k < 50; k++)
			CHECK(!iterate(&r), "waits again, in iteration %d", k);
	}
}

/* 20 us in each iteration of 100 ms: 5 % in 25 s. */
TEST(drift_is_corrected_twice_a_minute_at_most)
{
	u64 last = 0, off = 0;
	struct run r;

	run_init(&r, 100 * MS, 0);
	r.gap -= 400000;
	for (int i = 0; i < 36000; i++) {
		u64 wait = iterate(&r);

		if (!wait) {
			off += r.s.state == MLCC_SHIFT_OFF;
			continue;
		}
		CHECK(!last || r.now - last >= MLCC_SHIFT_EVERY, "after %ju ms",
		      ((r.now - last) / MS));
		last = r.now;
	}
	CHECK(r.s.waits > 60 && r.s.waits <= 121, "%u waits in an hour", r.s.waits);
	CHECK(off, "it was never off its slot");
	CHECK(r.waited <= 100 * MS + 3600 * SECOND / MLCC_SHIFT_COST, "waited %ju ms",
	      r.waited / MS);
}

/* A job that falls behind has to wait for nearly a period: that has to be worth it. */
TEST(corrections_cost_a_percent_at_most)
{
	u64 periods[] = { 20 * MS, 280 * MS, 3 * SECOND, 20 * SECOND };

	for (unsigned int p = 0; p < sizeof(periods) / sizeof(*periods); p++) {
		struct run r;
		u64 begun, first;

		run_init(&r, periods[p], 0);
		r.gap += periods[p] / 500;
		first = iterate(&r);
		begun = r.now;
		while (r.now < begun + 4000 * SECOND)
			iterate(&r);
		CHECK(r.waited - first <= (r.now - begun) / MLCC_SHIFT_COST,
		      "period %ju ms: waited %ju ms", periods[p] / MS, ((r.waited - first) / MS));
		CHECK(periods[p] > 10 * SECOND || r.s.waits > 2, "%u waits", r.s.waits);
	}
}

/* Never more than 9.5 ms from the slot, of the 10 that there are. */
TEST(small_errors_are_let_be)
{
	u64 seed = 2, slot;
	struct run r;

	run_init(&r, 200 * MS, 150 * MS);
	iterate(&r);
	slot = r.now - r.comm;
	slot -= (slot + r.epoch - r.plan.offset) % r.plan.period;
	for (int i = 0; i < 5000; i++) {
		slot += r.plan.period;
		r.now = slot + random_below(&seed, 19 * MS) - 9500000 - r.gap;
		CHECK(!iterate(&r), "waits at %d", i);
		CHECK(r.s.state == MLCC_SHIFT_HELD, "state %u", r.s.state);
	}
}

TEST(another_period_is_not_shifted)
{
	for (int faster = 0; faster < 2; faster++) {
		struct run r;

		run_init(&r, 100 * MS, 0);
		r.gap = faster ? 40 * MS : 100 * MS;
		iterate(&r);
		for (int i = 0; i < 10000; i++) {
			u64 wait = iterate(&r);

			CHECK(!wait || i < 5, "waits %ju ns at %d", wait, i);
		}
		CHECK(r.s.state == MLCC_SHIFT_OTHER_PERIOD, "state %u", r.s.state);
		/* it comes to have the plan's, and is held */
		r.gap = 100 * MS - r.comm;
		for (int i = 0; i < 20; i++)
			iterate(&r);
		CHECK(r.s.state == MLCC_SHIFT_HELD, "state %u afterwards", r.s.state);
	}
}

/* Phases that others make twice as long say nothing of the job's own period. */
TEST(contention_is_no_other_period)
{
	struct run r;

	run_init(&r, 300 * MS, 0);
	r.plan.period = 0;
	for (int i = 0; i < 40; i++) {
		r.comm = i % 8 == 3 ? 100 * MS : 200 * MS;
		CHECK(!iterate(&r) && r.s.state == MLCC_SHIFT_NONE, "without a plan");
	}
	r.plan.period = 300 * MS;
	r.now += 50 * MS;
	iterate(&r);
	CHECK(r.s.waits == 1 && r.s.state == MLCC_SHIFT_HELD, "state %u, %u waits", r.s.state,
	      r.s.waits);
}

TEST(a_new_plan_moves_a_job_but_not_at_once_again)
{
	struct run r;
	u64 moved;

	run_init(&r, 100 * MS, 0);
	r.now += 50 * MS;
	CHECK(iterate(&r), "no wait");
	moved = r.now;
	for (int i = 0; i < 3000; i++) {
		u64 before = r.s.waits;

		r.plan.offset = (u64)i * 37 % 100 * MS;
		iterate(&r);
		if (r.s.waits == before)
			continue;
		CHECK(r.now - moved >= MLCC_SHIFT_EVERY, "after %ju ms", ((r.now - moved) / MS));
		moved = r.now;
	}
	CHECK(r.s.waits > 5, "%u waits", r.s.waits);
}

TEST(a_plan_that_is_none_is_ignored)
{
	static const struct mlcc_shift bad[] = {
		{ 0, 0 }, { 1, 0 }, { MLCC_SHIFT_PERIOD_MIN - 1, 0 },
		{ MLCC_SHIFT_PERIOD_MAX + 1, 0 },
		{ ~0ULL, 5 }, { SECOND, SECOND }, { SECOND, ~0ULL }, { 0, ~0ULL },
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct run r;

		run_init(&r, SECOND, 0);
		for (int k = 0; k < 10; k++) {
			r.now += SECOND;
			CHECK(!mlcc_shift_start(&r.s, &bad[i], r.now + EPOCH, r.now), "plan %u", i);
			CHECK(r.s.state == MLCC_SHIFT_NONE, "plan %u: state %u", i, r.s.state);
		}
	}
}

/* Any numbers at all, in any order; undefined behaviour would end the program. */
TEST(nonsense_is_harmless)
{
	struct mlcc_shifter s;
	struct mlcc_shift plan;
	u64 seed = 4;

	memset(&s, 0, sizeof(s));
	for (int i = 0; i < 2000000; i++) {
		u64 wait;

		if (!random_below(&seed, 8))
			plan = (struct mlcc_shift){ random_magnitude(&seed),
						    random_magnitude(&seed) };
		else if (!random_below(&seed, 4) || !i)
			plan = (struct mlcc_shift){
				MLCC_SHIFT_PERIOD_MIN + random_below(&seed, 50 * SECOND), 0 };
		if (!random_below(&seed, 1000))
			s.seen = ~0U - random_below(&seed, 4);
		wait = mlcc_shift_start(&s, &plan, random_magnitude(&seed),
					random_magnitude(&seed));
		CHECK(wait < MLCC_SHIFT_PERIOD_MAX && (!wait || wait < plan.period),
		      "step %d: waits %ju", i, wait);
		CHECK(!wait || mlcc_shift_valid(&plan), "step %d: a plan that is none", i);
		if (random_below(&seed, 2))
			mlcc_shift_end(&s, random_magnitude(&seed));
	}
}

TAP_MAIN
