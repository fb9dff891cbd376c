// SPDX-License-Identifier: GPL-2.0
/* A flow: its window under the rule, and what it tells its job. */
#include "../../include/mlcc/dctcp.h"
#include "../../include/mlcc/flow.h"
#include "../../include/mlcc/profiles.h"
#include "random.h"
#include "tap.h"

#define CASES	1000000

TEST(increase_never_exceeds_what_was_acked)
{
	u64 seed = 1;

	for (u32 i = 0; i < CASES; i++) {
		u32 cwnd = 1 + random_below(&seed, 1 << random_below(&seed, 25));
		u32 acked = 1 + random_below(&seed, 1 << random_below(&seed, 17));
		u32 grow = random_below(&seed, MLCC_GROW_MAX + 1);
		struct mlcc_flow f = { .credit = random_below(&seed, (u64)cwnd << MLCC_SHIFT) };
		u32 add = mlcc_increase(&f, cwnd, acked, grow);

		CHECK(add <= acked, "cwnd %u, acked %u, grow %u: %u", cwnd, acked, grow, add);
		CHECK(f.credit < (u64)cwnd << MLCC_SHIFT, "cwnd %u: credit %ju", cwnd, f.credit);
	}
}

TEST(long_run_growth_is_grow_times_acked_over_cwnd)
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
		CHECK(added <= exact && added >= exact * 0.99, "cwnd %u, grow %u: %ju, exactly %f",
		      cwnd, grow, added, exact);
	}
}

TEST(decrease_keeps_its_bounds)
{
	u64 seed = 3;

	for (u32 i = 0; i < CASES; i++) {
		u32 cwnd = random_below(&seed, 1ULL << (1 + random_below(&seed, 32)));
		u32 beta = random_below(&seed, MLCC_ONE / 2 + 1);
		u32 yield = MLCC_ONE - random_below(&seed, MLCC_HOLD_MAX + 1);
		u32 left = mlcc_decrease(cwnd, beta, yield);
		double exact = cwnd * (1 - (double)beta / MLCC_ONE * yield / MLCC_ONE);

		CHECK(left >= MLCC_LEFT_MIN, "cwnd %u, beta %u, yield %u: %u", cwnd, beta, yield,
		      left);
		CHECK(left <= cwnd || left == MLCC_LEFT_MIN, "cwnd %u, beta %u, yield %u: %u",
		      cwnd, beta, yield, left);
		if (left == MLCC_LEFT_MIN)
			continue;
		/* beta * yield is rounded down to Q16, and so is the decrease */
		CHECK(left >= exact && left <= exact + (double)cwnd / MLCC_ONE + 1,
		      "cwnd %u, beta %u, yield %u: %u, exactly %f", cwnd, beta, yield, left,
		      exact);
	}
}

/* The overshoot of slow start is not what the rule softens. */
TEST(a_decrease_that_ends_slow_start_is_the_bases)
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
TEST(a_reduction_is_not_undone)
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
		CHECK(w.ssthresh >= MLCC_LEFT_MIN, "ssthresh %u", w.ssthresh);
		CHECK(was.open || (w.cwnd <= was.cwnd && (w.ssthresh <= was.ssthresh ||
							  w.ssthresh == MLCC_LEFT_MIN)),
		      "from %u, %u to %u, %u", was.cwnd, was.ssthresh, w.cwnd, w.ssthresh);
		CHECK(w.cwnd <= asked.cwnd, "cwnd %u, %u asked for", w.cwnd, asked.cwnd);
		CHECK(!was.open || w.cwnd == asked.cwnd, "open: cwnd %u, not %u", w.cwnd,
		      asked.cwnd);
	}
}

/* A flow of a job that has the link over @path, at the round trip that @a has measured. */
static void measures(struct mlcc_path *path, struct mlcc_ack *a)
{
	const struct mlcc_profile pr = { .restart = MLCC_RESTART_QUEUE };
	struct mlcc_job j = { .seq = path->seq };
	struct mlcc_flow f = { .p = 0, .reverse = { .base = 1000 } };
	struct mlcc_win w = { .cwnd = 10, .ssthresh = 10, .open = true };

	path->state = MLCC_WINDOW_WAITS;
	path->patience_us = 1U << 30;
	mlcc_flow_rtt(&f, &j, path, &pr, a, &w);
}

/* us a byte at @gbps, as a path has it. */
static u32 cost_of(u32 gbps)
{
	return mlcc_rate_cost(8, 1000 * gbps);
}

/* The longest queue that a flow takes for none, us, at @gbps and a least RTT of @min_rtt us. */
static u32 longest_empty(u32 gbps, u32 min_rtt)
{
	u32 queue;

	for (queue = 0; queue < 100000; queue++) {
		struct mlcc_path path = { .min_rtt = min_rtt, .cost = cost_of(gbps) };
		struct mlcc_ack a = { .min_rtt = min_rtt, .rtt = min_rtt + queue + 1, .mss = 1448,
				      .peer = 1 };

		measures(&path, &a);
		if (path.state != MLCC_WINDOW_FREE)
			break;
	}
	return queue;
}

/* 100 us are 1.25 MB at 100 Gb/s: more than many switches have. */
TEST(an_empty_queue_goes_by_the_link)
{
	static const struct { u32 gbps, min_rtt; } cases[] = {
		{ 100, 20 }, { 1, 50 }, { 10, 500 }, { 10, 999 }, { 400, 3 },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		u32 burst = MLCC_START_BYTES * 8 / 1000 / cases[i].gbps;
		u32 want = (cases[i].min_rtt >> MLCC_JITTER_SHIFT) + burst;
		u32 us = longest_empty(cases[i].gbps, cases[i].min_rtt);

		CHECK(us >= want && us <= want + 2, "%u Gb/s, %u us: %u us, not %u", cases[i].gbps,
		      cases[i].min_rtt, us, want);
	}
}

/* A round trip of @rtt us, of which ACKs have waited for @wait, on a link of 1 Gb/s. */
static bool finds_it_empty(u32 rtt, u32 wait)
{
	struct mlcc_ack a = { .now = 1000 + wait + 1, .rtt = rtt, .min_rtt = 50, .tick = 1,
			      .mss = 1448, .peer = 1 };
	struct mlcc_path path = { .min_rtt = 50, .cost = cost_of(1) };

	measures(&path, &a);
	return path.state == MLCC_WINDOW_FREE;
}

TEST(the_queue_that_counts_is_that_of_the_data)
{
	CHECK(finds_it_empty(100, 0), "a short round trip");
	CHECK(!finds_it_empty(3000, 0), "3 ms before the data");
	CHECK(finds_it_empty(3000, 2900), "as much before the ACKs");
	CHECK(!finds_it_empty(3000, 1500), "half and half");
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
TEST(a_few_bytes_make_no_flow)
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

TEST(who_sends_to_many_is_neutral)
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
TEST(who_no_longer_does_is_not)
{
	struct mlcc_flow data, answers;
	struct mlcc_job j = job_at_work(&data, &answers);
	u64 acked = 1000;

	for (u32 peer = 7; peer < 10; peer++)
		mlcc_job_peer(&j, 1, peer);
	for (u32 i = 1; i <= 3; i++) {
		mlcc_flow_acked(&data, &j, acked += 9000000, 1000000 + i * 100000 + 60000);
		mlcc_phase_rollover(&j, 1100000 + i * 100000);
		CHECK(!j.d_phase == (i == 1), "phase %u: %ju bytes", i, j.d_phase);
	}
}

/* R_AI (1 + D_sent / D_phase) with the job's bytes, for a flow that sends much and one that does not. */
TEST(several_flows_go_by_the_papers_rule)
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
		grow = mlcc_flow_grow(f, pr);
		CHECK(mlcc_absdiff(grow, want) <= 1, "%u %%: %u, not %u", i, grow, want);
	}
}

/* A flow whose profile shares windows, and that has one of its own, is its base. */
TEST(who_might_share_a_window_has_the_bases_growth)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;

	for (u32 i = 0; i < MLCC_PROFILE_COUNT; i++) {
		struct mlcc_flow f = { .p = MLCC_ONE };
		u32 want = profiles[i].restart == MLCC_RESTART_QUEUE ? MLCC_ONE :
			   mlcc_grow(&profiles[i], MLCC_ONE);

		CHECK(mlcc_flow_grow(&f, &profiles[i]) == want, "profile %u", i);
		f.p = MLCC_NEUTRAL;
		CHECK(mlcc_flow_grow(&f, &profiles[i]) == MLCC_ONE, "profile %u, neutral", i);
	}
}

/* Whether a flow with these has a share of its job's window. */
static bool couples(u32 p, u32 min_rtt, u8 restart)
{
	const struct mlcc_path path = { .min_rtt = min_rtt };
	const struct mlcc_profile pr = { .restart = restart };
	const struct mlcc_flow f = { .p = p };

	return mlcc_flow_couples(&f, &path, &pr);
}

TEST(who_shares_a_window)
{
	const struct mlcc_profile pr = { .restart = MLCC_RESTART_QUEUE };
	const struct mlcc_flow f = { .p = 0 };

	CHECK(couples(0, 100, MLCC_RESTART_QUEUE), "in a rack");
	CHECK(couples(0, MLCC_PATH_LONG_US - 1, MLCC_RESTART_QUEUE), "nearly long");
	CHECK(!couples(0, MLCC_PATH_LONG_US, MLCC_RESTART_QUEUE), "over a long path");
	CHECK(!couples(MLCC_NEUTRAL, 100, MLCC_RESTART_QUEUE), "neutral");
	CHECK(!couples(0, 100, MLCC_RESTART_BASE), "the paper's");
	CHECK(!mlcc_flow_couples(&f, NULL, &pr), "without a place");
}

/* The ACK of a last segment may be delayed: nothing was in a queue for so long. */
TEST(it_looks_eight_times_a_round_trip)
{
	struct mlcc_flow f = { .rtt = 800 };
	u32 looks = 0;

	for (u32 now = 1000; now < 1800; now += 8)
		looks += mlcc_flow_due(&f, now);
	CHECK(looks == 1U << MLCC_LOOK_SHIFT, "%u looks", looks);
	f = (struct mlcc_flow) { .rtt = 40000 };
	CHECK(mlcc_flow_due(&f, 100000), "the first time");
	CHECK(!mlcc_flow_due(&f, 100000 + MLCC_LOOK_MAX_US - 1), "too early");
	CHECK(mlcc_flow_due(&f, 100000 + MLCC_LOOK_MAX_US), "not after %u us", MLCC_LOOK_MAX_US);
}

/* It tells once a round trip of its path, and at the end: the sums are right whenever it has. */
TEST(nothing_acknowledged_between_tells_is_lost)
{
	struct mlcc_path path = { .round = 7 };
	struct mlcc_flow f, other;
	struct mlcc_job j = job_at_work(&f, &other);
	u64 before = j.acked, acked = f.acked;
	u32 told = 0;

	for (u32 i = 1; i <= 1000; i++) {
		path.round += i % 10 == 0;
		acked += 1448;
		mlcc_flow_tell(&f, &j, &path, acked, 1000000 + i, false);
		told += f.acked == acked;
	}
	CHECK(told == 101, "%u times", told);
	acked += 1448;
	mlcc_flow_tell(&f, &j, &path, acked, 1001001, true);
	CHECK(j.acked - before == 1001 * 1448 && path.acked == 1001 * 1448, "job %ju, path %ju",
	      j.acked - before, path.acked);
}

/* The window of a flow that had 40 segments, when nothing is in flight any more. */
static u32 rests(u32 flows, u32 mss, bool coupled, bool open)
{
	const struct mlcc_path path = { .flows_most = flows };
	struct mlcc_flow f = { .coupled = coupled };
	struct mlcc_win w = { .cwnd = 40, .ssthresh = 40, .open = open };

	mlcc_flow_rest(&f, &path, mss, &w);
	CHECK(w.ssthresh == 40, "ssthresh %u", w.ssthresh);
	return w.cwnd;
}

/* The kernel's first burst, before it tells of the start, is what a phase starts with. */
TEST(at_rest_it_has_what_a_phase_starts_with)
{
	CHECK(rests(1, 1448, true, true) == 10, "alone: %u", rests(1, 1448, true, true));
	CHECK(rests(3, 1448, true, true) == 3, "one of three");
	CHECK(rests(0, 1448, true, true) == 10, "nobody counted yet");
	CHECK(rests(32, 1448, true, true) == MLCC_LEFT_MIN, "one of 32");
	CHECK(rests(1, 65000, true, true) == MLCC_LEFT_MIN, "large segments");
	CHECK(rests(8, 1448, false, true) == 40, "a window of its own");
	CHECK(rests(8, 1448, true, false) == 40, "in a recovery");
}

/* ... and in the middle of one it has its share again at once. */
TEST(within_a_phase_it_has_its_share_back)
{
	const struct mlcc_profile pr = { .restart = MLCC_RESTART_QUEUE };
	struct mlcc_path path = { .state = MLCC_WINDOW_FREE, .window = 80 * 1448, .flows_most = 2,
				  .flows = 1, .seq = 7, .min_rtt = 50 };
	struct mlcc_win w = { .cwnd = 40, .ssthresh = 40, .open = true };
	struct mlcc_flow f, other;
	struct mlcc_job j = job_at_work(&f, &other);

	f.coupled = 1;
	f.seq = j.seq;
	f.p = MLCC_ONE / 2;
	mlcc_flow_rest(&f, &path, 1448, &w);
	CHECK(w.cwnd == 5, "at rest: %u", w.cwnd);
	j.last_us = 1000000;
	mlcc_flow_tx_start(&f, &j, &path, &pr, 1000001, 50, 1448, &w);
	CHECK(w.cwnd == 40, "sends again: %u", w.cwnd);
}

/* (15/16)^n below 2^-16 needs 172 windows. */
TEST(dctcp_follows_the_marks)
{
	static const u32 marked[] = { 0, 1, 10, 25, 50, 75, 100 };

	for (u32 i = 0; i < sizeof(marked) / sizeof(*marked); i++) {
		u32 share = (u64)marked[i] * MLCC_ONE / 100, off = marked[i] ? 32 : 0;
		struct mlcc_dctcp d = { .alpha = i & 1 ? 0 : MLCC_ONE };

		for (u32 n = 0; n < 300; n++) {
			mlcc_dctcp_window(&d, d.delivered + 100, d.delivered_ce + marked[i]);
			CHECK(d.alpha || marked[i] || n > 50, "forgotten after %u windows", n);
		}
		/* what is rounded away of alpha / 16 and of F / 16 comes back sixteenfold */
		CHECK(d.alpha + off >= share && d.alpha <= share + off, "%u %%: %u, not %u",
		      marked[i], d.alpha, share);
	}
}

TEST(dctcp_stays_within_one)
{
	struct mlcc_dctcp d = { .alpha = MLCC_ONE };
	u64 seed = 7;

	for (u32 i = 0; i < CASES; i++) {
		mlcc_dctcp_window(&d, random_magnitude(&seed), random_magnitude(&seed));
		CHECK(d.alpha <= MLCC_ONE, "alpha %u", d.alpha);
	}
}

TAP_MAIN
