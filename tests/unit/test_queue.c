// SPDX-License-Identifier: GPL-2.0
/* Whom a job meets in its queue: how long it waits for them, and when it defers. */
#include "../../include/mlcc/flow.h"
#include "random.h"
#include "tap.h"

#define CASES	200000U
#define GAP_US	100000U
#define COMM_US	80000U
#define RTT_US	100U
#define QUEUE_US 5000U
#define D	10000000ULL	/* bytes of a phase */
#define LINK	125ULL		/* bytes a us: 1 Gb/s */

/*** Waiting ***/

enum wait { NONE, ENDS, VAIN };

static void phases(struct mlcc_queue *q, u32 count, enum wait wait)
{
	while (count--) {
		q->behind_us = wait == NONE ? 0 : QUEUE_US;
		q->emptied = wait == ENDS;
		q->timed_out = wait == VAIN;
		mlcc_queue_learn(q, COMM_US + GAP_US);
		mlcc_queue_rollover(q);
	}
}

static void alone_it_does_not_keep_its_window(void)
{
	struct mlcc_queue q = { };

	for (u32 i = 0; i < 1000; i++) {
		phases(&q, 1, NONE);
		CHECK(!mlcc_queue_keeps(&q), "phase %u", i);
	}
	CHECK(q.patience_us == 2 * (COMM_US + GAP_US), "patience %u", q.patience_us);
}

static void waits_that_end_keep_the_patience(void)
{
	struct mlcc_queue q = { };

	phases(&q, 200, ENDS);
	CHECK(!q.timeouts && q.patience_us == 2 * (COMM_US + GAP_US), "patience %u", q.patience_us);
}

/* An ordinary long flow: the queue is never empty. */
static void behind_a_long_flow_the_window_is_kept(void)
{
	struct mlcc_queue q = { };
	u32 last = ~0U;

	for (u32 i = 0; i < MLCC_TIMEOUTS_MAX; i++) {
		CHECK(!mlcc_queue_keeps(&q), "after %u timeouts", i);
		phases(&q, 1, VAIN);
		CHECK(q.patience_us < last / 3, "patience %u after %u", q.patience_us, last);
		last = q.patience_us;
	}
	phases(&q, 20, VAIN);
	CHECK(mlcc_queue_keeps(&q), "20 phases later");
	phases(&q, 1, ENDS);
	CHECK(mlcc_queue_keeps(&q), "the job's own window was in that queue");
	phases(&q, 1, NONE);
	CHECK(!mlcc_queue_keeps(&q), "it has gone");
}

/* @least: what it takes without a queue, us. */
static void round_trip_over(u32 least, struct mlcc_flow *f, struct mlcc_job *j, u32 rtt, u64 now,
			    struct mlcc_win *w)
{
	const struct mlcc_profile pr = { .restart = MLCC_RESTART_QUEUE };
	struct mlcc_ack a = { .now = now, .rtt = rtt, .srtt = rtt, .min_rtt = least, .mss = 1448,
			      .peer = 1 };
	struct mlcc_path path = { };

	mlcc_flow_rtt(f, j, &path, &pr, &a, w);
}

static void round_trip(struct mlcc_flow *f, struct mlcc_job *j, u32 rtt, u64 now,
		       struct mlcc_win *w)
{
	round_trip_over(RTT_US, f, j, rtt, now, w);
}

/* A flow that has waited for as long as its job has patience: slow start to what it had. */
static void a_flow_waits_no_longer_than_its_patience(void)
{
	struct mlcc_job j = { .start_us = 1000, .queue.patience_us = 500000 };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12, .open = true };

	round_trip(&f, &j, QUEUE_US, 500999, &w);
	CHECK(w.cwnd == 12 && !j.queue.timed_out, "cwnd %u", w.cwnd);
	round_trip(&f, &j, QUEUE_US, 501000, &w);
	CHECK(w.cwnd == 12 && w.ssthresh == 400 && j.queue.timed_out, "ssthresh %u", w.ssthresh);
	w.ssthresh = 300;
	round_trip(&f, &j, QUEUE_US, 600000, &w);
	CHECK(w.ssthresh == 300, "it took its window twice");
}

static void what_has_lost_segments_is_not_taken_back(void)
{
	struct mlcc_job j = { .start_us = 1000, .queue.patience_us = 500000 };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING, .lost = 1 };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12, .open = true };

	round_trip(&f, &j, QUEUE_US, 501000, &w);
	CHECK(w.ssthresh == 12 && f.wait == MLCC_WAIT_TIMED_OUT, "ssthresh %u", w.ssthresh);
}

/* Announced phases count from the first one on, when nothing is known of how long they take. */
static void who_does_not_know_its_iterations_does_not_wait(void)
{
	struct mlcc_job j = { .start_us = 1000 };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12, .open = true };

	round_trip(&f, &j, QUEUE_US, 1000 + QUEUE_US, &w);
	CHECK(w.ssthresh == 400 && j.queue.timed_out, "ssthresh %u: it waits for ever", w.ssthresh);
}

static void over_a_long_path_nobody_waits(void)
{
	struct mlcc_job j = { .start_us = 1000, .queue.patience_us = 500000 };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12, .open = true };

	round_trip_over(10000, &f, &j, 20000, 21000, &w);
	CHECK(f.wait == MLCC_WAIT_TIMED_OUT && w.ssthresh == 400, "ssthresh %u", w.ssthresh);
}

/* What looked like an empty queue there may have been a gap in somebody else's. */
static void over_a_long_path_who_saw_the_queue_empty_does_not_stay_small(void)
{
	struct mlcc_job j = { .start_us = 1000, .queue.patience_us = 500000 };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12, .open = true };

	round_trip_over(10000, &f, &j, 10000, 11000, &w);
	CHECK(f.wait == MLCC_WAIT_OVER && w.ssthresh == 12, "ssthresh %u", w.ssthresh);
	round_trip_over(10000, &f, &j, 20000, 31000, &w);
	CHECK(f.wait == MLCC_WAIT_TIMED_OUT && w.ssthresh == 400, "ssthresh %u", w.ssthresh);
}

static void a_flow_that_saw_the_queue_empty_does_not_give_up(void)
{
	struct mlcc_job j = { .queue.patience_us = 1000 };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 12, .ssthresh = 12, .open = true };

	round_trip(&f, &j, RTT_US, 900, &w);
	round_trip(&f, &j, QUEUE_US, 5000, &w);
	CHECK(w.cwnd == 12 && !j.queue.timed_out, "cwnd %u", w.cwnd);
	CHECK(j.queue.emptied, "nobody was told");
}

/* Its own window, small as it is, fills the path: the queue is not empty, but its own. */
static void a_queue_that_drains_was_that_of_others(void)
{
	struct mlcc_job j = { .start_us = 1000, .queue.patience_us = 500000 };
	struct mlcc_flow f = { .last_cwnd = 400, .wait = MLCC_WAITING };
	struct mlcc_win w = { .cwnd = 40, .ssthresh = 40, .open = true };

	round_trip(&f, &j, QUEUE_US / 2, 2000, &w);
	CHECK(j.queue.behind_us == QUEUE_US / 2 - RTT_US, "%u us behind", j.queue.behind_us);
	round_trip(&f, &j, QUEUE_US, 3000, &w);
	round_trip(&f, &j, QUEUE_US / 2, 4000, &w);
	CHECK(!j.queue.emptied && f.wait == MLCC_WAITING, "it came down by half only");
	round_trip(&f, &j, QUEUE_US / 9, 5000, &w);
	CHECK(j.queue.emptied && f.wait == MLCC_WAIT_OVER, "they have gone");
	round_trip(&f, &j, QUEUE_US, 600000, &w);
	CHECK(w.ssthresh == 40 && !j.queue.timed_out, "it waits again");
}

/* Several flows look at one queue. */
static void a_shorter_round_trip_forgets_no_longer_one(void)
{
	struct mlcc_job j = { .start_us = 1000, .queue.patience_us = 500000 };
	struct mlcc_flow first = { .wait = MLCC_WAITING }, second = first;
	struct mlcc_win w = { .cwnd = 40, .ssthresh = 40, .open = true };

	round_trip(&first, &j, QUEUE_US, 2000, &w);
	round_trip(&second, &j, QUEUE_US / 4, 2100, &w);
	CHECK(j.queue.behind_us == QUEUE_US - RTT_US, "%u us behind", j.queue.behind_us);
}

/*** Holding back ***/

/* A link, and a job on it. */
struct link {
	struct mlcc_queue q;
	u64 now;
	u64 acked;
	u64 end;	/* of the last hold */
};

/* Sends @bytes at 1/@share of the link, as an ACK for each 10,000; returns whether it defers. */
static bool sends(struct link *l, u64 bytes, u64 share)
{
	for (u64 sent = 0; sent < bytes; sent += 10000) {
		l->acked += 10000;
		l->now += 10000 * share / LINK;
		if (!mlcc_queue_sample(&l->q, l->now, l->acked, D, RTT_US))
			continue;
		mlcc_queue_defer(&l->q, l->now, l->acked, D);
		l->end = l->q.defer_until;
		return true;
	}
	return false;
}

static void turn(struct link *l)
{
	mlcc_queue_rollover(&l->q);
	l->now += GAP_US;
}

/* One that knows the link. */
static struct link known(void)
{
	struct link l = { .now = 1000000 };

	sends(&l, D, 1);
	turn(&l);
	return l;
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

static void who_was_there_first_goes_on(void)
{
	struct link l = known();

	for (u32 i = 0; i < 100; i++) {
		CHECK(!sends(&l, D / 2, 1), "phase %u, alone", i);
		CHECK(!sends(&l, D / 2, 3), "phase %u, joined by others", i);
		turn(&l);
	}
}

/* Where the queue shows who is there, the flow waits for them, and its rate says nothing. */
static void who_found_a_queue_does_not_hold_back(void)
{
	struct link l = known();

	l.q.behind_us = QUEUE_US;
	CHECK(!sends(&l, D, 3), "it defers");
}

static void served_in_turn_it_holds_back(void)
{
	struct link l = known();

	for (u64 part = 16; part >= 4; part /= 2) {
		u64 us, want = D / LINK / part;

		CHECK(sends(&l, D, 2), "1/%llu", (unsigned long long)part);
		us = l.end - l.now;
		CHECK(us >= want / 2 - want / 20 && us <= want * 8 / 5, "1/%llu: %llu us",
		      (unsigned long long)part, (unsigned long long)us);
		l.now = l.end;
	}
	CHECK(!sends(&l, D, 2) && l.q.timed_out, "for ever");
	turn(&l);
	CHECK(sends(&l, D, 2), "the next phase");
	l.now = l.end;
	CHECK(!sends(&l, D / 2, 1) && !sends(&l, D / 2, 2), "it has had the link");
}

/* The link is half as fast from now on: that others are there is not believed for ever. */
static void a_slower_link_is_believed_in_the_end(void)
{
	struct link l = known();
	u32 phases = 0;

	while (phases < 100 && sends(&l, D, 2)) {
		l.now = l.end;
		turn(&l);
		phases++;
	}
	CHECK(phases > 5 && phases < 40, "%u phases", phases);
}

/* A recovery ends: what arrived meanwhile is acknowledged at once. */
static void bytes_acknowledged_at_once_are_no_rate(void)
{
	struct link l = { .now = 1000000 };

	for (u32 i = 0; i < 100; i++) {
		u64 us;

		sends(&l, D / 2, 1);
		l.acked += D / 4;
		l.now += 1;
		sends(&l, D / 4, 1);
		us = mlcc_burst(D, l.q.byte_cost);
		CHECK(us > D / LINK * 9 / 10, "phase %u: %llu us", i, (unsigned long long)us);
		turn(&l);
	}
}

static void who_holds_back_takes_little(void)
{
	struct link l = known();
	u64 rate = mlcc_queue_pace(&l.q);

	CHECK(rate > LINK * 1000000 / 35 && rate < LINK * 1000000 / 30, "%llu bytes/s",
	      (unsigned long long)rate);
}

static void a_flow_goes_on_when_the_hold_ends(void)
{
	struct mlcc_job j = { .seq = 3, .d_phase = D, .start_us = 1000000,
			      .queue = { .defer_until = 1010000, .deferrals = 1, .patience_us = 300000 } };
	struct mlcc_flow f = { .seq = 3, .last_cwnd = 300, .rtt = RTT_US };
	struct mlcc_win w = { .cwnd = 300, .ssthresh = 300, .open = true };

	round_trip(&f, &j, QUEUE_US, 1005000, &w);
	CHECK(f.deferred && f.wait == MLCC_WAITING && w.cwnd == MLCC_CWND_MIN, "cwnd %u", w.cwnd);
	round_trip(&f, &j, RTT_US, 1005000, &w);
	CHECK(f.deferred && f.seen < MLCC_SEEN_EMPTY && !j.queue.emptied, "its own empty queue says nothing");
	round_trip(&f, &j, RTT_US, 1010000, &w);
	CHECK(!f.deferred && f.seen >= MLCC_SEEN_EMPTY && f.wait == MLCC_WAIT_OVER, "it tries again");
}

/* Whether a flow that found nobody there, and then gets a quarter of the link, defers. */
static bool defers_over(u32 least)
{
	struct link l = known();
	struct mlcc_job j = { .seq = 3, .d_phase = D, .start_us = l.now, .queue = l.q };
	struct mlcc_flow f = { .seq = 3, .last_cwnd = 300, .rtt = 2 * least };
	struct mlcc_win w = { .cwnd = 300, .ssthresh = 300, .open = true };

	for (u64 sent = 0; sent < D && !f.deferred; sent += 10000) {
		l.now += 10000 * 4 / LINK;
		j.acked += 10000;
		round_trip_over(least, &f, &j, 2 * least, l.now, &w);
	}
	return f.deferred;
}

static void over_a_long_path_nobody_defers(void)
{
	CHECK(defers_over(MLCC_PATH_LONG_US / 2), "nor over a short one");
	CHECK(!defers_over(MLCC_PATH_LONG_US), "a flow defers");
}

/* All holds of a phase together are less than the phase takes. */
static void nonsense_keeps_the_bounds(void)
{
	struct mlcc_queue q = { };
	u64 seed = 12;

	for (u32 i = 0; i < CASES; i++) {
		u64 now = random_magnitude(&seed) >> 1, acked = random_magnitude(&seed);
		u64 d = random_magnitude(&seed) >> 16, alone;

		if (mlcc_queue_sample(&q, now, acked, d, random_magnitude(&seed))) {
			alone = mlcc_burst(d, q.byte_cost);
			mlcc_queue_defer(&q, now, acked, d);
			CHECK(q.defer_until - now <= alone / 2, "%llu of %llu us",
			      (unsigned long long)(q.defer_until - now), (unsigned long long)alone);
		}
		if (!(i & 31))
			phases(&q, 1, random_below(&seed, 3));
		CHECK(q.deferrals <= MLCC_DEFERRALS && q.timeouts <= MLCC_TIMEOUTS_MAX && !q.busy,
		      "%u deferrals, %u timeouts", q.deferrals, q.timeouts);
		CHECK(!q.byte_cost || mlcc_queue_pace(&q), "pace %u", mlcc_queue_pace(&q));
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(alone_it_does_not_keep_its_window),
		TAP_TEST(waits_that_end_keep_the_patience),
		TAP_TEST(behind_a_long_flow_the_window_is_kept),
		TAP_TEST(a_flow_waits_no_longer_than_its_patience),
		TAP_TEST(what_has_lost_segments_is_not_taken_back),
		TAP_TEST(who_does_not_know_its_iterations_does_not_wait),
		TAP_TEST(over_a_long_path_nobody_waits),
		TAP_TEST(over_a_long_path_who_saw_the_queue_empty_does_not_stay_small),
		TAP_TEST(a_flow_that_saw_the_queue_empty_does_not_give_up),
		TAP_TEST(a_queue_that_drains_was_that_of_others),
		TAP_TEST(a_shorter_round_trip_forgets_no_longer_one),
		TAP_TEST(alone_it_never_holds_back),
		TAP_TEST(who_does_not_know_the_link_does_not_hold_back),
		TAP_TEST(who_was_there_first_goes_on),
		TAP_TEST(who_found_a_queue_does_not_hold_back),
		TAP_TEST(served_in_turn_it_holds_back),
		TAP_TEST(a_slower_link_is_believed_in_the_end),
		TAP_TEST(bytes_acknowledged_at_once_are_no_rate),
		TAP_TEST(who_holds_back_takes_little),
		TAP_TEST(a_flow_goes_on_when_the_hold_ends),
		TAP_TEST(over_a_long_path_nobody_defers),
		TAP_TEST(nonsense_keeps_the_bounds),
	};

	return TAP_RUN(tests);
}
