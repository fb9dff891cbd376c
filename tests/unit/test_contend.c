// SPDX-License-Identifier: GPL-2.0
/* What a job learns about the others on its link: when to push, when not to wait. */
#include "../../include/mlcc/flow.h"
#include "random.h"
#include "tap.h"

#define GAP_US	100000U
#define COMM_US	80000U
#define RTT_US	100U
#define QUEUE_US 5000U

/* One phase: @wait us behind a queue (0: none) before it is empty, ~0: it never is. */
static bool phase(struct mlcc_contend *c, u32 wait, u32 comm_us)
{
	bool pushed = wait && mlcc_contend_behind(c);

	if (wait != ~0U && !pushed)
		mlcc_contend_emptied(c, wait);
	mlcc_contend_learn(c, comm_us, GAP_US, true);
	return pushed;
}

static void phases(struct mlcc_contend *c, u32 count, u32 wait, u32 comm_us)
{
	while (count--)
		phase(c, wait, comm_us);
}

static void alone_it_neither_pushes_nor_keeps(void)
{
	struct mlcc_contend c = { };

	for (u32 i = 0; i < 1000; i++) {
		phase(&c, 0, COMM_US);
		CHECK(!c.push_for && !mlcc_contend_keeps(&c), "phase %u", i);
	}
	CHECK(c.best_us == COMM_US, "best %u", c.best_us);
	CHECK(c.patience_us == 2 * (COMM_US + GAP_US), "patience %u", c.patience_us);
}

static void a_few_waits_are_no_pattern(void)
{
	struct mlcc_contend c = { };

	for (u32 i = 0; i < 100; i++) {
		phases(&c, MLCC_WAITS - 1, 40000, COMM_US + 40000);
		phase(&c, 0, COMM_US);
		CHECK(!c.push_for, "round %u", i);
	}
}

/* Locked behind a job with a longer period: after a push some phases run free. */
static void a_push_that_pays_is_repeated(void)
{
	struct mlcc_contend c = { };
	u32 pushes = 0;

	phase(&c, 0, COMM_US);
	phases(&c, MLCC_WAITS, 40000, COMM_US + 40000);
	for (u32 i = 0; i < 20; i++) {
		pushes += phase(&c, 40000, COMM_US);
		phases(&c, MLCC_PUSH_EVERY - 1, 0, COMM_US);
		CHECK(!phase(&c, 40000, COMM_US + 40000), "round %u: at once", i);
	}
	CHECK(pushes == 20 && !c.barred, "%u pushes, barred %u", pushes, c.barred);
}

/* Jobs that fit have slid apart: the end of somebody's phase is no reason to push. */
static void a_short_queue_is_no_reason_to_push(void)
{
	struct mlcc_contend c = { };

	phase(&c, 0, COMM_US);
	phases(&c, MLCC_WAITS, 40000, COMM_US + 40000);
	CHECK(c.push_for, "no pattern");
	CHECK(phase(&c, 40000, COMM_US), "no push");
	for (u32 i = 0; i < MLCC_PUSH_FOR; i++)
		CHECK(!phase(&c, 2000, COMM_US + 2000), "phase %u", i);
}

/* Jobs that do not fit: the phase after a push is free, the one after that waits as before. */
static void a_push_that_costs_more_than_it_saves_is_barred(void)
{
	struct mlcc_contend c = { };
	u32 pushes = 0, i;

	phase(&c, 0, COMM_US);
	for (i = 0; i < 60; i++) {
		bool after = c.since_push == 1;

		pushes += phase(&c, after ? 0 : 30000, COMM_US + (after ? 0 : 30000));
	}
	CHECK(pushes == 1, "%u pushes in %u phases", pushes, i);
	CHECK(c.barred && c.barred <= MLCC_PUSH_BARRED, "barred %u", c.barred);
}

static void the_bar_grows_and_has_an_end(void)
{
	struct mlcc_contend c = { };
	u32 last = 0;

	for (u32 i = 0; i < 20; i++) {
		mlcc_contend_bar(&c);
		CHECK(c.barred >= last && c.barred <= MLCC_PUSH_BARRED_MAX, "bar %u", c.barred);
		last = c.barred;
	}
	CHECK(last == MLCC_PUSH_BARRED_MAX, "bar %u", last);
}

/* An ordinary long flow: the queue is never empty, and keeping the window saves half. */
static void behind_a_long_flow_the_window_is_kept(void)
{
	struct mlcc_contend c = { };

	phases(&c, 3, ~0U, 4 * COMM_US);
	CHECK(mlcc_contend_keeps(&c), "hurry %u", c.hurry);
	phases(&c, 20, ~0U, COMM_US);
	CHECK(mlcc_contend_keeps(&c), "hurry %u", c.hurry);
	phase(&c, 0, COMM_US);
	CHECK(!mlcc_contend_keeps(&c), "it has gone: hurry %u", c.hurry);
}

static void keeping_that_saves_nothing_is_given_up(void)
{
	struct mlcc_contend c = { };

	phases(&c, 3, ~0U, 2 * COMM_US);
	CHECK(mlcc_contend_keeps(&c), "hurry %u", c.hurry);
	phases(&c, MLCC_KEEP_TRY, ~0U, 2 * COMM_US);
	CHECK(!mlcc_contend_keeps(&c), "hurry %u", c.hurry);
	for (u32 i = 0; i < MLCC_RETRY - 1; i++) {
		phase(&c, ~0U, 2 * COMM_US);
		CHECK(!mlcc_contend_keeps(&c), "phase %u", i);
	}
}

static void waits_that_end_keep_the_patience(void)
{
	struct mlcc_contend c = { };

	for (u32 i = 0; i < 200; i++) {
		phase(&c, 50000, COMM_US + 50000);
		CHECK(!c.hurry, "phase %u: hurry %u", i, c.hurry);
	}
}

static void a_pattern_that_is_lost_is_forgotten(void)
{
	struct mlcc_contend none = { }, c = { };

	phases(&c, 20, 40000, COMM_US);
	mlcc_contend_learn(&c, COMM_US, GAP_US, false);
	CHECK(!__builtin_memcmp(&c, &none, sizeof(c)), "something is left");
}

static void round_trip(struct mlcc_flow *f, struct mlcc_job *j, u32 rtt, u64 now,
		       struct mlcc_win *w)
{
	const struct mlcc_profile pr = { .restart = MLCC_RESTART_DRAIN };
	struct mlcc_ack a = { .now = now, .rtt = rtt, .min_rtt = RTT_US, .mss = 1448, .peer = 1 };
	struct mlcc_path path = { };

	mlcc_flow_rtt(f, j, &path, &pr, &a, w);
}

/* A flow that has waited for as long as its job has patience: slow start to what it had. */
static void a_flow_waits_no_longer_than_its_patience(void)
{
	struct mlcc_job j = { .start_us = 1000,
			      .contend = { .best_us = COMM_US, .patience_us = 500000 } };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12 };

	round_trip(&f, &j, QUEUE_US, 500999, &w);
	CHECK(w.cwnd == 12 && !j.contend.gave_up, "cwnd %u", w.cwnd);
	round_trip(&f, &j, QUEUE_US, 501000, &w);
	CHECK(w.cwnd == 12 && w.ssthresh == 400 && j.contend.gave_up, "ssthresh %u", w.ssthresh);
	w.ssthresh = 300;
	round_trip(&f, &j, QUEUE_US, 600000, &w);
	CHECK(w.ssthresh == 300, "it took its window twice");
}

static void what_has_lost_segments_is_not_taken_back(void)
{
	struct mlcc_job j = { .start_us = 1000,
			      .contend = { .best_us = COMM_US, .patience_us = 500000 } };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING, .cuts = 1 };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12 };

	round_trip(&f, &j, QUEUE_US, 501000, &w);
	CHECK(w.ssthresh == 12 && f.wait == MLCC_WAIT_VAIN, "ssthresh %u", w.ssthresh);
}

/* Announced phases count from the first one on, when nothing is known of how long they take. */
static void who_does_not_know_its_iterations_waits_too(void)
{
	struct mlcc_job j = { .start_us = 1000 };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12 };

	round_trip(&f, &j, QUEUE_US, 100000, &w);
	CHECK(w.cwnd == 12 && !j.contend.gave_up, "cwnd %u", w.cwnd);
	round_trip(&f, &j, QUEUE_US, 1000 + MLCC_PATIENCE_FIRST_US, &w);
	CHECK(w.ssthresh == 400 && j.contend.gave_up, "ssthresh %u: it waits for ever", w.ssthresh);
}

static void a_flow_that_saw_the_queue_empty_does_not_give_up(void)
{
	struct mlcc_job j = { .contend = { .best_us = COMM_US, .patience_us = 1000 } };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12 };

	round_trip(&f, &j, RTT_US, 900, &w);
	round_trip(&f, &j, QUEUE_US, 5000, &w);
	CHECK(w.cwnd == 12 && !j.contend.gave_up, "cwnd %u", w.cwnd);
	CHECK(j.contend.emptied_us, "nobody was told");
}

static void nonsense_keeps_the_bounds(void)
{
	struct mlcc_contend c = { };
	u64 seed = 11;

	for (u32 i = 0; i < 1000000; i++) {
		if (random_below(&seed, 2))
			mlcc_contend_behind(&c);
		if (random_below(&seed, 2))
			mlcc_contend_emptied(&c, random_magnitude(&seed));
		c.gave_up = !random_below(&seed, 4);
		mlcc_contend_learn(&c, random_magnitude(&seed) & 0x7fffffff,
				   random_magnitude(&seed) & 0x7fffffff,
				   random_below(&seed, 1000) > 0);
		CHECK(c.hurry <= MLCC_KEEPS && c.barred <= MLCC_PUSH_BARRED_MAX &&
		      c.push_for <= MLCC_PUSH_FOR && c.retry <= MLCC_RETRY_MAX &&
		      c.saved_us <= MLCC_SAVED_MAX_US && c.content <= MLCC_RETRY,
		      "phase %u: hurry %u, barred %u, push_for %u, retry %u, saved %u", i,
		      c.hurry, c.barred, c.push_for, c.retry, c.saved_us);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(alone_it_neither_pushes_nor_keeps),
		TAP_TEST(a_few_waits_are_no_pattern),
		TAP_TEST(a_push_that_pays_is_repeated),
		TAP_TEST(a_short_queue_is_no_reason_to_push),
		TAP_TEST(a_push_that_costs_more_than_it_saves_is_barred),
		TAP_TEST(the_bar_grows_and_has_an_end),
		TAP_TEST(behind_a_long_flow_the_window_is_kept),
		TAP_TEST(keeping_that_saves_nothing_is_given_up),
		TAP_TEST(waits_that_end_keep_the_patience),
		TAP_TEST(a_pattern_that_is_lost_is_forgotten),
		TAP_TEST(a_flow_waits_no_longer_than_its_patience),
		TAP_TEST(what_has_lost_segments_is_not_taken_back),
		TAP_TEST(who_does_not_know_its_iterations_waits_too),
		TAP_TEST(a_flow_that_saw_the_queue_empty_does_not_give_up),
		TAP_TEST(nonsense_keeps_the_bounds),
	};

	return TAP_RUN(tests);
}
