// SPDX-License-Identifier: GPL-2.0
/* The window of a job over a path: how a phase starts, what it waits for, and what it learns. */
#include "../../include/mlcc/window.h"
#include "../../include/mlcc/profiles.h"
#include "random.h"
#include "tap.h"

#define MSS		1448U
#define RTT_US		20U
#define QUEUE_US	5000U
#define COMM_US		8000U
#define GAP_US		20000U
#define LINK		1250U		/* bytes a us: 10 Gb/s */
#define D		10000000U	/* bytes of a phase */
#define GROW		(9 * MLCC_ONE)	/* at p = 1 */

/* A job whose phases are known, and its path. */
struct world {
	struct mlcc_job j;
	struct mlcc_path p;
	u64 now;
	u32 grow;
	bool ecn;
};

/* @rate: that the job knows, bytes a us, or 0. */
static struct world world(u32 rate)
{
	struct world w = {
		.j = { .best_us = COMM_US, .gap_us = GAP_US },
		.p = { .min_rtt = RTT_US, .least = ~0U },
		.now = 1000000, .grow = MLCC_ONE,
	};

	if (rate)
		w.p.cost = mlcc_rate_cost(1000, 1000 * rate);
	return w;
}

static void begin(struct world *w)
{
	w->now += GAP_US;
	w->j.seq++;
	mlcc_window_enter(&w->p, &w->j, w->j.seq, w->now, true);
}

static struct world in_phase(u32 rate)
{
	struct world w = world(rate);

	begin(&w);
	return w;
}

static void look(struct world *w, u32 rtt)
{
	mlcc_window_look(&w->p, w->now, rtt, MSS, w->grow, w->ecn);
}

/* The window is acknowledged, after @rtt us. */
static void round_trip(struct world *w, u32 rtt)
{
	w->now += rtt;
	mlcc_window_acked(&w->p, w->now, w->p.window, true);
	look(w, rtt);
}

static void wait_in_vain(struct world *w)
{
	begin(w);
	while (w->p.state == MLCC_WINDOW_WAITS)
		round_trip(w, QUEUE_US);
}

/*** The start of a phase ***/

/* A share below two segments is paced, so that 64 flows send as little as one does, or nearly. */
TEST(a_phase_starts_with_ten_segments_for_the_job)
{
	for (u32 flows = 1; flows <= 64; flows++) {
		u32 bytes = MLCC_START_BYTES / flows, want = bytes / MSS, share, rate;
		struct world w = in_phase(LINK);

		for (u32 i = 0; i < flows; i++)
			mlcc_window_join(&w.p);
		share = mlcc_window_share(&w.p, MSS);
		CHECK(w.p.state == MLCC_WINDOW_WAITS, "%u flows: state %u", flows, w.p.state);
		CHECK(share == (want > MLCC_LEFT_MIN ? want : MLCC_LEFT_MIN), "%u flows: %u each", flows,
		      share);
		rate = mlcc_window_pace(&w.p, MSS, QUEUE_US);
		bytes = bytes > MSS / 2 ? bytes : MSS / 2;
		CHECK(!rate == (bytes >= 2 * MSS), "%u flows: %u bytes/s", flows, rate);
		CHECK(!rate || rate / 200 == bytes || rate / 200 + 1 == bytes,
		      "%u flows: %u bytes in 5 ms, share %u", flows, rate / 200, bytes);
		CHECK(!mlcc_window_pace(&w.p, MSS, 0), "%u flows: of no round trip", flows);
	}
}

TEST(one_short_round_trip_takes_the_link)
{
	for (u32 flows = 1; flows <= 64; flows *= 2) {
		struct world w = in_phase(LINK);
		u32 bdp = RTT_US * LINK, share;

		for (u32 i = 0; i < flows; i++)
			mlcc_window_join(&w.p);
		look(&w, RTT_US);
		CHECK(w.p.state == MLCC_WINDOW_FREE, "state %u", w.p.state);
		CHECK(w.p.window >= bdp && w.p.window <= bdp + RTT_US * LINK + 3 * MLCC_START_BYTES,
		      "window %u, the path holds %u", w.p.window, bdp);
		share = w.p.window / MSS / flows;
		share = share > MLCC_LEFT_MIN ? share : MLCC_LEFT_MIN;
		CHECK(mlcc_window_share(&w.p, MSS) == share, "%u flows: %u each", flows,
		      mlcc_window_share(&w.p, MSS));
	}
}

TEST(a_rate_has_32_bits)
{
	struct world w = in_phase(LINK);

	w.p.window = 0xffff;
	CHECK(mlcc_window_pace(&w.p, 0xffff, 1) == ~0U, "%u", mlcc_window_pace(&w.p, 0xffff, 1));
}

TEST(without_a_known_rate_it_doubles)
{
	struct world w = in_phase(0);
	u32 before;

	look(&w, RTT_US);
	CHECK(w.p.state == MLCC_WINDOW_FREE && w.p.window == MLCC_START_BYTES, "window %u", w.p.window);
	for (u32 i = 0; i < 4; i++) {
		before = w.p.window;
		round_trip(&w, RTT_US);
		CHECK(w.p.window == 2 * before, "%u -> %u", before, w.p.window);
	}
	before = w.p.window;
	w.now += RTT_US;
	look(&w, RTT_US);
	CHECK(w.p.window == before, "it was not its limit: %u -> %u", before, w.p.window);
}

/* What has been too much once ends what is taken at once, and the doubling. */
TEST(never_above_ssthresh_at_once)
{
	for (u32 rate = 0; rate <= LINK; rate += LINK) {
		u32 limit = MLCC_START_BYTES + 3 * MSS;
		struct world w = in_phase(rate);

		w.p.ssthresh = limit;
		look(&w, RTT_US);
		for (u32 i = 0; i < 4; i++) {
			CHECK(w.p.window <= limit + i * 2 * MSS, "rate %u: %u", rate, w.p.window);
			round_trip(&w, RTT_US);
		}
	}
}

/*** Waiting ***/

TEST(a_queue_of_others_keeps_it_waiting)
{
	struct world w = in_phase(LINK);
	u64 start = w.now;
	u32 before;

	mlcc_window_join(&w.p);
	w.grow = GROW;
	while (w.now + QUEUE_US < start + w.p.patience_us) {
		before = w.p.window;
		round_trip(&w, QUEUE_US);
		CHECK(w.p.state == MLCC_WINDOW_WAITS, "after %ju us: state %u", w.now - start,
		      w.p.state);
		CHECK(w.p.window - before == mlcc_window_adds(&w.p, MSS, GROW, false) ||
		      before == w.p.window, "%u -> %u", before, w.p.window);
	}
	CHECK(w.p.window > MLCC_START_BYTES + MSS, "it does not grow: %u", w.p.window);
	look(&w, RTT_US);
	CHECK(w.p.state == MLCC_WINDOW_FREE, "they have gone");
}

/* Also in a queue that is short, as those that mark are. */
TEST(marks_keep_it_waiting)
{
	for (u32 ecn = 0; ecn < 2; ecn++) {
		struct world w = in_phase(LINK);

		w.ecn = ecn;
		for (u32 i = 0; ecn && i < 20; i++) {
			mlcc_window_cut(&w.p, MLCC_ONE / 2, MSS, false);
			round_trip(&w, RTT_US + 5);
			CHECK(w.p.state == MLCC_WINDOW_WAITS, "round trip %u: state %u", i, w.p.state);
		}
		for (u32 i = 0; ecn && i < MLCC_MARKED_ROUNDS; i++) {
			round_trip(&w, RTT_US + 5);
			CHECK(w.p.state == MLCC_WINDOW_WAITS, "%u without: %u", i, w.p.state);
		}
		look(&w, RTT_US + 5);
		CHECK(w.p.state == MLCC_WINDOW_FREE, "ecn %u: state %u", ecn, w.p.state);
	}
}

TEST(it_waits_for_twice_its_iteration)
{
	struct world w = in_phase(LINK);

	CHECK(w.p.patience_us == 2 * (COMM_US + GAP_US), "%u us", w.p.patience_us);
	w.now += w.p.patience_us - 1;
	look(&w, QUEUE_US);
	CHECK(w.p.state == MLCC_WINDOW_WAITS, "too early");
	w.now += QUEUE_US;	/* its next round trip */
	look(&w, QUEUE_US);
	CHECK(w.p.state == MLCC_WINDOW_TIMED_OUT, "it still waits");
}

/* What the base has: no burst, but slow start to what it had, however much the path holds. */
TEST(after_a_vain_wait_it_takes_its_last_window)
{
	u32 last = 40 * RTT_US * LINK, before;
	struct world w = in_phase(LINK);

	look(&w, RTT_US);
	w.p.window = last;
	wait_in_vain(&w);
	for (u32 i = 0; i < 10; i++) {
		before = w.p.window;
		round_trip(&w, QUEUE_US);
		CHECK(w.p.window <= 2 * before, "%u -> %u: a burst", before, w.p.window);
	}
	CHECK(w.p.window >= last && w.p.window < last + 10 * 2 * MSS, "window %u, the last one %u",
	      w.p.window, last);
}

/* Nothing is known of how long its iterations take: it would wait for ever. */
TEST(who_does_not_know_its_iterations_does_not_wait)
{
	struct world w = world(LINK);

	w.j.best_us = 0;
	w.j.gap_us = 0;
	begin(&w);
	round_trip(&w, QUEUE_US);
	CHECK(w.p.state == MLCC_WINDOW_TIMED_OUT, "state %u", w.p.state);
}

/* An ordinary long flow, that goes away in the end: each vain wait quarters the patience. */
TEST(after_some_vain_waits_the_window_is_kept)
{
	struct world w = world(LINK);
	u32 before, last = ~0U;

	for (u32 i = 0; i < MLCC_TIMEOUTS_MAX; i++) {
		wait_in_vain(&w);
		CHECK(w.p.patience_us <= last / 4 + 1, "wait %u: %u us after %u", i, w.p.patience_us,
		      last);
		last = w.p.patience_us;
	}
	for (u32 i = 0; i < 20; i++) {
		for (u32 k = 0; k < 5; k++)
			round_trip(&w, QUEUE_US);
		before = w.p.window;
		begin(&w);
		CHECK(w.p.state == MLCC_WINDOW_TIMED_OUT && w.p.window == before, "phase %u: %u -> %u",
		      i, before, w.p.window);
	}
	round_trip(&w, RTT_US);
	CHECK(w.p.state == MLCC_WINDOW_FREE, "the link is free, and it does not take it");
	begin(&w);
	CHECK(w.p.state == MLCC_WINDOW_WAITS && !w.p.timeouts && w.p.window == MLCC_START_BYTES,
	      "state %u, window %u", w.p.state, w.p.window);
}

/*
 * Beside a flow that never ends a job knows its share of the link only.  What its window would take at
 * that rate is more than the other's queue, which is there all the same.
 */
TEST(an_own_window_explains_no_queue_of_others)
{
	struct world w = world(LINK / 2);
	u32 queue;	/* and at times up to eight times that */

	for (u32 i = 0; i < MLCC_TIMEOUTS_MAX; i++)
		for (begin(&w); w.p.state == MLCC_WINDOW_WAITS;)
			round_trip(&w, QUEUE_US / 4);
	for (u32 i = 0; i < 20; i++) {
		for (u32 k = 0; k < 50; k++)
			round_trip(&w, QUEUE_US);
		queue = w.p.window / LINK;
		begin(&w);
		CHECK(queue > 4 * RTT_US, "a queue of %u us is small", queue);
		round_trip(&w, RTT_US + queue);
		CHECK(w.p.state == MLCC_WINDOW_TIMED_OUT, "phase %u: state %u", i, w.p.state);
	}
}

/*** Growth and decrease ***/

TEST(all_flows_together_grow_little)
{
	for (u32 flows = 1; flows <= 256; flows *= 4) {
		struct world w = in_phase(LINK);

		for (u32 i = 0; i < flows; i++)
			mlcc_window_join(&w.p);
		w.grow = GROW;
		w.p.patience_us = 1U << 30;
		for (u32 i = 0; i < 200; i++) {
			u32 before = w.p.window, most = before >> MLCC_GROW_SHIFT;

			most = most > 2 * MSS ? most : 2 * MSS;
			round_trip(&w, QUEUE_US);
			CHECK(w.p.window - before <= most, "%u flows: %u -> %u", flows, before,
			      w.p.window);
		}
		CHECK(w.p.window > 100 * MSS, "%u flows: %u", flows, w.p.window);
	}
}

/* A hundred flows see the loss, or the mark, that one burst of the job's has met. */
TEST(a_loss_counts_once_a_round_trip)
{
	struct world w = in_phase(LINK);
	u32 before;

	look(&w, RTT_US);
	for (u32 i = 0; i < 3; i++) {
		round_trip(&w, 2 * RTT_US);
		before = w.p.window;
		for (u32 k = 0; k < 100; k++)
			mlcc_window_cut(&w.p, MLCC_ONE / 4, MSS, false);
		CHECK(w.p.window == before - before / 4, "%u -> %u", before, w.p.window);
		CHECK(w.p.ssthresh == w.p.window && w.p.lost, "ssthresh %u", w.p.ssthresh);
		round_trip(&w, 2 * RTT_US);
		CHECK(w.p.window == before - before / 4, "it grew in the round trip after: %u",
		      w.p.window);
	}
	for (u32 i = 0; i < 100; i++) {
		round_trip(&w, 2 * RTT_US);
		mlcc_window_cut(&w.p, MLCC_ONE, MSS, false);
	}
	CHECK(w.p.window == MLCC_LEFT_MIN * MSS, "at the least: %u", w.p.window);
}

/* A mark takes little, a loss half: with ECN the kernel asks for both when a recovery begins. */
TEST(the_most_of_a_round_trip_counts)
{
	struct world w = in_phase(LINK);
	u32 before;

	look(&w, RTT_US);
	before = w.p.window;
	mlcc_window_cut(&w.p, 0, MSS, false);
	mlcc_window_cut(&w.p, MLCC_ONE / 2, MSS, true);
	CHECK(w.p.window == before - before / 2, "a loss after a mark: %u -> %u", before, w.p.window);
	mlcc_window_undo(&w.p);
	CHECK(w.p.window == before, "it was none: %u -> %u", before, w.p.window);
	w.p.window = before / 2;
	mlcc_window_undo(&w.p);
	CHECK(w.p.window == before / 2, "twice: %u", w.p.window);
	w.p.window = before;
	w.p.round++;
	mlcc_window_cut(&w.p, MLCC_ONE / 4, MSS, false);
	mlcc_window_cut(&w.p, MLCC_ONE / 8, MSS, false);
	CHECK(w.p.window == before - before / 4, "the lesser one: %u -> %u", before, w.p.window);
	mlcc_window_undo(&w.p);
	CHECK(w.p.window == before - before / 4, "others have seen it, too: %u", w.p.window);
}

/* Packets overtook each other: it doubles as before, unless something else was lost. */
TEST(what_was_no_loss_ends_no_slow_start)
{
	struct world w = in_phase(0);
	u32 before;

	look(&w, RTT_US);
	mlcc_window_cut(&w.p, MLCC_ONE / 2, MSS, false);
	mlcc_window_undo(&w.p);
	CHECK(!w.p.lost, "%u losses", w.p.lost);
	for (u32 i = 0; i < 2; i++)
		round_trip(&w, RTT_US);
	before = w.p.window;
	round_trip(&w, RTT_US);
	CHECK(w.p.window == 2 * before, "%u -> %u", before, w.p.window);
	mlcc_window_cut(&w.p, MLCC_ONE / 2, MSS, false);
	w.p.round++;
	mlcc_window_cut(&w.p, MLCC_ONE / 2, MSS, false);
	mlcc_window_undo(&w.p);
	CHECK(w.p.lost == 1 && w.p.window == before && w.p.ssthresh == before,
	      "%u losses, window %u, ssthresh %u", w.p.lost, w.p.window, w.p.ssthresh);
}

/* A flow of the phase before may find that out late. */
TEST(what_was_no_loss_of_the_last_phase_gives_nothing)
{
	struct world w = in_phase(LINK);

	look(&w, RTT_US);
	mlcc_window_cut(&w.p, MLCC_ONE / 2, MSS, false);
	begin(&w);
	mlcc_window_undo(&w.p);
	CHECK(w.p.window == MLCC_START_BYTES, "window %u", w.p.window);
}

/* The window of a phase that finds the link free, after losses that nobody has seen since. */
TEST(what_losses_took_comes_back)
{
	struct world w = in_phase(LINK);
	u32 whole, phases = 0;

	look(&w, RTT_US);
	whole = w.p.window;
	for (u32 i = 0; i < 4; i++) {
		mlcc_window_cut(&w.p, MLCC_ONE / 2, MSS, false);
		w.p.round++;
	}
	CHECK(w.p.window < whole / 8, "window %u", w.p.window);
	do {
		begin(&w);
		w.p.cost = world(LINK).p.cost;
		look(&w, RTT_US);
	} while (w.p.window < whole && ++phases < 100);
	CHECK(phases > 1 && phases < 30, "%u phases", phases);
}

TEST(a_loss_is_remembered_for_some_phases)
{
	struct world w = in_phase(LINK);
	u32 phases = 0;

	CHECK(w.p.ssthresh >= MLCC_WINDOW_MAX, "nothing was lost");
	look(&w, RTT_US);
	mlcc_window_cut(&w.p, MLCC_ONE / 2, MSS, false);
	do
		begin(&w);
	while (w.p.ssthresh < MLCC_WINDOW_MAX && ++phases < 1000);
	CHECK(phases > 10 && phases < 200, "%u phases", phases);
}

/*** What is learnt ***/

/*
 * A phase of a job that is alone; hosts add @noise us to each round trip, or, if it is not @steady,
 * only to those of more than the first ten segments.  Returns whether it has waited in vain.
 */
static bool alone(struct world *w, u32 noise, bool steady)
{
	u64 sent = 0, start;
	bool waits;

	begin(w);
	start = w->now;
	waits = w->p.state == MLCC_WINDOW_WAITS;
	w->now += RTT_US;
	look(w, RTT_US + (steady ? noise : 0));	/* the first of a burst is behind nothing */
	while (sent < D) {
		u32 hosts = steady || w->p.window > MLCC_START_BYTES ? noise : 0;
		u32 us = w->p.window / LINK;

		sent += w->p.window;
		w->now++;	/* the mean is longer than the least */
		round_trip(w, us > RTT_US + hosts ? us : RTT_US + hosts);
	}
	if (!w->j.best_us || w->now - start < w->j.best_us)
		w->j.best_us = w->now - start;
	return waits && mlcc_window_vain(&w->p);
}

TEST(who_is_alone_never_waits_for_its_hosts_again)
{
	for (u32 noise = 30; noise <= MLCC_NOISE_MAX_US * 3 / 4; noise += 40) {
		struct world w = world(0);
		u32 vain = 0;

		w.j.best_us = 0;
		for (u32 i = 0; i < 2 * MLCC_TIMEOUTS_MAX; i++)
			vain += alone(&w, noise, true);
		CHECK(vain <= MLCC_TIMEOUTS_MAX, "%u us: %u vain waits", noise, vain);
		CHECK(w.p.noise + mlcc_window_slack(&w.p, MSS) >= noise, "%u us: %u learnt", noise,
		      w.p.noise);
		for (u32 i = 0; i < 200; i++) {
			CHECK(!alone(&w, noise, true) && w.p.state == MLCC_WINDOW_FREE,
			      "%u us, phase %u: state %u", noise, i, w.p.state);
			CHECK(w.p.noise <= MLCC_NOISE_MAX_US, "noise %u", w.p.noise);
		}
	}
}

/* Hosts that are slow only when there is much to do: the window did not fill the link. */
TEST(a_window_that_did_not_fill_the_link_teaches)
{
	struct world w = world(LINK);
	u32 noise = 3 * RTT_US;

	for (u32 i = 0; i < 3; i++) {
		alone(&w, noise, false);
		CHECK(w.p.state == MLCC_WINDOW_FREE, "phase %u: state %u", i, w.p.state);
	}
	CHECK(w.p.noise >= noise * 3 / 4 && w.p.noise <= noise * 3 / 2, "%u us, of %u", w.p.noise,
	      noise);
}

/* Interrupts each @late us: round trips are as long as the path's, or that longer. */
static u64 moderated(struct world *w, u32 late)
{
	u64 sent = 0, start;

	begin(w);
	w->now += RTT_US;
	look(w, RTT_US);
	start = w->now;
	while (sent < D) {
		u32 us = w->p.window / LINK, most = RTT_US + late;

		sent += w->p.window;
		w->now++;
		look(w, us > RTT_US + late / 2 ? us - late / 2 : RTT_US);
		round_trip(w, us > most ? us : most);
	}
	return w->now - start;
}

TEST(who_is_alone_fills_the_link_whatever_interrupts_add)
{
	for (u32 late = RTT_US / 2; late <= 4 * RTT_US; late += RTT_US / 2) {
		struct world w = world(LINK);
		u64 took = 0;

		mlcc_window_join(&w.p);
		for (u32 i = 0; i < 40; i++)
			took = moderated(&w, late);
		CHECK(took * LINK <= (u64)D * 103 / 100, "%u us: %llu us for %u", late,
		      (unsigned long long)took, D / LINK);
	}
}

TEST(noise_is_capped_and_forgotten_slowly)
{
	struct world w = world(LINK);
	u32 phases = 0;

	mlcc_window_learn(&w.p, 100 * MLCC_NOISE_MAX_US);
	CHECK(w.p.noise == MLCC_NOISE_MAX_US, "noise %u", w.p.noise);
	for (; w.p.noise > 2 * RTT_US && phases < 200; phases++) {
		u32 before = w.p.noise;

		alone(&w, 0, true);
		CHECK(w.p.noise <= before && before - w.p.noise <= before / 8 + 1, "%u -> %u", before,
		      w.p.noise);
	}
	CHECK(phases > 8 && phases < 40, "%u phases", phases);
}

/* Who shares the link with another learns nothing of its hosts. */
TEST(behind_a_long_flow_no_noise_is_learnt)
{
	struct world w = world(LINK);

	for (u32 i = 0; i < 30; i++) {
		begin(&w);
		for (u32 k = 0; k < 50; k++) {
			w.now += QUEUE_US;
			mlcc_window_acked(&w.p, w.now, QUEUE_US * LINK / 2, true);
			look(&w, QUEUE_US);
		}
		w.p.cost = world(LINK).p.cost;	/* as long as it is remembered */
		CHECK(!w.p.noise, "phase %u: %u us", i, w.p.noise);
	}
}

/* @bytes are acknowledged in small parts, at @rate bytes a us, with a round trip of @rtt us. */
static void acked(struct world *w, u32 bytes, u32 rate, u32 rtt)
{
	for (u32 part = bytes / 64, i = 0; i < 64; i++) {
		w->now += part / rate;
		mlcc_window_acked(&w->p, w->now, part, true);
		look(w, rtt);
	}
}

/*
 * A job alone, whose hosts add @noise us and do @rate bytes a us, but hand on at four times as much
 * what has come while they did something else.
 */
static void alone_in_bursts(struct world *w, u32 noise, u32 rate)
{
	begin(w);
	look(w, RTT_US);
	for (u32 i = 0; i < 4; i++) {
		w->now += D / 4 / rate * 3 / 4;
		acked(w, D / 4, 4 * rate, RTT_US + noise);
	}
}

TEST(a_rate_is_that_of_a_phase_not_of_a_burst)
{
	u32 good = mlcc_rate_cost(1000, 1000 * LINK), noise = MLCC_NOISE_MAX_US / 2;
	struct world w = world(0);

	for (u32 i = 0; i < 5; i++) {
		alone_in_bursts(&w, i ? noise : 0, i ? LINK * 7 / 10 : LINK);
		CHECK(!w.p.cost || w.p.cost >= good - good / 8, "phase %u: %u, not %u", i, w.p.cost, good);
	}
	CHECK(w.p.noise >= noise * 3 / 4, "it waits for its hosts: %u us of %u learnt", w.p.noise, noise);
}

/* Others have left as it was nearly done: of the link that says as little as a burst. */
TEST(the_end_of_a_phase_says_nothing_of_the_link)
{
	struct world w = in_phase(LINK);
	u32 before;

	acked(&w, D * 4 / 5, LINK / 4, QUEUE_US);
	CHECK(w.p.state == MLCC_WINDOW_WAITS, "state %u", w.p.state);
	look(&w, RTT_US);
	acked(&w, D / 5, 4 * LINK, RTT_US);
	before = w.p.cost;
	begin(&w);
	CHECK(w.p.state == MLCC_WINDOW_WAITS && w.p.cost >= before, "%u -> %u", before, w.p.cost);
}

TEST(fast_links_are_forgotten_too)
{
	static const u32 gbps[] = { 1, 10, 100, 262, 400, 800, 3000 };

	for (u32 i = 0; i < sizeof(gbps) / sizeof(*gbps); i++) {
		u32 cost = mlcc_rate_cost(1000, 125000ULL * gbps[i]), phases = 0;
		struct world w = world(0);

		for (w.p.cost = cost; w.p.cost < 2 * cost && phases < 100; phases++)
			begin(&w);
		CHECK(phases > 18 && phases < 25, "%u Gb/s: half of it after %u phases", gbps[i], phases);
	}
}

TEST(who_has_no_phases_has_no_window)
{
	struct world w = in_phase(LINK);

	w.j.seq++;
	mlcc_window_enter(&w.p, &w.j, w.j.seq, w.now += GAP_US, false);
	for (u32 i = 0; i < 10; i++)
		round_trip(&w, RTT_US);
	CHECK(w.p.state == MLCC_WINDOW_NONE, "state %u", w.p.state);
	begin(&w);
	CHECK(w.p.state == MLCC_WINDOW_WAITS && w.p.window == MLCC_START_BYTES, "state %u", w.p.state);
}

TAP_MAIN
