/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The phase tracker: where a job is in its communication phase, learnt from what its flows do.
 *
 * A training job computes, then sends D_phase bytes, and again.  The tracker sees two things of
 * all flows of the job on this host: bytes being acknowledged, and a flow that starts to send with
 * nothing in flight.  Such a start after a long silence of the whole job is a new phase:
 *
 *	  D_sent  _____________                     _____________
 *	         /             \    gap (compute)  /
 *	     ___/               \_________________/
 *	        ^ start          ^ last            ^ start: learn D_phase, gap and period
 *
 * How long is long?  A histogram with a bin for each doubling of the length counts the job's
 * silences.  The compute time is in the longest bin that comes again: twice, and at least once in
 * MLCC_INNER silences, for a phase may be sent in as many pieces.  A silence of that bin or the one
 * below ends a phase, and where a confident job has sent what it has learnt, of the one below that:
 * something small in the compute time (a heartbeat) would else join two phases.  A silence below
 * four round trips or MLCC_GAP_MIN_US never does.  Before anything is known, one that lasts a
 * quarter of what came before it does, and the third one of a bin: others may have stretched the
 * first phase.
 *
 * The tracker is confident when MLCC_AGREE phases in a row agree with the one before in their bytes
 * (within 1/4) and in the silence before them (within 1/2; congestion stretches the phase, not the
 * compute time); one that does not takes the confidence away.  A job that sends messages of one
 * size at random times so stays neutral.  Congestion elsewhere does stretch the silence: a ring
 * waits for the link that is done last.  Once confident, a silence that is up to four times longer
 * says neither yes nor no.
 *
 * A phase below 1/16 of the learnt bytes is none (a heartbeat, or the answer to a host whose part
 * took longer than ours), unless it comes more than MLCC_SPURIOUS_MAX times in a row.
 *
 * Without confidence there is no progress and the flow does what its base algorithm does; so it
 * does once D_sent runs past D_phase by 1/4, for then D_phase is wrong.  A hint (userspace says how
 * many bytes the phase has) counts at once, until a whole phase has shown it to be wrong.
 *
 * Flows of one job run on many CPUs.  "acked" is the one atomic counter in the ACK path.  The rest
 * changes once a phase, by the flow that wins "busy"; who loses goes on with what was there.
 *
 * Times are microseconds of one monotonic clock.
 */
#ifndef MLCC_PHASE_H
#define MLCC_PHASE_H

#include "types.h"
#include "queue.h"
#include "rule.h"

#define MLCC_GAP_MIN_US		1000U	/* a shorter silence is never a compute phase */
#define MLCC_GAP_BINS		16U	/* the last one: from 33 s on */
#define MLCC_GAP_FIRST		3U	/* so many of a bin end a phase, however long it is */
#define MLCC_INNER		32U	/* silences, of which one at least is the compute time */
#define MLCC_AGREE		2U	/* phases in a row that agree are believed */
#define MLCC_SPURIOUS_MAX	3U	/* small phases in a row that are taken for noise */
#define MLCC_NEUTRAL		(~0U)	/* instead of a progress: do as the base algorithm does */

/* What userspace has announced of the phase, see hint.h. */
enum mlcc_hint_state {
	MLCC_HINT_NONE,	/* phases are found by their silences */
	MLCC_HINT_RUNNING,	/* the phase was announced */
	MLCC_HINT_OVER,		/* and is over */
	MLCC_HINT_PENDING,	/* the next one has begun before it was announced */
};

struct mlcc_job {
	/* written on every ACK */
	u64 acked;		/* bytes of all flows, ever */
	u64 last_us;		/* when the job last sent or got an ACK */

	/* read on every ACK, written once a phase */
	u64 start_acked;	/* "acked" when the phase began */
	u64 d_phase;		/* bytes of this phase, 0: not known */
	u64 recip;		/* mlcc_recip(d_phase) */
	u64 d_limit;		/* D_sent beyond which d_phase is wrong */
	u64 start_us;		/* when the phase began */
	u32 seq;		/* number of the phase, 0: none yet */
	u32 flows;		/* flows that have sent in this phase */
	u32 share;		/* Q16, 1 / flows of the last phase */
	u32 busy;		/* try-lock of what follows */

	/* what has been learnt */
	u64 d_learnt;		/* bytes of a phase */
	u64 d_hint;		/* bytes that userspace announced, 0: nothing */
	u64 d_hinted;		/* "d_hint" when this phase began */
	u32 hint_wrong;		/* the announcement did not hold */
	u32 hint_state;		/* enum mlcc_hint_state */
	u32 hits;		/* agreeing phases in a row */
	u32 spurious;		/* phases too small to learn from, in a row */
	u32 gap_us;		/* compute time */
	u32 period_us;		/* from start to start */
	u32 comm_us;		/* how long the last phase took */
	u32 best_us;		/* shortest phase; forgotten by 1/64 of the difference a phase */
	u32 long_bin;		/* the bin that the compute time is in */
	u32 forgot;		/* this phase teaches nothing */
	u8 gaps[MLCC_GAP_BINS];	/* silences of 1024 << bin us and more */

	struct mlcc_queue queue;
};

static __always_inline u64 mlcc_absdiff(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

static __always_inline bool mlcc_confident(const struct mlcc_job *j)
{
	return j->hits >= MLCC_AGREE;
}

/* D_sent. */
static __always_inline u64 mlcc_phase_sent(const struct mlcc_job *j)
{
	return MLCC_READ(j->acked) - MLCC_READ(j->start_acked);
}

/* Sets what the phase is measured against: the hint if it holds, else what was learnt. */
static __always_inline void mlcc_phase_target(struct mlcc_job *j)
{
	u64 d = 0;

	j->d_hinted = j->d_hint;
	if (j->d_hint && !j->hint_wrong)
		d = j->d_hint;
	else if (mlcc_confident(j))
		d = j->d_learnt;
	MLCC_WRITE(j->d_phase, d);
	MLCC_WRITE(j->recip, mlcc_recip(d));
	MLCC_WRITE(j->d_limit, d + (d >> 2));
}

/* Compares a phase of @d bytes with a silence of @gap us after it with what was learnt. */
static __always_inline void mlcc_phase_learn(struct mlcc_job *j, u64 d, u32 gap)
{
	bool same_d = mlcc_absdiff(d, j->d_learnt) <= j->d_learnt >> 2;
	bool same_gap = mlcc_absdiff(gap, j->gap_us) <= j->gap_us >> 1;
	/* others of a ring, behind other jobs, were not done yet */
	bool waited = same_d && !same_gap && mlcc_confident(j) && gap > j->gap_us &&
		      gap >> 2 <= j->gap_us;

	if (same_d && (same_gap || j->spurious))
		j->hits++;
	else if (!waited)
		j->hits = 0;
	j->spurious = 0;
	j->d_learnt = d;
	if (!waited)
		j->gap_us = gap;
	if (!j->best_us || j->comm_us < j->best_us)
		j->best_us = j->comm_us;
	else
		j->best_us += (j->comm_us - j->best_us) >> 6;
	/* a standing hint that has been corrected since is not judged by the old one */
	if (j->hint_state || j->d_hinted == j->d_hint)
		j->hint_wrong = j->d_hinted && mlcc_absdiff(d, j->d_hinted) > j->d_hinted >> 2;
}

static __always_inline u32 mlcc_us32(u64 us)
{
	return us >> 31 ? 1U << 31 : us;
}

/* Learning begins anew; what ends now teaches nothing. */
static __always_inline void mlcc_phase_forget(struct mlcc_job *j)
{
	j->d_learnt = 0;
	j->hits = 0;
	j->best_us = 0;
	j->forgot = 1;
}

static __always_inline u32 mlcc_gap_bin(u32 gap)
{
	u32 bin = 0;

	for (u32 us = gap >> 11; us && bin < MLCC_GAP_BINS - 1; us >>= 1)
		bin++;
	return bin;
}

/* A silence of @gap us belongs to the histogram; it may show where the compute time is. */
static __always_inline void mlcc_gap_count(struct mlcc_job *j, u32 bin)
{
	u32 all = 0, most = 0, longest = 0, once;

	j->gaps[bin & (MLCC_GAP_BINS - 1)]++;
	for (u32 i = 0; i < MLCC_GAP_BINS; i++) {
		all += j->gaps[i];
		most = j->gaps[i] > most ? j->gaps[i] : most;
	}
	once = most > 1;
	for (u32 i = 0; i < MLCC_GAP_BINS; i++) {
		if (j->gaps[i] > once && j->gaps[i] * MLCC_INNER >= all)
			longest = i;
		j->gaps[i] >>= most == 255;
	}
	/* what was learnt were pieces of a phase */
	if (j->d_learnt && longest > j->long_bin + 2)
		mlcc_phase_forget(j);
	j->long_bin = longest;
}

/* The compute time has become shorter: longer silences no longer count. */
static __always_inline void mlcc_gap_shrink(struct mlcc_job *j, u32 bin)
{
	for (u32 i = 0; i < MLCC_GAP_BINS; i++)
		j->gaps[i] = i <= bin ? j->gaps[i] : 0;
	j->long_bin = bin;
	mlcc_phase_forget(j);
}

/*
 * Whether a silence in @bin is a part of the compute time: the phase has sent all that a confident
 * job has learnt, and something small (a heartbeat) parted the silence.  Then it says nothing of
 * how long that time is.
 */
static __always_inline bool mlcc_gap_parted(const struct mlcc_job *j, u32 bin)
{
	u64 d = mlcc_phase_sent(j);

	return bin < j->long_bin && bin + 2 >= j->long_bin && mlcc_confident(j) &&
	       d + (d >> 4) >= j->d_learnt;
}

/*
 * Whether a silence in @bin ends the first phase.  One that comes for the MLCC_GAP_FIRST-th time
 * does, however long the phase has become, which then was several.
 */
static __always_inline bool mlcc_gap_ends_first(struct mlcc_job *j, u32 bin, u32 gap)
{
	u32 alike = j->gaps[bin & (MLCC_GAP_BINS - 1)];

	if (bin + 1 < j->long_bin)
		return false;
	if (gap >= mlcc_us32(MLCC_READ(j->last_us) - j->start_us) >> 2)
		return true;
	j->forgot = alike == MLCC_GAP_FIRST;
	return alike >= MLCC_GAP_FIRST;
}

/*
 * Whether a silence of @gap us ends the phase.  Bytes beyond twice what was learnt say that it
 * should have ended before.
 */
static __always_inline bool mlcc_gap_ends(struct mlcc_job *j, u32 gap)
{
	u32 bin = mlcc_gap_bin(gap);

	mlcc_gap_count(j, bin);
	if (!j->d_learnt)
		return mlcc_gap_ends_first(j, bin, gap);
	if (bin + 1 >= j->long_bin || mlcc_gap_parted(j, bin))
		return true;
	if (mlcc_phase_sent(j) >> 1 <= j->d_learnt)
		return false;
	mlcc_gap_shrink(j, bin);
	return true;
}

/* What the phase that ended with a silence of @gap us teaches.  Returns whether it was one. */
static __always_inline bool mlcc_phase_ended(struct mlcc_job *j, u64 now, u64 d, u32 gap)
{
	if (d < j->d_learnt >> 4 && j->spurious < MLCC_SPURIOUS_MAX) {
		j->spurious++;
		j->period_us = mlcc_us32((u64)j->period_us + now - j->start_us);
		return false;
	}
	j->comm_us = mlcc_us32(MLCC_READ(j->last_us) - j->start_us);
	j->period_us = mlcc_us32(now - j->start_us);
	if (!j->forgot)
		mlcc_phase_learn(j, d, gap);
	j->forgot = 0;
	mlcc_queue_learn(&j->queue, j->best_us + j->gap_us);
	return true;
}

/* Ends the phase that ran until now and begins the next.  The caller holds "busy". */
static __always_inline void mlcc_phase_rollover(struct mlcc_job *j, u64 now, u32 gap)
{
	u64 acked = MLCC_READ(j->acked);

	if (!j->seq || mlcc_phase_ended(j, now, acked - j->start_acked, gap))
		MLCC_WRITE(j->share, MLCC_ONE / (j->flows ? j->flows : 1));
	mlcc_queue_rollover(&j->queue);
	mlcc_phase_target(j);
	MLCC_WRITE(j->start_us, now);
	MLCC_WRITE(j->flows, 0);
	MLCC_WRITE(j->start_acked, acked);
	MLCC_WRITE(j->seq, j->seq + 1);
}

/*
 * Whether a silence of @gap us ends the phase, given what userspace has announced.  Who announces
 * phases and is silent about one (the process was killed) is no longer waited for: they are learnt
 * on.
 */
static __always_inline bool mlcc_gap_rolls_over(struct mlcc_job *j, u32 gap)
{
	if (j->hint_state == MLCC_HINT_OVER) {
		MLCC_WRITE(j->hint_state, MLCC_HINT_PENDING);
		return true;
	}
	if (j->hint_state == MLCC_HINT_RUNNING && mlcc_phase_sent(j) <= j->d_limit)
		return false;
	if (!mlcc_gap_ends(j, gap))
		return false;
	MLCC_WRITE(j->hint_state, MLCC_HINT_NONE);
	return true;
}

/*
 * A flow of the job starts to send with nothing of its own in flight.
 * @now: us.  @min_rtt: us, of this flow.  Returns whether this started a new phase.
 */
static __always_inline bool mlcc_job_tx_start(struct mlcc_job *j, u64 now, u32 min_rtt)
{
	u64 last = MLCC_READ(j->last_us);
	u32 gap = now > last ? mlcc_us32(now - last) : 0;
	bool rollover;

	if (MLCC_READ(j->seq) && (gap < MLCC_GAP_MIN_US || gap >> 2 < min_rtt)) {
		if (now > last)
			MLCC_WRITE(j->last_us, now);
		return false;
	}
	if (MLCC_CAS32(&j->busy, 0, 1))
		return false;
	rollover = !j->seq || mlcc_gap_rolls_over(j, gap);
	if (rollover)
		mlcc_phase_rollover(j, now,
				    mlcc_gap_parted(j, mlcc_gap_bin(gap)) ? j->gap_us : gap);
	MLCC_WRITE(j->last_us, now);
	MLCC_CAS32(&j->busy, 1, 0);
	return rollover;
}

/*
 * @bytes of the job have been acknowledged at @now (us).
 * Returns the job's progress, Q16 in 0 .. MLCC_ONE, or MLCC_NEUTRAL.
 */
static __always_inline u32 mlcc_job_acked(struct mlcc_job *j, u32 bytes, u64 now)
{
	u64 sent = MLCC_FETCH_ADD64(&j->acked, bytes) + bytes - MLCC_READ(j->start_acked);
	u64 d = MLCC_READ(j->d_phase);

	if (MLCC_READ(j->last_us) < now)
		MLCC_WRITE(j->last_us, now);
	if (!d || sent > MLCC_READ(j->d_limit))
		return MLCC_NEUTRAL;
	return mlcc_progress(sent, d, MLCC_READ(j->recip));
}

/* One more flow has sent in this phase. */
static __always_inline void mlcc_job_enter(struct mlcc_job *j)
{
	MLCC_FETCH_ADD32(&j->flows, 1);
}

/* What one of the job's flows sends in a phase. */
static __always_inline u64 mlcc_job_flow_bytes(const struct mlcc_job *j)
{
	return MLCC_READ(j->d_learnt) * MLCC_READ(j->share) >> MLCC_SHIFT;
}

/* ... and its rate in the best phase, in kb/s; 0: not known yet. */
static __always_inline u64 mlcc_job_flow_kbps(const struct mlcc_job *j)
{
	u32 us = MLCC_READ(j->best_us);

	return us ? MLCC_DIV64(mlcc_job_flow_bytes(j) * 8000, us) : 0;
}

/* Userspace announces that a phase has @bytes; 0 takes the announcement back. */
static __always_inline void mlcc_job_hint(struct mlcc_job *j, u64 bytes)
{
	MLCC_WRITE(j->hint_wrong, 0);
	MLCC_WRITE(j->d_hint, bytes <= MLCC_PHASE_BYTES_MAX ? bytes : 0);
}

#endif /* MLCC_PHASE_H */
