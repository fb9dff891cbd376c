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
 * How long is long?  The first silence counts when it lasts a quarter of what came before it.  From
 * then on a silence counts when it lasts at least half as long as the longest one of the
 * last phases, so the short ones between the bursts of one iteration do not; and never below four
 * round trips or MLCC_GAP_MIN_US.  Once a confident job has sent what it has learnt, a quarter
 * does: something small in the compute time (a heartbeat) would else join two phases.
 *
 * A yardstick that was seen once is doubted: a program that starts is silent for many times its
 * compute time, and that would join dozens of phases.  When MLCC_ALIKE silences of a phase were
 * alike, and the yardstick is over four times as long, they are the yardstick; unless the long one
 * comes again soon.
 *
 * The tracker is confident when successive phases agree in their bytes (within 1/4) and in the
 * silence before them (within 1/2; congestion stretches the phase, not the compute time).  A phase
 * that does not agree takes the confidence away and makes the next one dearer: "need" agreeing
 * phases, 1 at first, 3 after one miss, at most 15; a long agreeing run makes it cheap again.  A
 * job that sends messages of one size at random times so stays neutral.  A job whose pattern has
 * held for MLCC_PROVEN phases and then changes (batch size, workers) has learnt again after two.
 * Congestion elsewhere does stretch the silence: a ring waits for the link that is done last.  Once
 * confident, a silence that is up to four times longer says neither yes nor no.
 *
 * A phase below 1/16 of the learnt bytes is none (a heartbeat, or the answer to a host whose part
 * took longer than ours), unless it comes more than MLCC_STRAYS_MAX times in a row.
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
#include "contend.h"
#include "fair.h"
#include "rule.h"

#define MLCC_GAP_MIN_US		1000U	/* a shorter silence is never a compute phase */
#define MLCC_NEED_MAX		15U	/* agreeing phases that the worst pattern needs */
#define MLCC_STEADY		16U	/* agreeing phases after which "need" is 1 again */
#define MLCC_PROVEN		8U	/* agreeing phases after which the first miss is free */
#define MLCC_INNER_MAX		32U	/* silences in a phase of which nothing is learnt */
#define MLCC_INNER_FIRST	3U	/* the same while there is no yardstick at all */
#define MLCC_ALIKE		3U	/* silences, within a half, that make a yardstick */
#define MLCC_SOON		8U	/* times its length: how soon a doubted silence returns */
#define MLCC_STRAYS_MAX		3U	/* small phases in a row that are still taken for noise */
#define MLCC_NEUTRAL		(~0U)	/* instead of a progress: do as the base algorithm does */

/* What userspace has said of the phase, see hint.h. */
enum mlcc_told {
	MLCC_TOLD_NOTHING,	/* phases are found by their silences */
	MLCC_TOLD_RUNNING,	/* the phase was announced */
	MLCC_TOLD_OVER,		/* and is over */
	MLCC_TOLD_AHEAD,	/* the next one has begun before it was announced */
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
	u64 d_whole;		/* "d_phase" and what has been put aside */
	u64 aside;		/* bytes of this phase that are no progress, see mlcc_job_aside() */
	u32 seq;		/* number of the phase, 0: none yet */
	u32 flows;		/* flows that have sent in this phase */
	u32 share;		/* Q16, 1 / flows of the last phase */
	u32 byte_cost;		/* us that a byte takes the link, Q20; 0: not known */
	u32 busy;		/* try-lock of what follows */

	/* what has been learnt */
	u32 hits;		/* agreeing phases in a row */
	u32 need;		/* how many of them make confidence */
	u32 gap_long_us;	/* the silence that others are measured by */
	u32 gap_sure;		/* it has come more than once */
	u32 forgot;		/* this phase teaches nothing */
	u32 inner;		/* silences inside this phase */
	u32 inner_us;		/* the longest of them */
	u32 inner_alike;	/* how many are like that */
	u32 doubted_us;		/* the last yardstick that was doubted */
	u32 gap_us;		/* learnt compute time */
	u32 period_us;		/* learnt time from start to start */
	u32 comm_us;		/* how long the last phase took */
	u64 start_us;		/* when the phase began */
	u64 doubted_until;	/* us: if it has come again by then, it was right */
	u64 d_learnt;		/* learnt bytes of a phase */
	u64 d_hint;		/* bytes that userspace announced, 0: nothing */
	u64 d_said;		/* "d_hint" when this phase began */
	u32 hint_wrong;		/* the announcement did not hold */
	u32 strays;		/* phases too small to learn from, in a row */
	u32 told;		/* enum mlcc_told */

	struct mlcc_contend contend;
	struct mlcc_fair fair;
};

static __always_inline u64 mlcc_absdiff(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

static __always_inline bool mlcc_confident(const struct mlcc_job *j)
{
	return j->d_learnt && j->hits && j->hits >= j->need;
}

/* Progress is measured against @d bytes. */
static __always_inline void mlcc_phase_aim(struct mlcc_job *j, u64 d)
{
	MLCC_WRITE(j->d_phase, d);
	MLCC_WRITE(j->recip, mlcc_recip(d));
	MLCC_WRITE(j->d_limit, d + (d >> 2));
}

/* D_sent, with what has been put aside. */
static __always_inline u64 mlcc_phase_sent(const struct mlcc_job *j)
{
	return MLCC_READ(j->acked) - MLCC_READ(j->start_acked) + MLCC_READ(j->aside);
}

/* The shortest phase says how fast the link is, as far as the job can tell. */
static __always_inline u32 mlcc_byte_cost(const struct mlcc_job *j, u64 d)
{
	return d ? mlcc_cost(j->contend.best_us, d) : 0;
}

/* Sets what the next phase is measured against: the hint if it holds, else what was learnt. */
static __always_inline void mlcc_phase_target(struct mlcc_job *j)
{
	u64 d = 0;

	j->d_said = j->d_hint;
	if (j->d_hint && !j->hint_wrong)
		d = j->d_hint;
	else if (mlcc_confident(j))
		d = j->d_learnt;
	MLCC_WRITE(j->d_whole, d);
	MLCC_WRITE(j->byte_cost, mlcc_byte_cost(j, d));
	mlcc_phase_aim(j, d > j->aside ? d - j->aside : d);
}

static __always_inline void mlcc_phase_hit(struct mlcc_job *j)
{
	if (j->hits < MLCC_STEADY)
		j->hits++;
	else
		j->need = 1;
}

/* @grew: the job has only begun (what came before was the set-up of its connections). */
static __always_inline void mlcc_phase_miss(struct mlcc_job *j, bool grew)
{
	if (grew || j->hits >= MLCC_PROVEN)
		j->need = 1;
	else
		j->need = j->need * 2 + 1;
	if (j->need > MLCC_NEED_MAX)
		j->need = MLCC_NEED_MAX;
	j->hits = 0;
}

static __always_inline u64 mlcc_ewma(u64 old, u64 sample, bool agrees)
{
	return agrees ? old - (old >> 2) + (sample >> 2) : sample;
}

/*
 * Whether a silence of @gap us may be the compute time and a wait: this host has sent its part of a
 * ring, and another one, behind other jobs, has not.
 */
static __always_inline bool mlcc_gap_waited(const struct mlcc_job *j, u32 gap)
{
	return mlcc_confident(j) && gap > j->gap_us && gap >> 2 <= j->gap_us;
}

/* Compares a phase of @d bytes with a silence of @gap us after it with what was learnt. */
static __always_inline void mlcc_phase_learn(struct mlcc_job *j, u64 d, u32 gap)
{
	bool same_d = mlcc_absdiff(d, j->d_learnt) <= j->d_learnt >> 2;
	bool same_gap = mlcc_absdiff(gap, j->gap_us) <= j->gap_us >> 1;
	bool waited = same_d && mlcc_gap_waited(j, gap);

	if (same_d && (same_gap || j->strays))
		mlcc_phase_hit(j);
	else if (!waited)
		mlcc_phase_miss(j, !same_d && d >> 2 > j->d_learnt);

	j->strays = 0;
	j->d_learnt = mlcc_ewma(j->d_learnt, d, same_d);
	j->gap_us = mlcc_ewma(j->gap_us, gap, same_gap || waited);
	/* a standing hint that has been corrected since is not judged by the old one */
	if (j->told || j->d_said == j->d_hint)
		j->hint_wrong = j->d_said && mlcc_absdiff(d, j->d_said) > j->d_said >> 2;
}

/* Keeps the yardstick of silences: up at most twofold a phase, so that no pause sets it. */
static __always_inline void mlcc_gap_learn(struct mlcc_job *j, u32 gap)
{
	u32 g = j->gap_long_us;

	j->gap_sure = !!g;
	if (!g)
		g = gap;
	else if (gap > g)
		g = gap >> 1 > g ? g << 1 : gap;
	else
		g = g - (g >> 3) + (gap >> 3);
	j->gap_long_us = g;
}

static __always_inline u32 mlcc_us32(u64 us)
{
	return us >> 31 ? 1U << 31 : us;
}

/* Learning begins anew, with a silence of @gap us; what ended with it teaches nothing. */
static __always_inline void mlcc_phase_forget(struct mlcc_job *j, u32 gap)
{
	j->d_learnt = 0;
	j->hits = 0;
	j->need = 1;
	j->gap_us = gap;
	j->gap_long_us = gap;
	j->gap_sure = 0;
	j->forgot = 1;
}

/* The yardstick that was doubted was right: the silence of @gap us is like it. */
static __always_inline bool mlcc_gap_returns(const struct mlcc_job *j, u64 now, u32 gap)
{
	return j->doubted_us && now < j->doubted_until && gap >= j->doubted_us >> 1;
}

/*
 * Whether a phase of @d bytes was too small to teach anything but how long silences are: a
 * heartbeat, or a host that has sent its part answers those who have not.
 */
static __always_inline bool mlcc_phase_is_stray(const struct mlcc_job *j, u64 d)
{
	return !j->forgot && d < j->d_learnt >> 4 && j->strays < MLCC_STRAYS_MAX;
}

/* A stray ends with a silence of @gap us; it belongs to the period of the phase before it. */
static __always_inline void mlcc_phase_stray(struct mlcc_job *j, u64 now, u32 gap)
{
	j->strays++;
	j->period_us = mlcc_us32((u64)j->period_us + now - j->start_us);
	mlcc_gap_learn(j, gap);
	mlcc_contend_unmark(&j->contend);
}

/*
 * What the phase that ended teaches.  A silence far longer than those before it, with nothing
 * certain yet: they were inside a phase, and what ended here was a part of one.
 * Returns whether it was a phase at all.
 */
static __always_inline bool mlcc_phase_ended(struct mlcc_job *j, u64 now, u64 d, u32 gap)
{
	bool returns = mlcc_gap_returns(j, now, gap);

	if (returns || (!mlcc_confident(j) && j->gap_long_us && gap >> 2 > j->gap_long_us)) {
		mlcc_phase_forget(j, gap);
		j->gap_sure = returns;
	}
	if (mlcc_phase_is_stray(j, d)) {
		mlcc_phase_stray(j, now, gap);
		return false;
	}
	j->comm_us = mlcc_us32(MLCC_READ(j->last_us) - j->start_us);
	j->period_us = mlcc_us32(now - j->start_us);
	if (!j->forgot) {
		mlcc_phase_learn(j, d, gap);
		mlcc_gap_learn(j, gap);
	}
	j->forgot = 0;
	mlcc_contend_learn(&j->contend, j->comm_us, j->gap_us, mlcc_confident(j));
	return true;
}

/* Ends the phase that ran until now and begins the next.  The caller holds "busy". */
static __always_inline void mlcc_phase_turn(struct mlcc_job *j, u64 now, u32 gap)
{
	u64 acked = MLCC_READ(j->acked);
	bool whole = !j->seq ||
		     mlcc_phase_ended(j, now, acked - j->start_acked + j->aside, gap);

	MLCC_WRITE(j->aside, 0);
	mlcc_fair_turn(&j->fair);
	mlcc_phase_target(j);
	j->start_us = now;
	j->inner = 0;
	j->inner_us = 0;
	j->inner_alike = 0;
	if (whole)
		MLCC_WRITE(j->share, MLCC_ONE / (j->flows ? j->flows : 1));
	MLCC_WRITE(j->flows, 0);
	MLCC_WRITE(j->start_acked, acked);
	MLCC_WRITE(j->seq, j->seq + 1);
}

/*
 * Whether a silence of @gap us is a part of the compute time: the phase has sent all that a
 * confident job has learnt, and something small (a heartbeat) parted the silence.  Then it says
 * nothing of how long that time is.
 */
static __always_inline bool mlcc_gap_parted(const struct mlcc_job *j, u32 gap)
{
	u64 d = mlcc_phase_sent(j);

	return gap < j->gap_long_us >> 1 && gap >= j->gap_long_us >> 2 && mlcc_confident(j) &&
	       d + (d >> 4) >= j->d_learnt;
}

/* A silence of @gap us is inside the phase. */
static __always_inline void mlcc_gap_inner(struct mlcc_job *j, u32 gap)
{
	j->inner++;
	if (gap >> 1 > j->inner_us)
		j->inner_alike = 0;
	if (gap >= j->inner_us >> 1)
		j->inner_alike++;
	if (gap > j->inner_us)
		j->inner_us = gap;
}

/* Whether the yardstick was only seen once, and the silences since then were others. */
static __always_inline bool mlcc_gap_doubts(struct mlcc_job *j, u64 now, u32 gap)
{
	/* who has been told the bytes goes by them, and a shorter yardstick would judge them */
	if (j->d_hint || j->gap_sure || j->inner_alike < MLCC_ALIKE || gap < j->inner_us >> 1 ||
	    j->gap_long_us >> 2 < j->inner_us)
		return false;
	j->doubted_us = j->gap_long_us;
	j->doubted_until = now + (u64)MLCC_SOON * j->gap_long_us;
	return true;
}

/*
 * Whether a silence of @gap us ends the phase.  Bytes beyond twice what was learnt, or with nothing
 * learnt MLCC_INNER_MAX silences, say that the yardstick has become too long (the compute time has
 * shrunk, or there was one long pause; the first phase was stretched by others).
 */
static __always_inline bool mlcc_gap_ends(struct mlcc_job *j, u64 now, u32 gap)
{
	u64 d = mlcc_phase_sent(j);
	u32 most = j->gap_long_us ? MLCC_INNER_MAX : MLCC_INNER_FIRST;
	u32 long_us = j->gap_long_us >> 1;

	if (!long_us)
		long_us = mlcc_us32(MLCC_READ(j->last_us) - j->start_us) >> 2;
	if (gap >= long_us || mlcc_gap_parted(j, gap))
		return true;
	mlcc_gap_inner(j, gap);
	if (!mlcc_gap_doubts(j, now, gap) &&
	    (j->d_learnt ? d >> 1 <= j->d_learnt : j->inner < most))
		return false;
	mlcc_phase_forget(j, gap);
	return true;
}

/*
 * Whether a silence of @gap us ends the phase, given what userspace has said.  Who announces phases
 * and is silent about one (the process was killed) is no longer waited for: they are learnt on.
 */
static __always_inline bool mlcc_gap_turns(struct mlcc_job *j, u64 now, u32 gap)
{
	u64 d = MLCC_READ(j->acked) - j->start_acked;

	if (j->told == MLCC_TOLD_OVER) {
		MLCC_WRITE(j->told, MLCC_TOLD_AHEAD);
		return true;
	}
	if (j->told == MLCC_TOLD_RUNNING && d <= j->d_limit)
		return false;
	if (!mlcc_gap_ends(j, now, gap))
		return false;
	MLCC_WRITE(j->told, MLCC_TOLD_NOTHING);
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
	bool turn;

	turn = !MLCC_READ(j->seq) || (gap >= MLCC_GAP_MIN_US && gap >> 2 >= min_rtt);
	if (turn) {
		if (MLCC_CAS32(&j->busy, 0, 1))
			return false;
		turn = !j->seq || mlcc_gap_turns(j, now, gap);
		if (turn)
			mlcc_phase_turn(j, now, mlcc_gap_parted(j, gap) ? j->gap_us : gap);
		MLCC_WRITE(j->last_us, now);
		MLCC_CAS32(&j->busy, 1, 0);
		return turn;
	}
	if (now > last)
		MLCC_WRITE(j->last_us, now);
	return false;
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
	if (MLCC_READ(j->contend.push))
		return MLCC_ONE;
	return mlcc_progress(sent, d, MLCC_READ(j->recip));
}

/* Whether the phase has not run for long, at @now (us): a quarter of what it takes at least. */
static __always_inline bool mlcc_phase_is_young(const struct mlcc_job *j, u64 now)
{
	u32 best = MLCC_READ(j->contend.best_us);

	return now < j->start_us + (best >> 2);
}

/* @bytes that have been acknowledged in this phase are no progress, and D_phase is without them. */
static __always_inline void mlcc_job_aside(struct mlcc_job *j, u64 bytes)
{
	u64 d = MLCC_READ(j->d_whole);

	MLCC_FETCH_ADD64(&j->start_acked, bytes);
	bytes += MLCC_FETCH_ADD64(&j->aside, bytes);
	if (bytes < d)
		mlcc_phase_aim(j, d - bytes);
}

/* Userspace announces that a phase has @bytes; 0 takes the announcement back. */
static __always_inline void mlcc_job_hint(struct mlcc_job *j, u64 bytes)
{
	MLCC_WRITE(j->hint_wrong, 0);
	MLCC_WRITE(j->d_hint, bytes <= MLCC_PHASE_BYTES_MAX ? bytes : 0);
}

#endif /* MLCC_PHASE_H */
