// SPDX-License-Identifier: GPL-2.0
/* What part of the link a job gets: when it holds back, and for how long. */
#include "../../include/mlcc/profiles.h"
#include "random.h"
#include "tap.h"

#define CASES	200000U
#define D	10000000ULL	/* bytes of a phase */
#define LINK	125ULL		/* bytes a us: 1 Gb/s */
#define ALONE_US (D / LINK)
#define RTT_US	300U
#define FOREVER	(~0ULL)

/* A link, and a job on it. */
struct link {
	struct mlcc_fair f;
	u64 now;
	u64 acked;
	u64 end;	/* of the last hold */
	u32 holds;
};

/* Sends @bytes at 1/@share of the link, as an ACK for each 10,000; returns whether it holds back. */
static bool sends(struct link *l, u64 bytes, u64 share)
{
	for (u64 sent = 0; sent < bytes; sent += 10000) {
		l->acked += 10000;
		l->now += 10000 * share / LINK;
		if (!mlcc_fair_sample(&l->f, l->now, l->acked, D, RTT_US))
			continue;
		mlcc_fair_hold(&l->f, l->now, l->acked, D, FOREVER);
		l->end = l->f.hold_us;
		l->holds++;
		return true;
	}
	return false;
}

static void turn(struct link *l)
{
	mlcc_fair_turn(&l->f);
	l->now += 100000;
}

/* One that knows the link, and has begun its phases behind others. */
static struct link crowded(void)
{
	struct link l = { .now = 1000000 };

	sends(&l, D, 1);
	turn(&l);
	for (u32 i = 0; i < MLCC_FAIR_SLOWS; i++) {
		sends(&l, D / 4, 2);
		sends(&l, D * 3 / 4, 1);
		turn(&l);
	}
	return l;
}

static u64 held(const struct link *l)
{
	return l->end - l->now;
}

static bool about(u64 us, u64 phase_part)
{
	u64 want = ALONE_US / phase_part;

	return us >= want * 49 / 100 && us <= want * 151 / 100;
}

static void alone_it_never_holds_back(void)
{
	struct link l = { .now = 1000000 };

	for (u32 i = 0; i < 100; i++) {
		CHECK(!sends(&l, D, 1), "phase %u", i);
		turn(&l);
	}
}

/* Phases that lie on top of each other from the first to the last byte look like a slow link. */
static void who_does_not_know_the_link_does_not_hold_back(void)
{
	struct link l = { .now = 1000000 };

	for (u32 i = 0; i < 100; i++) {
		CHECK(!sends(&l, D, 3), "phase %u", i);
		turn(&l);
	}
}

static void one_phase_that_begins_behind_others_is_no_pattern(void)
{
	struct link l = { .now = 1000000 };

	for (u32 i = 0; i < 100; i++) {
		sends(&l, D, 1);
		turn(&l);
		for (u32 n = 0; n < MLCC_FAIR_SLOWS; n++) {
			CHECK(!sends(&l, D / 4, 2), "phase %u", i);
			sends(&l, D * 3 / 4, 1);
			turn(&l);
		}
	}
}

static void who_was_there_first_goes_on(void)
{
	struct link l = crowded();

	for (u32 i = 0; i < 100; i++) {
		CHECK(!sends(&l, D / 2, 1), "phase %u, alone", i);
		CHECK(!sends(&l, D / 2, 3), "phase %u, joined by others", i);
		turn(&l);
	}
}

static void served_in_turn_it_tests_and_then_holds_back(void)
{
	struct link l = crowded();

	for (u32 i = 0; i < MLCC_FAIR_SURE; i++) {
		CHECK(sends(&l, D, 2) && about(held(&l), 1 << MLCC_FAIR_TEST),
		      "test %u: %llu us", i, (unsigned long long)held(&l));
		l.now = l.end;
	}
	for (u64 part = 8; part >= 4; part /= 2) {
		CHECK(sends(&l, D, 2) && about(held(&l), part), "1/%llu: %llu us",
		      (unsigned long long)part, (unsigned long long)held(&l));
		l.now = l.end;
	}
	CHECK(sends(&l, D, 2) && about(held(&l), 4), "%llu us", (unsigned long long)held(&l));
	l.now = l.end;
	CHECK(!sends(&l, D / 2, 1), "it has the link");
	CHECK(!sends(&l, D / 2, 2), "and keeps it");
	turn(&l);
	CHECK(sends(&l, D, 2) && about(held(&l), 16), "the next phase: %llu us",
	      (unsigned long long)held(&l));
}

static void behind_a_queue_one_test_is_all(void)
{
	struct link l = crowded();

	CHECK(sends(&l, D, 2), "a test");
	l.now = l.end;
	CHECK(!sends(&l, D / 10, 30), "little of the link: the windows share it");
	CHECK(mlcc_fair_tells(&l.f), "and the queue tells who is there");
	turn(&l);
	for (u32 i = 1; i < MLCC_FAIR_BARRED + MLCC_FAIR_SLOWS; i++) {
		CHECK(!sends(&l, D / 4, 2), "phase %u after it", i);
		sends(&l, D * 3 / 4, 1);
		turn(&l);
	}
	CHECK(sends(&l, D, 2), "and then another");
}

/* A recovery ends: what arrived meanwhile is acknowledged at once. */
static void bytes_acknowledged_at_once_are_no_rate(void)
{
	struct link l = { .now = 1000000 };

	for (u32 i = 0; i < 100; i++) {
		sends(&l, D / 2, 1);
		l.acked += D / 4;
		l.now += 1;
		sends(&l, D / 4, 1);
		CHECK(mlcc_fair_alone(&l.f, D) > ALONE_US * 9 / 10, "phase %u: %llu us", i,
		      (unsigned long long)mlcc_fair_alone(&l.f, D));
		turn(&l);
	}
}

static void who_holds_back_takes_little(void)
{
	struct link l = crowded();
	u64 rate = mlcc_fair_pace(&l.f);

	CHECK(rate > LINK * 1000000 / 35 && rate < LINK * 1000000 / 30, "%llu bytes/s",
	      (unsigned long long)rate);
}

/* A job of one flow in its phase; the RTT says that the queue is not empty. */
static void a_flow_holds_back_until_its_patience_ends(void)
{
	static const struct mlcc_profile all[] = MLCC_PROFILE_TABLE;
	const struct mlcc_profile *pr = &all[MLCC_PROFILE_INTERLEAVE];
	struct mlcc_job j = { .seq = 3, .d_phase = D, .start_us = 1000000 };
	struct mlcc_flow f = { .seq = 3, .p = 0, .last_cwnd = 300, .rtt = 100 };
	struct mlcc_ack a = { .min_rtt = 50, .rtt = 1000, .mss = 1448, .peer = 1 };
	struct mlcc_path path = { };
	struct mlcc_win w = { .cwnd = 300, .ssthresh = 300 };

	j.fair.hold_us = 1010000;
	j.fair.tries = 1;
	j.contend.best_us = ALONE_US;
	j.contend.patience_us = 300000;
	a.now = 1005000;
	mlcc_flow_rtt(&f, &j, &path, pr, &a, &w);
	CHECK(f.held && f.wait == MLCC_WAITING && w.cwnd == MLCC_CWND_MIN, "cwnd %u", w.cwnd);
	a.rtt = 50;
	mlcc_flow_rtt(&f, &j, &path, pr, &a, &w);
	CHECK(f.held && !f.empty && !j.contend.emptied_us, "its own empty queue says nothing");
	a.now = 1010000;
	mlcc_flow_rtt(&f, &j, &path, pr, &a, &w);
	CHECK(!f.held && f.empty && f.wait == MLCC_WAIT_OVER, "it tries again");
	j.fair.hold_us = 1020000;
	j.contend.push = 1;
	mlcc_flow_rtt(&f, &j, &path, pr, &a, &w);
	CHECK(!f.held, "who pushes does not hold back");
}

static void a_hold_does_not_outlast_the_patience(void)
{
	u64 seed = 11;

	for (u32 i = 0; i < CASES; i++) {
		u64 now = random_u64(&seed) >> 8, until = now + (random_u64(&seed) >> 20);
		struct mlcc_fair f = {
			.byte_cost = random_below(&seed, MLCC_BYTE_COST_MAX + 1),
			.served = random_below(&seed, MLCC_FAIR_SURE + 1),
			.tries = random_below(&seed, MLCC_FAIR_TRIES + 1),
		};

		mlcc_fair_hold(&f, now, random_magnitude(&seed), random_u64(&seed) >> 16, until);
		CHECK(f.hold_us >= now && f.hold_us <= until, "%llu .. %llu: %llu",
		      (unsigned long long)now, (unsigned long long)until,
		      (unsigned long long)f.hold_us);
		CHECK(f.tries <= MLCC_FAIR_TRIES, "tries %u", f.tries);
	}
}

static void nonsense_keeps_the_bounds(void)
{
	struct mlcc_fair f = { };
	u64 seed = 12;

	for (u32 i = 0; i < CASES; i++) {
		u64 now = random_magnitude(&seed), d = random_magnitude(&seed);
		u32 rtt = random_magnitude(&seed);

		mlcc_fair_sample(&f, now, random_magnitude(&seed), d, rtt);
		if (!(i & 31))
			mlcc_fair_turn(&f);
		CHECK(f.byte_cost <= MLCC_BYTE_COST_MAX, "cost %u", f.byte_cost);
		CHECK(f.served <= MLCC_FAIR_SURE && f.barred <= MLCC_FAIR_BARRED, "served %u, barred %u",
		      f.served, f.barred);
		CHECK(mlcc_fair_pace(&f) >= MLCC_FAIR_PACE_MIN, "pace %u", mlcc_fair_pace(&f));
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(alone_it_never_holds_back),
		TAP_TEST(who_does_not_know_the_link_does_not_hold_back),
		TAP_TEST(one_phase_that_begins_behind_others_is_no_pattern),
		TAP_TEST(who_was_there_first_goes_on),
		TAP_TEST(served_in_turn_it_tests_and_then_holds_back),
		TAP_TEST(behind_a_queue_one_test_is_all),
		TAP_TEST(bytes_acknowledged_at_once_are_no_rate),
		TAP_TEST(who_holds_back_takes_little),
		TAP_TEST(a_flow_holds_back_until_its_patience_ends),
		TAP_TEST(a_hold_does_not_outlast_the_patience),
		TAP_TEST(nonsense_keeps_the_bounds),
	};

	return TAP_RUN(tests);
}
