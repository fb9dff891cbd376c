// SPDX-License-Identifier: GPL-2.0
/* A flow's window under the rule. */
#include "../../include/mlcc/dctcp.h"
#include "../../include/mlcc/flow.h"
#include "../../include/mlcc/profiles.h"
#include "random.h"
#include "tap.h"

#define CASES	1000000

static void increase_never_exceeds_what_was_acked(void)
{
	u64 seed = 1;

	for (u32 i = 0; i < CASES; i++) {
		u32 cwnd = 1 + random_below(&seed, 1 << random_below(&seed, 25));
		u32 acked = 1 + random_below(&seed, 1 << random_below(&seed, 17));
		u32 grow = random_below(&seed, MLCC_GROW_MAX + 1);
		struct mlcc_flow f = { .credit = random_below(&seed, (u64)cwnd << MLCC_SHIFT) };
		u32 add = mlcc_increase(&f, cwnd, acked, grow);

		CHECK(add <= acked, "cwnd %u, acked %u, grow %u: %u", cwnd, acked, grow, add);
		CHECK(f.credit < (u64)cwnd << MLCC_SHIFT, "cwnd %u: credit %llu", cwnd,
		      (unsigned long long)f.credit);
	}
}

/* Credit earned under a large window and taken under a small one: slow start is the limit. */
static void increase_is_capped_when_the_window_shrinks(void)
{
	struct mlcc_flow f = { .credit = 100000ULL << MLCC_SHIFT };

	CHECK(mlcc_increase(&f, 2, 3, MLCC_ONE) == 3, "more than was acked");
}

static void long_run_growth_is_grow_times_acked_over_cwnd(void)
{
	u64 seed = 2;

	for (u32 i = 0; i < 300; i++) {
		u32 cwnd = 64 + random_below(&seed, 4000);
		u32 grow = MLCC_GROW_MIN + random_below(&seed, 16 * MLCC_ONE);
		struct mlcc_flow f = { };
		double exact = 0;
		u64 added = 0;

		/* until 400 segments are due: then one that is still owed is below 1 % */
		while (exact < 400) {
			u32 acked = 1 + random_below(&seed, 16);

			added += mlcc_increase(&f, cwnd, acked, grow);
			exact += (double)grow / MLCC_ONE * acked / cwnd;
		}
		CHECK(added <= exact && added >= exact * 0.99, "cwnd %u, grow %u: %llu, exactly %f",
		      cwnd, grow, (unsigned long long)added, exact);
	}
}

static void decrease_keeps_its_bounds(void)
{
	u64 seed = 3;

	for (u32 i = 0; i < CASES; i++) {
		u32 cwnd = random_below(&seed, 1ULL << (1 + random_below(&seed, 32)));
		u32 beta = random_below(&seed, MLCC_ONE / 2 + 1);
		u32 yield = MLCC_ONE - random_below(&seed, MLCC_HOLD_MAX + 1);
		u32 left = mlcc_decrease(cwnd, beta, yield);
		double exact = cwnd * (1 - (double)beta / MLCC_ONE * yield / MLCC_ONE);

		CHECK(left >= MLCC_CWND_MIN, "cwnd %u, beta %u, yield %u: %u", cwnd, beta, yield,
		      left);
		CHECK(left <= cwnd || left == MLCC_CWND_MIN, "cwnd %u, beta %u, yield %u: %u",
		      cwnd, beta, yield, left);
		if (left == MLCC_CWND_MIN)
			continue;
		/* beta * yield is rounded down to Q16, and so is the decrease */
		CHECK(left >= exact && left <= exact + (double)cwnd / MLCC_ONE + 1,
		      "cwnd %u, beta %u, yield %u: %u, exactly %f", cwnd, beta, yield, left,
		      exact);
	}
}

static void decrease_by_hand(void)
{
	CHECK(mlcc_decrease(100, MLCC_ONE / 2, MLCC_ONE) == 50, "Reno halves");
	CHECK(mlcc_decrease(100, MLCC_ONE / 2, MLCC_ONE / 4) == 88, "an eighth of 100 is 12");
	CHECK(mlcc_decrease(100, 0, MLCC_ONE) == 100, "no marks, no decrease");
	CHECK(mlcc_decrease(3, MLCC_ONE / 2, MLCC_ONE) == 2, "a decrease is rounded down");
	CHECK(mlcc_decrease(1, MLCC_ONE / 2, MLCC_ONE) == MLCC_CWND_MIN, "the floor");
	CHECK(mlcc_decrease(0, MLCC_ONE / 2, MLCC_ONE) == MLCC_CWND_MIN, "the floor");
	CHECK(mlcc_decrease(~0U, MLCC_ONE / 2, MLCC_ONE) == 1U << 31, "all 32 bits");
}

static void less_yield_keeps_more(void)
{
	u64 seed = 4;

	for (u32 i = 0; i < CASES; i++) {
		u32 cwnd = 2 + random_below(&seed, 1 << 20);
		u32 beta = random_below(&seed, MLCC_ONE / 2 + 1);
		u32 y = 1 + random_below(&seed, MLCC_ONE - 1);
		u32 z = y + random_below(&seed, MLCC_ONE - y + 1);

		CHECK(mlcc_decrease(cwnd, beta, y) >= mlcc_decrease(cwnd, beta, z),
		      "cwnd %u, beta %u, yield %u and %u", cwnd, beta, y, z);
	}
}

/* The overshoot of slow start is not what the rule softens. */
static void a_decrease_that_ends_slow_start_is_the_bases(void)
{
	const struct mlcc_profile pr = { .hold = MLCC_ONE * 7 / 8, .shape = 2 };
	struct mlcc_win w = { .cwnd = 100, .ssthresh = 300 };
	struct mlcc_flow f = { .p = MLCC_ONE };

	CHECK(mlcc_flow_yield(&f, &pr, &w) == MLCC_ONE, "in slow start");
	w.ssthresh = 100;
	CHECK(mlcc_flow_yield(&f, &pr, &w) == MLCC_ONE / 8, "by the rule");
	f.p = MLCC_NEUTRAL;
	CHECK(mlcc_flow_yield(&f, &pr, &w) == MLCC_ONE, "neutral");
}

/* Whatever the policy wants: in CWR, Recovery and Loss nothing goes up, and nothing to 0 or 1. */
static void a_reduction_is_not_undone(void)
{
	u64 seed = 8;

	for (u32 i = 0; i < CASES; i++) {
		struct mlcc_win was = { .cwnd = random_magnitude(&seed),
					.ssthresh = random_magnitude(&seed),
					.open = random_below(&seed, 2) };
		struct mlcc_win w = { .cwnd = random_magnitude(&seed),
				      .ssthresh = random_magnitude(&seed) };
		struct mlcc_win asked = w;

		mlcc_win_bound(&w, &was);
		CHECK(w.ssthresh >= MLCC_CWND_MIN, "ssthresh %u", w.ssthresh);
		CHECK(was.open || (w.cwnd <= was.cwnd && (w.ssthresh <= was.ssthresh ||
							  w.ssthresh == MLCC_CWND_MIN)),
		      "from %u, %u to %u, %u", was.cwnd, was.ssthresh, w.cwnd, w.ssthresh);
		CHECK(w.cwnd <= asked.cwnd, "cwnd %u, %u asked for", w.cwnd, asked.cwnd);
		CHECK(!was.open || w.cwnd == asked.cwnd, "open: cwnd %u, not %u", w.cwnd,
		      asked.cwnd);
	}
}

/* An empty queue, and a phase that has lost segments: slow start ends where it does for anybody. */
static void what_was_lost_ends_the_doubling(void)
{
	const struct mlcc_profile pr = { .restart = MLCC_RESTART_QUEUE };
	struct mlcc_flow f = { .p = 0, .rtt = 100, .seen = MLCC_SEEN_EMPTY };
	struct mlcc_win w = { .cwnd = 20, .ssthresh = 20, .open = true };

	CHECK(mlcc_flow_doubles(&f, &pr, false, &w), "nothing lost");
	mlcc_flow_decrease(&f, true);
	CHECK(!mlcc_flow_doubles(&f, &pr, false, &w), "above ssthresh after a loss");
	w.ssthresh = 40;
	CHECK(mlcc_flow_doubles(&f, &pr, false, &w), "below ssthresh");
	f.seen = MLCC_SEEN_FULL;
	CHECK(!mlcc_flow_doubles(&f, &pr, false, &w), "the link is full");
}

/* The window that a phase begins with over a path of @min_rtt us, and what it grows by, Q16. */
static u32 begins_with(struct mlcc_flow *f, u32 min_rtt, u32 *grow)
{
	const struct mlcc_profile pr = {
		.floor = MLCC_ONE, .slope = 8 * MLCC_ONE, .shape = 1,
		.restart = MLCC_RESTART_QUEUE,
	};
	struct mlcc_job j = { .share = MLCC_ONE, .d_hint = 1000000 };
	struct mlcc_win w = { .cwnd = 80, .ssthresh = 40, .open = true };
	struct mlcc_path path = { .peer = 1, .min_rtt = min_rtt };

	j.seq = f->seq;
	mlcc_flow_tx_start(f, &j, &path, 1, &pr, 1000000, min_rtt, &w);
	f->rtt = min_rtt;
	f->p = MLCC_ONE;
	*grow = mlcc_flow_grow(f, &j, &pr, false, 1000);
	return w.ssthresh;
}

/* Over a long path, and for one phase. */
static void a_phase_after_a_loss_is_careful(void)
{
	struct mlcc_flow f = { .lost = 1 };
	u32 grow, to;

	to = begins_with(&f, 100, &grow);
	CHECK(to == 80 && grow > 2 * MLCC_ONE, "in a rack: to %u, grow %u", to, grow);
	f.lost = 1;
	to = begins_with(&f, 10000, &grow);
	CHECK(to == 60 && grow == MLCC_ONE, "over 10 ms: to %u, grow %u", to, grow);
	to = begins_with(&f, 10000, &grow);
	CHECK(to == 80 && grow == 2 * MLCC_ONE, "the next one: to %u, grow %u", to, grow);
}

/* 100 segments of 1448 bytes in 10 ms: a byte takes 0.069 us, 72400 in parts of 2^20. */
static void an_overflow_shows_what_the_link_carries(void)
{
	struct mlcc_job j = { .share = MLCC_ONE };
	struct mlcc_flow f = { .p = 0 };

	mlcc_flow_overflow(&f, &j, 0, 144800);
	mlcc_flow_overflow(&f, &j, 10000, 0);
	CHECK(!j.queue.byte_cost, "nothing was measured: %u", j.queue.byte_cost);
	mlcc_flow_overflow(&f, &j, 10000, 144800);
	CHECK(j.queue.byte_cost > 72000 && j.queue.byte_cost < 73000, "%u", j.queue.byte_cost);
	mlcc_flow_overflow(&f, &j, 20000, 144800);
	CHECK(j.queue.byte_cost < 73000, "a slower time: %u", j.queue.byte_cost);
	j.share = MLCC_ONE / 2;
	mlcc_flow_overflow(&f, &j, 10000, 144800);
	CHECK(j.queue.byte_cost < 36500, "one of two flows: %u", j.queue.byte_cost);
	j.queue.byte_cost = 0;
	f.p = MLCC_NEUTRAL;
	mlcc_flow_overflow(&f, &j, 10000, 144800);
	CHECK(!j.queue.byte_cost, "nothing is learnt of a neutral job");
}

/* The longest queue that a flow takes for none, us, at @gbps and a least RTT of @min_rtt us. */
static u32 longest_empty(u32 gbps, u32 min_rtt)
{
	const struct mlcc_profile pr = { .restart = MLCC_RESTART_QUEUE };
	struct mlcc_job j = { .queue.byte_cost = 8389 / gbps, .share = MLCC_ONE };
	u32 queue;

	for (queue = 0; queue < 100000; queue++) {
		struct mlcc_flow f = { .p = 0, .rtt = 1 };
		struct mlcc_path path = { };
		struct mlcc_ack a = { .min_rtt = min_rtt, .rtt = min_rtt + queue + 1, .mss = 1448,
				      .peer = 1 };
		struct mlcc_win w = { .cwnd = 10, .ssthresh = 10, .open = true };

		mlcc_flow_rtt(&f, &j, &path, &pr, &a, &w);
		if (f.seen < MLCC_SEEN_EMPTY)
			break;
	}
	return queue;
}

/* 100 us are 1.25 MB at 100 Gb/s: more than many switches have. */
static void an_empty_queue_goes_by_the_link(void)
{
	u32 us = longest_empty(100, 20);

	CHECK(us >= 10 && us <= 12, "100 Gb/s, 20 us: %u us", us);
	us = longest_empty(1, 50);
	CHECK(us > 130 && us < 150, "1 Gb/s, 50 us: %u us", us);
	us = longest_empty(10, 10000);
	CHECK(us > 1200 && us < 1300, "10 Gb/s, 10 ms: %u us", us);
	us = longest_empty(10, 1000);
	CHECK(us > 110 && us < 150, "10 Gb/s, 1 ms: %u us", us);
}

/*
 * A round trip of @rtt us, of which ACKs have waited for @wait, by a peer's clock of @tick us, on a
 * link of 1 Gb/s; @cwnd: the flow's window.
 */
static struct mlcc_flow finds_the_queue(u32 rtt, u32 wait, u32 tick, u32 cwnd)
{
	const struct mlcc_profile pr = { .restart = MLCC_RESTART_QUEUE };
	struct mlcc_job j = { .queue.byte_cost = 8389 };
	struct mlcc_flow f = { .p = 0, .wait = MLCC_WAITING, .reverse = { .base = 1000 } };
	struct mlcc_win w = { .cwnd = cwnd, .ssthresh = cwnd, .open = true };
	struct mlcc_ack a = { .now = 1000 + wait + tick, .rtt = rtt, .min_rtt = 50, .tick = tick,
			      .mss = 1448, .peer = 1 };
	struct mlcc_path path = { };

	mlcc_flow_rtt(&f, &j, &path, &pr, &a, &w);
	return f;
}

static bool finds_it_empty(u32 rtt, u32 wait, u32 tick)
{
	return finds_the_queue(rtt, wait, tick, 10).seen >= MLCC_SEEN_EMPTY;
}

static void the_queue_that_counts_is_that_of_the_data(void)
{
	CHECK(finds_it_empty(100, 0, 1), "a short round trip");
	CHECK(!finds_it_empty(3000, 0, 1), "3 ms before the data");
	CHECK(finds_it_empty(3000, 2900, 1), "as much before the ACKs");
	CHECK(!finds_it_empty(3000, 1500, 1), "half and half");
}

static void a_queue_is_told_no_finer_than_the_peers_clock(void)
{
	CHECK(finds_it_empty(3000, 2100, 1000), "850 us of 1000");
	CHECK(!finds_it_empty(3000, 2100, 1), "850 us, of a clock that tells them");
	CHECK(!finds_it_empty(3000, 1500, 1000), "1450 us");
	CHECK(!finds_it_empty(900, 0, 1000), "850 us, where no ACK has waited");
	CHECK(!finds_it_empty(1800, 900, 1000), "850 us, where one waited a little");
}

static bool fills_the_link(u32 rtt, u32 wait, u32 tick, u32 cwnd)
{
	return finds_the_queue(rtt, wait, tick, cwnd).seen == MLCC_SEEN_FULL;
}

/* Behind ACKs that wait, or a pause of the application, a queue is seen too late or not at all. */
static void a_window_that_fills_the_link_does_not_double(void)
{
	/* 3 ms of 1 Gb/s are 259 segments, and the slack 12 */
	CHECK(!fills_the_link(3000, 2940, 1, 250), "250 segments");
	CHECK(fills_the_link(3000, 2940, 1, 280), "280 segments");
	CHECK(fills_the_link(3000, 2940, 1000, 280), "a coarse clock");
	CHECK(!fills_the_link(60, 0, 1, 15), "15 segments and hardly a queue");
	CHECK(fills_the_link(60, 0, 1, 20), "20 segments and hardly a queue");
}

/* A job in the middle of things: phases of 10 MB that take 80 ms, two flows that take turns. */
static struct mlcc_job job_at_work(struct mlcc_flow *a, struct mlcc_flow *b)
{
	struct mlcc_job j = { .seq = 7, .start_us = 1000000, .acked = 5000000,
			      .start_acked = 5000000, .d_phase = 10000000,
			      .d_limit = 12500000, .d_learnt = 10000000,
			      .hits = MLCC_AGREE, .share = MLCC_ONE / 2 };

	j.recip = mlcc_recip(j.d_phase);
	mlcc_flow_init(a, 1000);
	mlcc_flow_init(b, 2000);
	return j;
}

/* The answers that a receiver sends are bytes of the job, but no flow that its window is for. */
static void a_few_bytes_make_no_flow(void)
{
	struct mlcc_flow data, answers;
	struct mlcc_job j = job_at_work(&data, &answers);

	mlcc_flow_acked(&answers, &j, 2000 + 1, 1050000);
	mlcc_flow_acked(&data, &j, 1000 + 9000000, 1060000);
	CHECK(j.flows == 1, "%u flows", j.flows);
	mlcc_phase_rollover(&j, 1100000);
	CHECK(j.share == MLCC_ONE, "share %u", j.share);
}

/* A phase of @n flows, flow i from address @from[i] to @to[i].  Returns the next one's progress. */
static u32 progress_after(u32 n, const u32 *from, const u32 *to)
{
	struct mlcc_flow data, answers;
	struct mlcc_job j = job_at_work(&data, &answers);

	for (u32 i = 0; i < n; i++)
		mlcc_job_peer(&j, from[i], to[i]);
	mlcc_flow_acked(&data, &j, 1000 + 9000000, 1060000);
	mlcc_phase_rollover(&j, 1100000);
	mlcc_flow_acked(&data, &j, 1000 + 9000000 + 5000000, 1110000);
	return data.p;
}

static void who_sends_to_many_is_neutral(void)
{
	static const u32 one[] = { 1, 1, 1, 1, 1, 1 }, cards[] = { 1, 2, 3, 4, 5, 6 };
	static const u32 two[] = { 7, 8, 7, 8, 7, 8 }, many[] = { 7, 8, 7, 8, 9, 7 };
	u32 p = progress_after(6, one, two);

	CHECK(p != MLCC_NEUTRAL && p > 0, "two peers: %u", p);
	p = progress_after(6, one, many);
	CHECK(p == MLCC_NEUTRAL, "three: %u", p);
	p = progress_after(6, cards, cards);
	CHECK(p != MLCC_NEUTRAL && p > 0, "a ring over six network cards: %u", p);
}

/* Only what comes next: a job that has gone over to a ring is a ring. */
static void who_no_longer_does_is_not(void)
{
	struct mlcc_flow data, answers;
	struct mlcc_job j = job_at_work(&data, &answers);
	u64 acked = 1000;

	for (u32 peer = 7; peer < 10; peer++)
		mlcc_job_peer(&j, 1, peer);
	for (u32 i = 1; i <= 3; i++) {
		mlcc_flow_acked(&data, &j, acked += 9000000, 1000000 + i * 100000 + 60000);
		mlcc_phase_rollover(&j, 1100000 + i * 100000);
		CHECK(!j.d_phase == (i == 1), "phase %u: %llu bytes", i,
		      (unsigned long long)j.d_phase);
	}
}

/* R_AI (1 + D_sent / D_phase) with the job's bytes, for a flow that sends much and one that does not. */
static void several_flows_go_by_the_papers_rule(void)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	const struct mlcc_profile *pr = &profiles[MLCC_PROFILE_HOTNETS22];
	struct mlcc_flow flows[2];
	struct mlcc_job j = job_at_work(&flows[0], &flows[1]);
	u64 d = j.d_phase;

	for (u32 i = 1; i < 100; i++) {
		struct mlcc_flow *f = &flows[i % 4 == 0];
		u32 want = MLCC_ONE + ((i * d / 100) << MLCC_SHIFT) / d, grow;

		mlcc_flow_acked(f, &j, f->acked + d / 100, 1000000 + i);
		grow = mlcc_flow_grow(f, &j, pr, false, 10);
		CHECK(mlcc_absdiff(grow, want) <= 1, "%u %%: %u, not %u", i, grow, want);
	}
}

/* Without marks the rule is held to the paper's 2, or to what is little for a large window. */
static void a_small_window_grows_by_twice_the_base_at_most(void)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	const struct mlcc_profile *pr = &profiles[MLCC_PROFILE_INTERLEAVE];
	static const struct { u32 cwnd, seen, rtt, want; bool marked; } cases[] = {
		{ 2, MLCC_SEEN_DEEP, 4000, 2, false }, { 32, MLCC_SEEN_DEEP, 4000, 2, false },
		{ 64, MLCC_SEEN_DEEP, 4000, 4, false }, { 144, MLCC_SEEN_DEEP, 4000, 9, false },
		{ 100000, MLCC_SEEN_DEEP, 4000, 9, false }, { 144, MLCC_SEEN_FULL, 100, 9, false },
		{ 100000, MLCC_SEEN_SHORT, 10000, 2, false },
		{ 100000, MLCC_SEEN_FULL, 10000, 2, false }, { 2, MLCC_SEEN_SHORT, 10000, 9, true },
	};
	struct mlcc_flow f, other;
	struct mlcc_job j = job_at_work(&f, &other);

	f.p = MLCC_ONE;
	j.share = MLCC_ONE;
	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		u32 grow;

		f.seen = cases[i].seen;
		f.rtt = cases[i].rtt;
		grow = mlcc_flow_grow(&f, &j, pr, cases[i].marked, cases[i].cwnd);
		CHECK(grow == cases[i].want * MLCC_ONE, "%u: %u", cases[i].cwnd, grow);
	}
}

/* The window moves eight times a round trip, by all that was acknowledged meanwhile. */
static void nothing_acknowledged_between_looks_is_lost(void)
{
	u32 looks = 0, spent = 0, acked;
	struct mlcc_flow f = { .rtt = 800 };

	for (u32 now = 1000; now < 1800; now += 8) {
		acked = 1;
		looks += mlcc_flow_due(&f, now);
		spent += mlcc_flow_spends(&f, now, &acked) ? acked : 0;
	}
	CHECK(looks == 8, "%u looks", looks);
	CHECK(spent + f.unspent == 100, "%u spent, %u not", spent, f.unspent);

	acked = 300;
	CHECK(mlcc_flow_spends(&f, 1799, &acked), "more than fits waits");
	CHECK(acked == 300 + 100 - spent && !f.unspent, "%u, %u not", acked, f.unspent);
}

static void dctcp_forgets_without_marks(void)
{
	struct mlcc_dctcp d = { .alpha = MLCC_ONE };
	u32 windows = 0;

	while (d.alpha && windows < 1000) {
		u32 before = d.alpha;

		mlcc_dctcp_window(&d, d.delivered + 10, d.delivered_ce);
		CHECK(d.alpha < before, "window %u: %u after %u", windows, d.alpha, before);
		windows++;
	}
	/* (15/16)^n below 2^-16 needs 172 of them */
	CHECK(d.alpha == 0 && windows > 50 && windows < 300, "%u windows, alpha %u", windows,
	      d.alpha);
}

static void dctcp_follows_the_marks(void)
{
	static const u32 marked[] = { 1, 10, 25, 50, 75, 100 };

	for (u32 i = 0; i < sizeof(marked) / sizeof(*marked); i++) {
		u32 share = (u64)marked[i] * MLCC_ONE / 100;
		struct mlcc_dctcp d = { .alpha = i & 1 ? 0 : MLCC_ONE };

		for (u32 n = 0; n < 300; n++)
			mlcc_dctcp_window(&d, d.delivered + 100, d.delivered_ce + marked[i]);
		/* what is rounded away of alpha / 16 and of F / 16 comes back sixteenfold */
		CHECK(d.alpha + 32 >= share && d.alpha <= share + 32, "%u %%: %u, not %u",
		      marked[i], d.alpha, share);
	}
}

static void dctcp_stays_within_one(void)
{
	struct mlcc_dctcp d = { .alpha = MLCC_ONE };
	u64 seed = 7;

	for (u32 i = 0; i < CASES; i++) {
		mlcc_dctcp_window(&d, random_magnitude(&seed), random_magnitude(&seed));
		CHECK(d.alpha <= MLCC_ONE, "alpha %u", d.alpha);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(increase_never_exceeds_what_was_acked),
		TAP_TEST(increase_is_capped_when_the_window_shrinks),
		TAP_TEST(long_run_growth_is_grow_times_acked_over_cwnd),
		TAP_TEST(decrease_keeps_its_bounds),
		TAP_TEST(decrease_by_hand),
		TAP_TEST(less_yield_keeps_more),
		TAP_TEST(a_decrease_that_ends_slow_start_is_the_bases),
		TAP_TEST(a_reduction_is_not_undone),
		TAP_TEST(what_was_lost_ends_the_doubling),
		TAP_TEST(an_overflow_shows_what_the_link_carries),
		TAP_TEST(a_phase_after_a_loss_is_careful),
		TAP_TEST(an_empty_queue_goes_by_the_link),
		TAP_TEST(the_queue_that_counts_is_that_of_the_data),
		TAP_TEST(a_queue_is_told_no_finer_than_the_peers_clock),
		TAP_TEST(a_window_that_fills_the_link_does_not_double),
		TAP_TEST(a_few_bytes_make_no_flow),
		TAP_TEST(who_sends_to_many_is_neutral),
		TAP_TEST(who_no_longer_does_is_not),
		TAP_TEST(several_flows_go_by_the_papers_rule),
		TAP_TEST(a_small_window_grows_by_twice_the_base_at_most),
		TAP_TEST(nothing_acknowledged_between_looks_is_lost),
		TAP_TEST(dctcp_forgets_without_marks),
		TAP_TEST(dctcp_follows_the_marks),
		TAP_TEST(dctcp_stays_within_one),
	};

	return TAP_RUN(tests);
}
