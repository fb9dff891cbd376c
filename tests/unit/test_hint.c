// SPDX-License-Identifier: GPL-2.0
/* Phases that userspace announces: exact, early or late, wrong, and no longer. */
#include "../../include/mlcc/hint.h"
#include "sim.h"
#include "tap.h"

/* An iteration that is announced @lead us before its first byte, as @told bytes. */
static void announced(struct sim *s, u64 told, u64 bytes, u32 lead)
{
	sim_silence(s, sim_noise(s, COMPUTE, 2));
	sim_clear(s);
	mlcc_job_hint_start(&s->job, told, s->now);
	sim_silence(s, lead);
	sim_burst(s, bytes);
	sim_silence(s, 200);
	mlcc_job_hint_end(&s->job);
}

/* An announcement may take longer than the first bytes do. */
TEST(a_late_announcement_belongs_to_its_phase)
{
	struct sim s;
	u64 bytes;

	sim_init(&s, 3);
	announced(&s, PHASE, PHASE, 50);
	for (u32 i = 2; i <= 50; i++) {
		bytes = PHASE / 2 + random_below(&s.seed, PHASE);
		sim_silence(&s, COMPUTE);
		sim_clear(&s);
		sim_burst(&s, bytes / 10);
		mlcc_job_hint_start(&s.job, bytes, s.now);
		CHECK(s.job.seq == i, "phase %u is number %u", i, s.job.seq);
		sim_acked(&s, bytes - bytes / 10);
		CHECK(!s.neutral && s.last > MLCC_ONE / 50 * 49, "phase %u: " SIM_FMT, i,
		      SIM_ARGS(&s));
		mlcc_job_hint_end(&s.job);
	}
}

/*
 * A collective is planned, and planned anew; or it is taken back, and another one follows.  No two
 * phases are alike, so there is nothing to learn.
 */
static void who_announces_twice_has_one_phase(bool ends)
{
	u64 last = PHASE, bytes, us;
	struct sim s;

	sim_init(&s, 11);
	announced(&s, PHASE, PHASE, 50);
	for (u32 i = 2; i <= 20; i++, last = bytes) {
		bytes = PHASE / 2 + random_below(&s.seed, PHASE);
		us = last / SIM_RATE * SIM_TICK_US;

		sim_silence(&s, COMPUTE / 2);
		for (u32 k = 0; k < 3; k++) {
			mlcc_job_hint_start(&s.job, 3 * PHASE, s.now);
			if (ends)
				mlcc_job_hint_end(&s.job);
			sim_silence(&s, 10);
		}
		announced(&s, bytes, bytes, 50);
		CHECK(sim_full_progress(&s) && !s.job.hint_wrong, "phase %u: " SIM_FMT, i, SIM_ARGS(&s));
		CHECK(s.job.seq == i, "phase %u is number %u", i, s.job.seq);
		CHECK(mlcc_absdiff(s.job.comm_us, us) < 1000, "phase %u: the last one took %u us", i,
		      s.job.comm_us);
	}
}

TEST(an_announcement_replaces_one_that_was_not_used)
{
	who_announces_twice_has_one_phase(false);
	who_announces_twice_has_one_phase(true);
}

/* A silence that would end any phase, in the middle of one that is announced. */
TEST(silences_inside_do_not_end_it)
{
	struct sim s;

	sim_init(&s, 4);
	for (u32 i = 1; i <= 20; i++) {
		sim_silence(&s, COMPUTE);
		sim_clear(&s);
		mlcc_job_hint_start(&s.job, PHASE, s.now);
		sim_burst(&s, PHASE / 2);
		sim_silence(&s, COMPUTE);
		sim_burst(&s, PHASE / 2);
		mlcc_job_hint_end(&s.job);
		CHECK(sim_full_progress(&s) && s.job.seq == i, "phase %u, number %u: " SIM_FMT, i,
		      s.job.seq, SIM_ARGS(&s));
	}
}

/* The launcher was killed: what goes on is learnt. */
TEST(who_falls_silent_is_not_waited_for)
{
	struct sim s;

	for (u32 ended = 0; ended < 2; ended++) {
		sim_init(&s, 5);
		announced(&s, PHASE, PHASE, 50);
		if (!ended)
			mlcc_job_hint_start(&s.job, PHASE, s.now + COMPUTE);
		sim_iterations(&s, 8, COMPUTE, 2 * PHASE);
		CHECK(s.job.hint_state == MLCC_HINT_NONE, "told %u", s.job.hint_state);
		CHECK(sim_full_progress(&s), "ended %u: " SIM_FMT, ended, SIM_ARGS(&s));
	}
}

static void a_false_claim_is_believed_once(u64 claim)
{
	struct sim s;

	sim_init(&s, 6);
	for (u32 i = 1; i <= 3; i++)
		announced(&s, claim, PHASE, 50);
	for (u32 i = 4; i <= 20; i++) {
		announced(&s, claim, PHASE, 50);
		CHECK(sim_full_progress(&s), "claim %ju, phase %u: " SIM_FMT, claim, i,
		      SIM_ARGS(&s));
	}
	announced(&s, PHASE, PHASE, 50);
	announced(&s, 2 * PHASE, 2 * PHASE, 50);
	CHECK(sim_full_progress(&s), "true again: " SIM_FMT, SIM_ARGS(&s));
}

TEST(false_claims_are_believed_once)
{
	a_false_claim_is_believed_once(10 * PHASE);
	a_false_claim_is_believed_once(PHASE / 10);
}

TEST(nonsense_is_harmless)
{
	struct sim s;

	sim_init(&s, 7);
	mlcc_job_hint_end(&s.job);
	for (u32 i = 0; i < 100000; i++) {
		u64 bytes = random_below(&s.seed, 4) ? random_below(&s.seed, 1 << 20) :
						       MLCC_PHASE_BYTES_MAX;
		u64 now = s.now + random_below(&s.seed, 3) * 500 - random_below(&s.seed, 3) * 300;

		switch (random_below(&s.seed, 4)) {
		case 0:
			mlcc_job_hint_start(&s.job, bytes, now);
			break;
		case 1:
			mlcc_job_hint_end(&s.job);
			break;
		case 2:
			s.now = now;
			mlcc_job_tx_start(&s.job, now, SIM_RTT_US);
			break;
		default:
			sim_acked(&s, 1 + random_below(&s.seed, 100000));
		}
		CHECK(!s.job.busy, "step %u: locked", i);
		CHECK(s.job.d_hint <= MLCC_PHASE_BYTES_MAX, "step %u: hint", i);
		CHECK(s.last == MLCC_NEUTRAL || s.last <= MLCC_ONE, "step %u: %#x", i, s.last);
	}
}

TEST(a_phase_that_is_being_turned_is_left_alone)
{
	struct mlcc_job j = { .busy = 1 };

	CHECK(!mlcc_job_hint_start(&j, PHASE, 1000), "noted");
	CHECK(!mlcc_job_hint_end(&j), "noted");
	CHECK(!mlcc_job_hint_reset(&j), "noted");
	CHECK(!j.seq && !j.d_hint && !j.hint_state, "changed");
}

/* Nothing of the old job counts, in the phase that runs neither; then it is learnt as any other. */
TEST(another_job_starts_from_nothing)
{
	struct sim s;

	sim_init(&s, 8);
	for (u32 i = 1; i <= 5; i++)
		announced(&s, PHASE, PHASE, 50);
	CHECK(mlcc_job_hint_reset(&s.job), "not noted");
	CHECK(!s.job.busy && !s.job.hint_state && !s.job.d_hint && !s.job.d_learnt, "not forgotten");
	sim_clear(&s);
	sim_burst(&s, PHASE);
	CHECK(s.neutral == s.bytes, SIM_FMT, SIM_ARGS(&s));
	for (u32 i = 1; i <= 4; i++) {
		sim_silence(&s, COMPUTE);
		sim_clear(&s);
		sim_burst(&s, PHASE / 2);
	}
	CHECK(sim_full_progress(&s), SIM_FMT, SIM_ARGS(&s));
	CHECK(mlcc_absdiff(s.job.d_phase, PHASE / 2) < 1024, "%ju bytes", s.job.d_phase);
}

/* What a carrier keeps of a job that was set. */
struct rule {
	u64 bytes;
	u32 gen;
	u32 last;
	u32 has;		/* of the job's state */
};

static void set(struct rule *r, u64 bytes)
{
	r->gen = mlcc_job_hint_gen(r->gen, r->bytes, bytes, &r->last);
	r->bytes = bytes;
}

static void take(struct sim *s, struct rule *r)
{
	mlcc_job_hint_take(&s->job, &r->has, r->gen, r->bytes);
}

/* The next phase is announced without a number. */
static void next_has(struct sim *s, u64 bytes, const char *when)
{
	announced(s, 0, bytes, 50);
	CHECK(s->job.d_phase == bytes && sim_full_progress(s), "%s: D_phase %ju, " SIM_FMT, when,
	      s->job.d_phase, SIM_ARGS(s));
}

TEST(announcements_stand_until_another_hint_is_set)
{
	struct rule r = { };
	struct sim s;

	sim_init(&s, 9);
	set(&r, PHASE);
	take(&s, &r);
	next_has(&s, PHASE, "as set");
	announced(&s, 2 * PHASE, 2 * PHASE, 50);
	set(&r, PHASE);
	take(&s, &r);
	next_has(&s, 2 * PHASE, "set as before");
	set(&r, 3 * PHASE);
	take(&s, &r);
	next_has(&s, 3 * PHASE, "set to others");
	announced(&s, 2 * PHASE, 2 * PHASE, 50);
	/* also if the job's state has seen neither */
	set(&r, PHASE);
	set(&r, 3 * PHASE);
	take(&s, &r);
	next_has(&s, 3 * PHASE, "set to others and back");
}

TEST(a_set_that_changes_no_hint_forgives_no_claim)
{
	struct rule r = { };
	struct sim s;

	sim_init(&s, 10);
	set(&r, 10 * PHASE);
	take(&s, &r);
	announced(&s, 0, PHASE, 50);
	announced(&s, 0, PHASE, 50);
	CHECK(s.job.hint_wrong, "believed");
	set(&r, 10 * PHASE);
	take(&s, &r);
	CHECK(s.job.hint_wrong, "forgiven");
	set(&r, PHASE);
	take(&s, &r);
	CHECK(!s.job.hint_wrong, "not forgiven");
}

TEST(no_hint_has_the_number_of_none)
{
	struct rule r = { .last = ~0U - 1 };
	u32 before;

	for (u32 i = 0; i < 4; i++) {
		before = r.gen;
		set(&r, i & 1);
		CHECK(r.gen && r.gen != before, "hint %u: %u after %u", i, r.gen, before);
	}
}

TAP_MAIN
