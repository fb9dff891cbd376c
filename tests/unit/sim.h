/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulated job: calls the tracker as a carrier does.
 *
 *	silence        burst: an ACK every SIM_TICK_US       silence
 *	__________ ||||||||||||||||||||||||||||||||||||| ______________
 *	           ^ mlcc_job_tx_start()  ^ mlcc_job_acked()
 */
#ifndef MLCC_SIM_H
#define MLCC_SIM_H

#include "../../include/mlcc/flow.h"
#include "random.h"

#define SIM_TICK_US	100U
#define SIM_RTT_US	150U
#define SIM_RATE	12500U	/* bytes per tick: 1 Gb/s */
#define MB		1000000ULL
#define COMPUTE		100000U	/* us, of an iteration */
#define PHASE		(10 * MB)

#define SIM_FMT		"p %#x .. %#x, %ju of %ju bytes neutral"
#define SIM_ARGS(s)	(s)->first, (s)->last, (s)->neutral, (s)->bytes

struct sim {
	struct mlcc_job job;
	u64 now;		/* us */
	u64 seed;
	/* since sim_clear() */
	u64 bytes;
	u64 neutral;		/* of them, sent without a progress */
	u32 first, last;	/* progress of the first and of the last ACK */
	u32 least, most;	/* progress, of the ACKs that had one */
	bool fell;		/* progress went down */
};

static inline void sim_clear(struct sim *s)
{
	s->bytes = 0;
	s->neutral = 0;
	s->first = s->last = MLCC_NEUTRAL;
	s->least = MLCC_ONE;
	s->most = 0;
	s->fell = false;
}

static inline void sim_init(struct sim *s, u64 seed)
{
	*s = (struct sim) { .now = 1000000, .seed = seed };
	sim_clear(s);
}

static inline void sim_acked(struct sim *s, u32 bytes)
{
	u32 p = mlcc_job_acked(&s->job, bytes, s->now);

	if (!s->bytes)
		s->first = p;
	s->bytes += bytes;
	if (p == MLCC_NEUTRAL) {
		s->neutral += bytes;
	} else {
		s->fell |= s->last != MLCC_NEUTRAL && p < s->last;
		s->least = p < s->least ? p : s->least;
		s->most = p > s->most ? p : s->most;
	}
	s->last = p;
}

static inline void sim_silence(struct sim *s, u64 us)
{
	s->now += us;
}

/* @bytes at the link's rate. */
static inline void sim_burst(struct sim *s, u64 bytes)
{
	mlcc_job_tx_start(&s->job, s->now, SIM_RTT_US);
	while (bytes) {
		u32 n = bytes < SIM_RATE ? bytes : SIM_RATE;

		s->now += SIM_TICK_US;
		sim_acked(s, n);
		bytes -= n;
	}
}

/* @mean, give or take @percent */
static inline u64 sim_noise(struct sim *s, u64 mean, u32 percent)
{
	u64 width = mean * percent / 100;

	return mean - width + random_below(&s->seed, 2 * width + 1);
}

/* An iteration: compute, then communicate; afterwards the sums are those of this iteration. */
static inline void sim_iteration(struct sim *s, u64 compute_us, u64 bytes)
{
	sim_silence(s, compute_us);
	sim_clear(s);
	sim_burst(s, bytes);
}

static inline void sim_iterations(struct sim *s, u32 count, u64 compute_us, u64 bytes)
{
	while (count--)
		sim_iteration(s, sim_noise(s, compute_us, 2), bytes);
}

static inline bool sim_all_neutral(const struct sim *s)
{
	return s->bytes && s->neutral == s->bytes;
}

/* The last iteration ran from next to nothing to next to all, and never back. */
static inline bool sim_full_progress(const struct sim *s)
{
	return !s->neutral && !s->fell && s->least < MLCC_ONE / 50 &&
	       s->most > MLCC_ONE / 50 * 49;
}

#endif /* MLCC_SIM_H */
