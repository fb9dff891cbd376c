// SPDX-License-Identifier: GPL-2.0
/* The phase tracker against simulated jobs: what it learns, when it doubts, what it ignores. */
#include <math.h>

#include "sim.h"
#include "tap.h"

#define SEEDS	20

static bool near(u64 value, u64 want, u32 percent)
{
	return mlcc_absdiff(value, want) <= want * percent / 100;
}

TEST(is_neutral_until_phases_agree)
{
	struct sim s;

	sim_init(&s, 1);
	for (u32 i = 1; i <= 3; i++) {
		sim_iteration(&s, COMPUTE, PHASE);
		CHECK(sim_all_neutral(&s), "phase %u: " SIM_FMT, i, SIM_ARGS(&s));
	}
	for (u32 i = 4; i <= 50; i++) {
		sim_iteration(&s, COMPUTE, PHASE);
		CHECK(sim_full_progress(&s), "phase %u: " SIM_FMT, i, SIM_ARGS(&s));
		CHECK(near(s.job.d_phase, PHASE, 1), "phase %u: D_phase %ju", i, s.job.d_phase);
	}
}

TEST(learns_through_compute_noise)
{
	for (u32 seed = 1; seed <= SEEDS; seed++) {
		u64 neutral = 0, bytes = 0;
		struct sim s;

		sim_init(&s, seed);
		sim_iterations(&s, 10, COMPUTE, PHASE);
		for (u32 i = 0; i < 200; i++) {
			sim_iteration(&s, sim_noise(&s, COMPUTE, 10), sim_noise(&s, PHASE, 5));
			neutral += s.neutral;
			bytes += s.bytes;
		}
		CHECK(neutral * 50 <= bytes, "seed %u: %ju of %ju bytes neutral", seed, neutral,
		      bytes);
	}
}

TEST(set_up_traffic_is_not_a_phase)
{
	struct sim s;

	sim_init(&s, 2);
	for (u32 i = 0; i < 6; i++)
		sim_iteration(&s, 20000 * (i + 1), 3000);
	sim_iterations(&s, 8, COMPUTE, PHASE);
	CHECK(sim_full_progress(&s), SIM_FMT, SIM_ARGS(&s));
	CHECK(near(s.job.d_phase, PHASE, 1), "D_phase %ju", s.job.d_phase);
}

/* Forward and backward passes, buckets: short silences inside an iteration. */
static void sim_bursts(struct sim *s, u32 bursts, u64 pause)
{
	sim_silence(s, sim_noise(s, COMPUTE, 2));
	sim_clear(s);
	for (u32 i = 0; i < bursts; i++) {
		if (i)
			sim_silence(s, sim_noise(s, pause, 20));
		sim_burst(s, PHASE / bursts);
	}
}

TEST(bursts_of_one_iteration_are_one_phase)
{
	for (u32 bursts = 2; bursts <= 16; bursts *= 2) {
		struct sim s;
		u32 seq;

		sim_init(&s, bursts);
		for (u32 i = 0; i < 60; i++)
			sim_bursts(&s, bursts, 8000);
		seq = s.job.seq;
		for (u32 i = 0; i < 50; i++) {
			sim_bursts(&s, bursts, 8000);
			CHECK(sim_full_progress(&s), "%u bursts: " SIM_FMT, bursts, SIM_ARGS(&s));
		}
		CHECK(s.job.seq - seq == 50, "%u bursts: %u phases in 50 iterations", bursts,
		      s.job.seq - seq);
		CHECK(near(s.job.d_phase, PHASE, 2), "%u bursts: D_phase %ju", bursts,
		      s.job.d_phase);
	}
}

/* A program is silent for long before it starts to train. */
TEST(a_long_start_is_no_yardstick)
{
	for (u32 bursts = 1; bursts <= 4; bursts *= 2) {
		struct sim s;

		sim_init(&s, bursts);
		sim_iteration(&s, 3000000, 3000);
		sim_iteration(&s, COMPUTE, PHASE);
		sim_silence(&s, 20 * COMPUTE);
		for (u32 i = 0; i < 7; i++)
			sim_bursts(&s, bursts, 8000);
		for (u32 i = 0; i < 50; i++) {
			sim_bursts(&s, bursts, 8000);
			CHECK(sim_full_progress(&s), "%u bursts: %u: " SIM_FMT, bursts, i,
			      SIM_ARGS(&s));
		}
	}
}

/* What looks like a long start may be the compute time of a job that sends in pieces. */
TEST(a_doubted_yardstick_comes_again)
{
	struct sim s;
	u32 seq;

	sim_init(&s, 5);
	for (u32 i = 0; i < 12; i++)
		sim_bursts(&s, 16, 4000);
	seq = s.job.seq;
	for (u32 i = 0; i < 50; i++) {
		sim_bursts(&s, 16, 4000);
		CHECK(sim_full_progress(&s), "%u: " SIM_FMT, i, SIM_ARGS(&s));
	}
	CHECK(s.job.seq - seq == 50, "%u phases in 50 iterations", s.job.seq - seq);
}

/* A ring that collides somewhere waits before each step, for up to 2/3 of the compute time. */
TEST(steps_that_wait_are_one_phase)
{
	for (u32 seed = 1; seed <= SEEDS; seed++) {
		struct sim s;
		u32 seq = 0;

		sim_init(&s, seed);
		for (u32 i = 0; i < 60; i++) {
			if (i == 40)
				seq = s.job.seq;
			sim_silence(&s, sim_noise(&s, COMPUTE / 4, 2));
			for (u32 step = 0; step < 14; step++) {
				if (step)
					sim_silence(&s, 500U << random_below(&s.seed, 6));
				sim_burst(&s, PHASE / 14);
			}
		}
		CHECK(s.job.seq - seq == 20, "seed %u: %u phases in 20 iterations", seed,
		      s.job.seq - seq);
	}
}

/* ZeRO-3: layers gather a few parameters each while they compute, then come the gradients. */
TEST(small_gathers_are_no_phases)
{
	struct sim s;

	sim_init(&s, 18);
	for (u32 i = 0; i < 60; i++) {
		sim_silence(&s, sim_noise(&s, COMPUTE, 2));
		sim_clear(&s);
		for (u32 layer = 0; layer < 11; layer++) {
			sim_burst(&s, PHASE / 6000);
			sim_silence(&s, 2000 + random_below(&s.seed, 10000));
		}
		sim_burst(&s, PHASE);
		if (i > 4)
			CHECK(sim_full_progress(&s), "%u: " SIM_FMT, i, SIM_ARGS(&s));
	}
}

static void batch_size_change(u64 from, u64 to)
{
	struct sim s;

	sim_init(&s, 3);
	sim_iterations(&s, 30, COMPUTE, from);
	CHECK(sim_full_progress(&s), "before: " SIM_FMT, SIM_ARGS(&s));
	sim_iterations(&s, 1, COMPUTE, to);
	if (to > from + from / 4)
		CHECK(s.last == MLCC_NEUTRAL, "beyond D_phase: " SIM_FMT, SIM_ARGS(&s));
	for (u32 i = 2; i <= 3; i++) {
		sim_iterations(&s, 1, COMPUTE, to);
		CHECK(sim_all_neutral(&s), "%ju to %ju, phase %u: " SIM_FMT,
		      from, to, i, SIM_ARGS(&s));
	}
	sim_iterations(&s, 1, COMPUTE, to);
	CHECK(sim_full_progress(&s), "%ju to %ju, fourth: " SIM_FMT, from,
	      to, SIM_ARGS(&s));
	CHECK(near(s.job.d_phase, to, 2), "D_phase %ju", s.job.d_phase);
}

TEST(another_batch_size_is_learnt_anew)
{
	batch_size_change(PHASE, 2 * PHASE);
	batch_size_change(PHASE, 5 * PHASE);
	batch_size_change(PHASE, PHASE / 2);
	batch_size_change(PHASE, PHASE / 4);
}

/* A shorter compute time (more workers): the yardstick of silences has to follow. */
TEST(a_shorter_compute_time_is_learnt_anew)
{
	struct sim s;

	sim_init(&s, 4);
	sim_iterations(&s, 30, COMPUTE, PHASE);
	sim_iterations(&s, 20, COMPUTE / 5, PHASE);
	CHECK(sim_full_progress(&s), SIM_FMT, SIM_ARGS(&s));
	CHECK(near(s.job.d_phase, PHASE, 2), "D_phase %ju", s.job.d_phase);
}

/* A ring's host that has sent its part waits for those who have not: that is no other job. */
TEST(a_wait_for_the_ring_is_no_doubt)
{
	struct sim s;

	sim_init(&s, 6);
	sim_iterations(&s, 4, COMPUTE, PHASE);
	for (u32 i = 0; i < 40; i++) {
		sim_iteration(&s, COMPUTE + random_below(&s.seed, 5 * COMPUTE / 2), PHASE);
		CHECK(sim_full_progress(&s), "phase %u: " SIM_FMT, i, SIM_ARGS(&s));
	}
	sim_iteration(&s, 20 * COMPUTE, PHASE);
	sim_iteration(&s, COMPUTE, PHASE);
	CHECK(sim_all_neutral(&s), "after a pause: " SIM_FMT, SIM_ARGS(&s));
}

static u64 exponential(struct sim *s, u64 mean)
{
	double u = (double)(random_u64(&s->seed) >> 11) / (1ULL << 53);

	return -log(1 - u) * mean;
}

/* Requests at random times have no phases, whether their sizes agree or not (0: at random, too). */
TEST(poisson_messages_stay_neutral)
{
	static const u64 sizes[] = { 200000, MB, PHASE, 0 };

	for (u32 i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		u64 neutral = 0, bytes = 0;

		for (u32 seed = 1; seed <= SEEDS; seed++) {
			struct sim s;

			sim_init(&s, seed * 101);
			for (u32 n = 0; n < 1000; n++) {
				u64 size = sizes[i] ? sizes[i] : 1 + random_below(&s.seed, 2 * PHASE);

				sim_iteration(&s, exponential(&s, COMPUTE), size);
				neutral += s.neutral;
				bytes += s.bytes;
			}
		}
		CHECK(neutral > bytes / 100 * 90, "%ju bytes each: %.1f %% neutral", sizes[i],
		      100.0 * neutral / bytes);
	}
}

TEST(far_beyond_d_phase_is_neutral)
{
	struct sim s;
	u64 limit;

	sim_init(&s, 6);
	sim_iterations(&s, 30, COMPUTE, PHASE);
	sim_silence(&s, COMPUTE);
	sim_clear(&s);
	mlcc_job_tx_start(&s.job, s.now, SIM_RTT_US);
	limit = s.job.d_phase + s.job.d_phase / 4;
	while (s.bytes + SIM_RATE <= limit) {
		s.now += SIM_TICK_US;
		sim_acked(&s, SIM_RATE);
		CHECK(s.last != MLCC_NEUTRAL, "neutral after %ju bytes of %ju", s.bytes,
		      s.job.d_phase);
	}
	for (u32 i = 0; i < 1000; i++) {
		s.now += SIM_TICK_US;
		sim_acked(&s, SIM_RATE);
		CHECK(s.last == MLCC_NEUTRAL, "p %#x after %ju bytes of %ju", s.last, s.bytes,
		      s.job.d_phase);
	}
}

/* Seldom, and in a shorter compute time than usual: both parts of the silence are below its half. */
TEST(a_heartbeat_does_not_join_two_phases)
{
	struct sim s;

	sim_init(&s, 9);
	sim_iterations(&s, 20, COMPUTE, PHASE);
	for (u32 i = 0; i < 50; i++) {
		sim_silence(&s, COMPUTE * 45 / 100);
		sim_burst(&s, 2000);
		sim_iteration(&s, COMPUTE * 45 / 100, PHASE);
		CHECK(sim_full_progress(&s), "%u, with it: " SIM_FMT, i, SIM_ARGS(&s));
		sim_iterations(&s, 5, COMPUTE, PHASE);
		CHECK(sim_full_progress(&s), "%u, after it: " SIM_FMT, i, SIM_ARGS(&s));
	}
}

/* A host that has sent its part answers the others' last bytes, long after and long before. */
TEST(an_answer_says_nothing_of_the_others)
{
	const u32 comm = PHASE / SIM_RATE * SIM_TICK_US, answer = COMPUTE * 6 / 10;
	struct sim s;

	sim_init(&s, 5);
	for (u32 i = 0; i < 100; i++) {
		u32 seq = s.job.seq;

		sim_iteration(&s, COMPUTE - answer, PHASE);
		s.job.flows = 4;
		sim_silence(&s, answer);
		sim_burst(&s, 100);
		if (i < 5)
			continue;
		CHECK(s.job.seq == seq + 2, "%u: the answer began no phase of its own", i);
		CHECK(near(s.job.best_us, comm, 2), "%u: best %u of %u", i,
		      s.job.best_us, comm);
		CHECK(near(s.job.comm_us, comm, 2), "%u: comm %u of %u", i, s.job.comm_us, comm);
		CHECK(s.job.share == MLCC_ONE / 4, "%u: share %#x", i, s.job.share);
		sim_iteration(&s, COMPUTE - answer, PHASE);
		CHECK(near(s.job.period_us, COMPUTE + comm, 2), "%u: period %u", i,
		      s.job.period_us);
		s.job.flows = 4;
		sim_silence(&s, answer);
		sim_burst(&s, 100);
	}
}

TEST(a_hint_can_be_corrected_and_taken_back)
{
	struct sim s;

	sim_init(&s, 9);
	mlcc_job_hint(&s.job, 10 * PHASE);
	sim_iterations(&s, 2, COMPUTE, PHASE);
	mlcc_job_hint(&s.job, PHASE);
	sim_iterations(&s, 1, COMPUTE, PHASE);
	CHECK(sim_full_progress(&s), "corrected: " SIM_FMT, SIM_ARGS(&s));
	mlcc_job_hint(&s.job, 0);
	sim_iterations(&s, 5, COMPUTE, PHASE);
	CHECK(sim_full_progress(&s), "taken back: " SIM_FMT, SIM_ARGS(&s));
	CHECK(s.job.d_hint == 0, "a hint is left");
}

/* Clocks of two CPUs, stamps taken in another order than used. */
TEST(a_clock_that_is_a_little_behind_begins_no_phase)
{
	struct sim s;
	u32 seq;

	sim_init(&s, 17);
	sim_iterations(&s, 20, COMPUTE, PHASE);
	seq = s.job.seq;
	for (u32 back = 1; back <= 4096; back *= 2) {
		CHECK(!mlcc_job_tx_start(&s.job, s.now - back, SIM_RTT_US), "%u us behind", back);
		sim_acked(&s, 1000);
	}
	CHECK(s.job.seq == seq, "%u phases", s.job.seq - seq);
}

TEST(recovers_after_a_jump_of_the_clock_and_a_very_long_pause)
{
	static const s64 pauses[] = { -50000, 3600000000LL, 1LL << 32, 1LL << 45 };

	for (u32 i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
		struct sim s;
		u32 seq;

		sim_init(&s, 12);
		sim_iterations(&s, 20, COMPUTE, PHASE);
		seq = s.job.seq;
		sim_iteration(&s, pauses[i], PHASE);
		CHECK(pauses[i] < 0 || s.job.seq == seq + 1, "%jd us begin no phase", pauses[i]);
		sim_iterations(&s, 20, COMPUTE, PHASE);
		CHECK(sim_full_progress(&s), "%jd us: " SIM_FMT, pauses[i], SIM_ARGS(&s));
		CHECK(near(s.job.d_phase, PHASE, 2), "%jd us: D_phase %ju", pauses[i],
		      s.job.d_phase);
	}
}

/* Counters that wrap do so after 2^64 bytes; the phase in which it happens is like any other. */
TEST(bytes_wrap_around)
{
	struct sim s;

	sim_init(&s, 13);
	s.job.acked = s.job.start_acked = ~0ULL - 5 * PHASE - PHASE / 2;
	for (u32 i = 0; i < MLCC_CUTS; i++)
		s.job.cuts[i].start_kb = s.job.acked >> 10;
	for (u32 i = 1; i <= 20; i++) {
		sim_iterations(&s, 1, COMPUTE, PHASE);
		if (i > 3)
			CHECK(sim_full_progress(&s), "phase %u: " SIM_FMT, i, SIM_ARGS(&s));
	}
	CHECK(s.job.acked < 20 * PHASE, "%ju has not wrapped", s.job.acked);
}

/* Anything at any time: the progress stays one, and the try-lock is never left behind. */
TEST(nonsense_keeps_the_invariants)
{
	struct mlcc_job j = { };
	u64 seed = 14, now = 0;

	for (u32 i = 0; i < 2000000; i++) {
		u64 pick = random_u64(&seed);
		u32 p;

		if ((pick & 7) < 6)
			now += random_magnitude(&seed) >> 40;
		else if ((pick & 63) < 60)
			now += random_magnitude(&seed) >> 20;
		else
			now = random_magnitude(&seed);
		if (pick >> 63) {
			p = mlcc_job_acked(&j, random_magnitude(&seed), now);
			CHECK(p <= MLCC_ONE || p == MLCC_NEUTRAL, "step %u: p %#x", i, p);
		} else if (pick >> 62) {
			mlcc_job_tx_start(&j, now, random_magnitude(&seed));
		} else if ((pick >> 32 & 255) == 0) {
			mlcc_job_hint(&j, random_magnitude(&seed) & MLCC_PHASE_BYTES_MAX);
		}
		CHECK(!j.busy, "step %u: busy", i);
		CHECK(j.d_phase <= MLCC_PHASE_BYTES_MAX || !j.recip, "step %u: D_phase %ju", i,
		      j.d_phase);
	}
}

/* An evaluation, a checkpoint: one long silence must not become what all others are held against. */
TEST(a_pause_inside_a_phase_is_forgotten)
{
	struct sim s;

	sim_init(&s, 16);
	sim_iterations(&s, 2, COMPUTE * 10, PHASE);
	sim_silence(&s, COMPUTE * 4);	/* less than half of those before */
	sim_burst(&s, PHASE);
	sim_iterations(&s, 60, COMPUTE, PHASE);
	CHECK(sim_full_progress(&s), SIM_FMT, SIM_ARGS(&s));
}

TEST(learns_again_after_nonsense)
{
	struct sim s;

	sim_init(&s, 15);
	for (u32 i = 0; i < 1000; i++) {
		sim_silence(&s, random_magnitude(&s.seed) >> 38);
		sim_burst(&s, 1 + random_below(&s.seed, 3 * PHASE));
	}
	sim_iterations(&s, 60, COMPUTE, PHASE);
	CHECK(sim_full_progress(&s), SIM_FMT, SIM_ARGS(&s));
}

TAP_MAIN
