// SPDX-License-Identifier: GPL-2.0
/* One progress for a job of several hosts (lead.h): what its leader finds, and what hosts make of it. */
#include <string.h>

#include "../../include/mlcc/lead.h"
#include "random.h"
#include "tap.h"

#define HOSTS		8U
#define D		8000000U	/* bytes of a host in a phase */
#define COMM_US		20000U
#define GAP_US		30000U
#define PHASES		12U

struct world {
	struct mlcc_job job;
	struct mlcc_led led[HOSTS];
	u64 sent[HOSTS], counted[HOSTS], reported[HOSTS];
	u64 now, seed;
	u32 lost;		/* of what is told, percent */
};

static bool near(u32 p, u32 is)
{
	return mlcc_absdiff(p, is) <= 1;
}

static bool is_lost(struct world *w)
{
	return w->lost && random_below(&w->seed, 100) < w->lost;
}

/* Hosts report what they have sent, and hear. */
static void tell(struct world *w, u32 us)
{
	struct mlcc_lead_answer a;

	for (u32 i = 0; i < HOSTS; i++) {
		if (is_lost(w))
			continue;
		mlcc_lead_report(&w->job, &w->counted[i], w->sent[i], w->now,
				 w->reported[i] ? w->now - w->reported[i] : us);
		w->reported[i] = w->now;
	}
	a = mlcc_lead_answer(&w->job, w->now);
	for (u32 i = 0; i < HOSTS; i++)
		if (!is_lost(w))
			mlcc_led_hear(&w->led[i], &a, w->sent[i], w->now);
}

/* @us of a phase of @all us, or of its compute time; half of the hosts are done in half of it. */
static void step(struct world *w, u32 us, u32 done, u32 all)
{
	w->now += us;
	for (u32 i = 0; i < HOSTS; i++) {
		u32 whole = i & 1 ? all : all / 2, part = D / (whole / us);

		if (done >= whole)
			continue;
		mlcc_led_sends(&w->led[i], w->sent[i], w->now);
		w->sent[i] += part;
	}
	tell(w, us);
}

static void phase(struct world *w, u32 us)
{
	for (u32 t = 0; t < COMM_US; t += us)
		step(w, us, t, COMM_US);
}

static void compute(struct world *w, u32 us)
{
	for (u32 t = 0; t < GAP_US; t += us) {
		w->now += us;
		tell(w, us);
	}
}

static struct world known_at(u64 now, u32 us, u32 lost)
{
	struct world w = { .now = now, .lost = lost };

	for (u32 n = 0; n < PHASES; n++) {
		phase(&w, us);
		compute(&w, us);
	}
	return w;
}

static struct world known(u32 us, u32 lost)
{
	return known_at(1000000, us, lost);
}

TEST(a_leader_finds_the_phases_of_all)
{
	static const u32 every[] = { 500, 1000, 2000, 5000 }, lost[] = { 0, 10, 30 };

	for (u32 i = 0; i < 12; i++) {
		u32 us = every[i & 3];
		struct world w = known(us, lost[i >> 2]);

		CHECK(w.job.seq == PHASES, "each %u us, %u %% lost: %u phases", us, lost[i >> 2],
		      w.job.seq);
		CHECK(w.job.d_phase == HOSTS * D, "D_phase %ju", w.job.d_phase);
		CHECK(mlcc_absdiff(w.job.best_us, COMM_US) <= 3 * us, "%u us at best",
		      w.job.best_us);
		CHECK(mlcc_absdiff(w.job.gap_us, GAP_US) <= 3 * us, "gap %u", w.job.gap_us);
	}
}

/* Whoever is done early has no other progress than the slowest, and is not done. */
TEST(hosts_go_by_the_progress_of_all)
{
	struct world w = known(1000, 0);
	u32 p;

	for (u32 t = 0; t < COMM_US; t += 1000) {
		step(&w, 1000, t, COMM_US);
		p = (u64)(w.job.acked - w.job.start_acked) * MLCC_ONE / (HOSTS * D);
		for (u32 i = 0; i < HOSTS; i++)
			CHECK(near(mlcc_led_progress(&w.led[i], w.now), p),
			      "host %u at %u us: %u of %u", i, t,
			      mlcc_led_progress(&w.led[i], w.now), p);
	}
	CHECK(p == MLCC_ONE, "%u at the end", p);
}

/* Nobody knows of a phase that has just begun, but it cannot be the end of the last one. */
TEST(a_phase_begins_at_once)
{
	struct world w = known(1000, 0);
	u32 p;

	w.now += 300;
	mlcc_led_sends(&w.led[1], w.sent[1], w.now);
	p = mlcc_led_progress(&w.led[1], w.now);
	CHECK(!p, "%u, before anybody is told", p);
	CHECK(w.led[1].d_phase == D, "sent %ju in the phase before", w.led[1].d_phase);
	w.sent[1] += D / 2;
	w.now += 700;
	tell(&w, 1000);
	p = mlcc_led_progress(&w.led[1], w.now);
	CHECK(near(p, MLCC_ONE / 16), "%u when half of a host is told", p);
	/* another one is late: the phase that it hears of is its own */
	w.now += 5000;
	mlcc_led_sends(&w.led[2], w.sent[2], w.now);
	p = mlcc_led_progress(&w.led[2], w.now);
	CHECK(near(p, MLCC_ONE / 16), "%u for one that comes later", p);
}

/* A wait within the phase is no compute time. */
TEST(who_makes_way_stays_in_its_phase)
{
	struct world w = known(1000, 0);
	u32 p;

	for (u32 t = 0; t < COMM_US / 2; t += 1000)
		step(&w, 1000, t, COMM_US);
	w.now += GAP_US / 3;
	mlcc_led_sends(&w.led[1], w.sent[1], w.now);
	p = mlcc_led_progress(&w.led[1], w.now);
	CHECK(near(p, MLCC_ONE * 3 / 4), "%u after a wait", p);
}

/* Times are compared by their low bits, whatever these are when a host comes. */
TEST(a_host_that_comes_later_hears_of_the_phase)
{
	for (u32 i = 1; i < 16; i++) {
		struct world w = known_at((u64)i << 28, 1000, 0);
		struct mlcc_led late = { };
		struct mlcc_lead_answer a;

		for (u32 t = 0; t < COMM_US / 2; t += 1000)
			step(&w, 1000, t, COMM_US);
		a = mlcc_lead_answer(&w.job, w.now);
		mlcc_led_sends(&late, 0, w.now);
		mlcc_led_hear(&late, &a, 0, w.now);
		CHECK(near(mlcc_led_progress(&late, w.now), MLCC_ONE * 3 / 4), "from %x on: %u",
		      i << 28, mlcc_led_progress(&late, w.now));
	}
}

TEST(nobody_tells)
{
	struct mlcc_led never = { };
	struct world w = known(1000, 0);

	CHECK(mlcc_led_progress(&never, w.now) == MLCC_NEUTRAL, "it has heard nothing");
	CHECK(!mlcc_led_flow_kbps(&never, &w.job), "a rate of nothing");
	w.now += MLCC_LEAD_OLD_US;
	CHECK(mlcc_led_progress(&w.led[0], w.now) != MLCC_NEUTRAL, "not so soon");
	w.now++;
	CHECK(mlcc_led_progress(&w.led[0], w.now) == MLCC_NEUTRAL, "it is not told any more");
}

/* A host that was started anew counts from 0, and what a liar says is not added up. */
TEST(counters_that_jump_count_for_nothing)
{
	struct world w = known(1000, 0);
	u64 acked = w.job.acked, counted = w.counted[0];

	mlcc_lead_report(&w.job, &counted, 5, w.now, 1000);
	CHECK(counted == 5 && w.job.acked == acked, "back to 5: %ju", w.job.acked - acked);
	mlcc_lead_report(&w.job, &counted, ~0ULL, w.now, 1000);
	CHECK(w.job.acked == acked, "2^64 - 1 bytes: %ju", w.job.acked - acked);
	mlcc_lead_report(&w.job, &counted, ~0ULL, w.now, 1000);
	CHECK(w.job.acked == acked, "and nothing more");
	counted = 0;
	mlcc_lead_report(&w.job, &counted, 5ULL << 31, w.now, 1000);
	CHECK(w.job.acked == acked + (5ULL << 31), "a report of 10 GiB: %ju", w.job.acked - acked);
}

/* What a host hears comes from elsewhere. */
TEST(any_answer_is_a_progress)
{
	struct mlcc_lead_answer a;
	struct mlcc_led l = { };
	u64 seed = 7;
	u32 p;

	for (u32 i = 0; i < 100000; i++) {
		a = (struct mlcc_lead_answer) {
			.progress = random_u64(&seed) >> (random_u64(&seed) & 31),
			.best_us = random_u64(&seed), .gap_us = random_u64(&seed),
			.age_us = random_u64(&seed),
		};
		mlcc_led_hear(&l, &a, random_u64(&seed), random_u64(&seed));
		mlcc_led_sends(&l, random_u64(&seed), random_u64(&seed));
		p = mlcc_led_progress(&l, random_u64(&seed));
		if (p > MLCC_ONE && p != MLCC_NEUTRAL)
			break;
	}
	CHECK(p <= MLCC_ONE || p == MLCC_NEUTRAL, "progress %u", p);
}

TAP_MAIN
