/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One progress for a job of several hosts.
 *
 * Hosts that each go by their own progress work against their job: whoever is ahead yields less,
 * and the job waits for its slowest.  Nor does a host find phases by itself: one that is done early
 * is silent for as long as the slowest takes, and one that makes way has silences within its phase.
 * So one host, the leader, has the tracker (phase.h) of all that the job sends, and says how far it
 * is:
 *
 *	host	bytes it has sent, ever  ->  leader	each MLCC_LEAD_US while it sends, and as
 *	host	<-  mlcc_lead_answer	     leader	long as the leader has not heard all of them
 *
 * What is lost the next report makes good.  A host that has heard nothing for MLCC_LEAD_OLD_US is
 * neutral, and so is the job without a leader.
 *
 * When a phase begins a host cannot wait for an answer: its progress is 0 after a silence of half
 * of the job's compute time, until it hears of a phase that has begun since.  Clocks need not
 * agree, for an answer says how long ago that was.
 *
 * Times are microseconds, low 32 bits where differences count.
 */
#ifndef MLCC_LEAD_H
#define MLCC_LEAD_H

#include "phase.h"

#define MLCC_LEAD_US		1000U	/* 5 ms: a fifth of what is gained is lost (decisions.md) */
#define MLCC_LEAD_OLD_US	50000U	/* nobody tells any more */

/* What the leader knows of the job's phase. */
struct mlcc_lead_answer {
	u32 progress;		/* Q16 in 0 .. MLCC_ONE, or MLCC_NEUTRAL */
	u32 best_us;		/* the job's shortest phase; 0: not known */
	u32 gap_us;		/* its compute time */
	u32 age_us;		/* when the phase began */
};

/* A host of the job. */
struct mlcc_led {
	struct mlcc_lead_answer heard;
	u32 heard_us;		/* when */
	u32 last_us;		/* when it sent last */
	u32 ended_us;		/* when that was, in the phase before */
	u32 told;		/* it has heard something, ever */
	u32 busy;		/* try-lock of what follows, and "ended_us" */
	u64 start_acked;	/* mlcc_job.acked of its own tracker when this phase began */
	u64 d_phase;		/* bytes that it sent in the last one; 0: there was none */
};

/*** The leader ***/

/*
 * A host has sent @sent bytes, ever, of which @counted are known; the others were sent in the @us
 * since its last report, which is no silence.  One that counts anew is another one.
 */
static __always_inline void mlcc_lead_report(struct mlcc_job *j, u64 *counted, u64 sent, u64 now,
					     u32 us)
{
	u64 more = sent - *counted;

	if (sent < *counted || more > MLCC_PHASE_BYTES_MAX) {
		*counted = sent;
		return;
	}
	if (!more)
		return;
	*counted = sent;
	mlcc_job_tx_start(j, now - us, 0);
	mlcc_job_count(j, more, now);
}

static __always_inline struct mlcc_lead_answer mlcc_lead_answer(const struct mlcc_job *j, u64 now)
{
	return (struct mlcc_lead_answer) {
		.progress = mlcc_phase_progress(j, mlcc_phase_sent(j)),
		.best_us = MLCC_READ(j->best_us),
		.gap_us = MLCC_READ(j->gap_us),
		.age_us = mlcc_us32(now - MLCC_READ(j->start_us)),
	};
}

/*** The others, and the leader as a host ***/

/* One at a time.  @acked: what the host has sent, ever.  What is no progress is none. */
static __always_inline void mlcc_led_hear(struct mlcc_led *l, const struct mlcc_lead_answer *a,
					  u64 acked, u32 now)
{
	if (!l->told)
		MLCC_WRITE(l->ended_us, now - a->age_us - 1);
	if (!l->heard.gap_us)	/* until now phases were not told apart */
		MLCC_WRITE(l->start_acked, acked);
	MLCC_WRITE(l->heard.progress, a->progress <= MLCC_ONE ? a->progress : MLCC_NEUTRAL);
	MLCC_WRITE(l->heard.best_us, a->best_us);
	MLCC_WRITE(l->heard.gap_us, a->gap_us);
	MLCC_WRITE(l->heard.age_us, a->age_us);
	MLCC_WRITE(l->heard_us, now);
	MLCC_WRITE(l->told, 1);
}

/* The host sends, and has sent @acked, ever, before that. */
static __always_inline void mlcc_led_sends(struct mlcc_led *l, u64 acked, u32 now)
{
	u32 gap = MLCC_READ(l->heard.gap_us), last = MLCC_READ(l->last_us);

	MLCC_WRITE(l->last_us, now);
	if (!gap || now - last <= gap >> 1 || MLCC_CAS32(&l->busy, 0, 1))
		return;
	MLCC_WRITE(l->ended_us, last);
	MLCC_WRITE(l->d_phase, acked - l->start_acked);
	MLCC_WRITE(l->start_acked, acked);
	MLCC_CAS32(&l->busy, 1, 0);
}

/* The job's progress, Q16 in 0 .. MLCC_ONE, or MLCC_NEUTRAL. */
static __always_inline u32 mlcc_led_progress(const struct mlcc_led *l, u32 now)
{
	u32 heard = MLCC_READ(l->heard_us), p = MLCC_READ(l->heard.progress);
	u32 began = heard - MLCC_READ(l->heard.age_us);

	if (!MLCC_READ(l->told) || now - heard > MLCC_LEAD_OLD_US)
		return MLCC_NEUTRAL;
	if (p == MLCC_NEUTRAL || (s32)(began - MLCC_READ(l->ended_us)) > 0)
		return p;
	return 0;
}

/* What one of the host's flows sends in a phase: mlcc_job_flow_bytes() of its own tracker @j. */
static __always_inline u64 mlcc_led_flow_bytes(const struct mlcc_led *l, const struct mlcc_job *j)
{
	return MLCC_READ(l->d_phase) * MLCC_READ(j->share) >> MLCC_SHIFT;
}

/* ... and its rate in the job's best phase, in kb/s; 0: not known yet. */
static __always_inline u64 mlcc_led_flow_kbps(const struct mlcc_led *l, const struct mlcc_job *j)
{
	return mlcc_kbps(mlcc_led_flow_bytes(l, j), MLCC_READ(l->heard.best_us));
}

#endif /* MLCC_LEAD_H */
