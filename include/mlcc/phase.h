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
 * How long is long?  The tracker tries MLCC_CUTS lengths at once, each 1.4 times the one before.
 * Each cuts what the job sends into parts, at the silences that are as long, and is believed when
 * parts in a row agree with the one before:
 *
 *	  sent          ||| ||| |||              ||| ||| |||              ||| ||| |||
 *	  cut at 2 ms  |   |   |                |   |   |                |   |   |   silences differ
 *	  cut at 8 ms  |                        |                        |           agree
 *	  cut at 1 s   |                                                             no end so far
 *
 * Of those that are believed, the one whose parts in a row have the most bytes has found the
 * phase, and so have all with parts of the same bytes.  A silence as long as the middle one of them
 * ends a phase: far above the waits inside it, and far below the compute time.
 *
 * Parts agree in their bytes (within 1/4; no more than MLCC_INNER silences in one) and in the
 * silence before them (within 1/4; within 1/2 once MLCC_AGREE have agreed; congestion stretches
 * the phase, not the compute time).  A part without a shorter silence counts as one that agrees.
 * Other bytes, or a silence far too long, take the confidence away; a silence too short takes a
 * quarter of it.  So a job that sends messages of one size at random times stays neutral.
 * Congestion elsewhere does stretch the silence: a ring waits for the link that is done last.  Once
 * confident, a silence up to four times longer says neither yes nor no.  One below four round trips
 * or MLCC_GAP_MIN_US does not count.
 *
 * Nor does a part below 1/16 of the one before (a heartbeat, or the answer to a host whose part
 * took longer than ours), unless it comes more than MLCC_SPURIOUS_MAX times in a row.
 *
 * Without confidence there is no progress, and the flow runs its base algorithm; likewise once
 * D_sent passes D_phase by 1/4, as D_phase is wrong then.  A hint (userspace says how many bytes
 * the phase has) counts at once, until a whole phase has shown it to be wrong.
 *
 * A phase that goes to MLCC_SCATTERED peers makes the next one neutral.  In an all-to-all each host
 * waits for all others, some ahead on their links and some behind: those that make way and those
 * that are let through both wait, and the job is slower than under the base algorithm.
 *
 * Flows of one job run on many CPUs.  "acked" is the one atomic counter in the ACK path.  The rest
 * changes once a phase, by the flow that wins "busy"; the others go on with what was there.
 *
 * Times are microseconds of one monotonic clock.
 */
#ifndef MLCC_PHASE_H
#define MLCC_PHASE_H

#include "types.h"
#include "rule.h"

#define MLCC_GAP_MIN_US		1000U	/* a shorter silence is never a compute phase */
#define MLCC_CUTS		32U	/* lengths that are tried, up to 46 s */
#define MLCC_INNER		96U	/* silences, of which one at least is the compute time */
#define MLCC_AGREE		3U	/* parts in a row that agree are believed */
#define MLCC_SPURIOUS_MAX	3U	/* small parts in a row that are taken for noise */
#define MLCC_SCATTERED		3U	/* peers of an address: neither a pair nor a ring */
#define MLCC_NEUTRAL		(~0U)	/* instead of a progress: do as the base algorithm does */

/* What userspace has announced of the phase, see hint.h. */
enum mlcc_hint_state {
	MLCC_HINT_NONE,	/* phases are found by their silences */
	MLCC_HINT_RUNNING,	/* the phase was announced */
	MLCC_HINT_OVER,		/* and is over */
	MLCC_HINT_PENDING,	/* the next one has begun before it was announced */
};

/* What the job sends, cut at silences of a length. */
struct mlcc_cut {
	u32 start_kb;		/* sent when this part began */
	u32 kb;			/* of the last part */
	u32 gap_us;		/* silence between parts, the mean of those that agreed */
	u8 silences;		/* in this part */
	u8 hits;		/* agreeing parts in a row */
	u8 spurious;		/* parts too small to learn from, in a row */
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
	u32 local;		/* an address of this host, of a flow that has sent; 0: none */
	u32 peers[MLCC_SCATTERED];	/* that flows have sent to from it; 0: no more */
	u32 busy;		/* try-lock of what follows */

	/* what has been learnt */
	u64 d_learnt;		/* bytes of a phase */
	u64 d_hint;		/* bytes that userspace announced, 0: nothing */
	u64 d_hinted;		/* "d_hint" when this phase began */
	u32 hint_wrong;		/* the announcement did not hold */
	u32 hint_state;		/* enum mlcc_hint_state */
	u32 hits;		/* agreeing parts in a row, 0: not believed */
	u32 gap_us;		/* compute time */
	u32 period_us;		/* from start to start */
	u32 comm_us;		/* how long the last phase took */
	u32 scattered;		/* the last phase went to MLCC_SCATTERED peers or more */
	u32 best_us;		/* shortest phase; forgotten by 1/64 of the difference a phase */
	u32 cut_us;		/* a silence as long ends a phase */

	/* in memory: in registers the BPF verifier would follow each value through the loops */
	u32 silence_us;		/* the last one */
	u32 best;		/* the cut that has explained the most bytes in a row */
	u32 low, high;		/* the first and the last that has parts of the same bytes */
	struct mlcc_cut cuts[MLCC_CUTS];

	/* of a background job, background.h; rates are us a byte, Q28 */
	u64 rate_acked;		/* "acked" when the measurement of a rate began */
	u32 rate_us;		/* and when that was */
	u32 rate_last;		/* the rate just before, 0: none */
	u32 rate_best;		/* 0: not known */
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
	if (j->scattered)
		d = 0;
	MLCC_WRITE(j->d_phase, d);
	MLCC_WRITE(j->recip, mlcc_recip(d));
	MLCC_WRITE(j->d_limit, d + (d >> 2));
}

static __always_inline u32 mlcc_us32(u64 us)
{
	return us >> 31 ? 1U << 31 : us;
}

/* Learning begins anew. */
static __always_inline void mlcc_phase_forget(struct mlcc_job *j)
{
	for (u32 i = 0; i < MLCC_CUTS; i++)
		j->cuts[i].hits = 0;
	j->d_learnt = 0;
	j->hits = 0;
	j->best_us = 0;
}

/*** Cuts ***/

/* The silence that is long enough for cut @i. */
static __always_inline u32 mlcc_cut_us(u32 i)
{
	return (i & 1 ? MLCC_GAP_MIN_US * 99 / 70 : MLCC_GAP_MIN_US) << (i >> 1);
}

/* A part of @kb has ended with a silence of @gap us: does it agree with the one before? */
static __always_inline void mlcc_cut_learn(struct mlcc_cut *c, u32 kb, u32 gap)
{
	bool believed = c->hits >= MLCC_AGREE;
	bool same_d = c->silences <= MLCC_INNER && mlcc_absdiff(kb, c->kb) <= c->kb >> 2;
	bool same_gap = mlcc_absdiff(gap, c->gap_us) <= c->gap_us >> (believed ? 1 : 2) ||
			c->spurious;

	c->kb = kb;
	/* others of a ring, behind other jobs, were not done yet */
	if (same_d && !same_gap && believed && gap > c->gap_us && gap >> 2 <= c->gap_us)
		return;
	if (same_d && same_gap)
		c->hits += c->hits < 255;
	else if (same_d && gap < c->gap_us)
		c->hits -= (c->hits + 3) >> 2;
	else
		c->hits = 0;
	c->gap_us = c->hits > 1 ? ((u64)c->gap_us + gap) >> 1 : gap;
	if (!c->hits && c->silences == 1)
		c->hits = 1;
}

/*
 * After a silence of @gap us the job sends on; @now_kb: what it has sent until now, ever; @us: the
 * silence that ends a part.
 */
static __always_inline void mlcc_cut_silence(struct mlcc_cut *c, u32 now_kb, u32 gap, u32 us)
{
	u32 kb = now_kb - c->start_kb;

	if (!kb)	/* an announcement has parted the silence, or next to nothing */
		return;
	c->silences += c->silences <= MLCC_INNER;
	if (gap < us) {
		c->hits = kb > c->kb + (c->kb >> 2) ? 0 : c->hits;
		return;
	}
	if (kb < c->kb >> 4 && c->spurious < MLCC_SPURIOUS_MAX) {
		c->spurious++;
	} else {
		mlcc_cut_learn(c, kb, gap);
		c->spurious = 0;
	}
	c->start_kb = now_kb;
	c->silences = 0;
}

/* What a cut has explained in a row, 0: it is not believed. */
static __always_inline u64 mlcc_cut_bytes(const struct mlcc_cut *c)
{
	u32 hits = MLCC_READ(c->hits);

	return hits < MLCC_AGREE ? 0 : (u64)hits * MLCC_READ(c->kb) << 10;
}

static __always_inline const struct mlcc_cut *mlcc_cut_best(const struct mlcc_job *j)
{
	return &j->cuts[MLCC_READ(j->best) & (MLCC_CUTS - 1)];
}

/* Whether cut @c has found parts of the same bytes as the best one. */
static __always_inline bool mlcc_cut_alike(const struct mlcc_job *j, const struct mlcc_cut *c)
{
	u32 kb = MLCC_READ(mlcc_cut_best(j)->kb);

	return mlcc_cut_bytes(c) && mlcc_absdiff(MLCC_READ(c->kb), kb) <= kb >> 2;
}

/* Takes over what the best cut has learnt, and the middle of all that have learnt the same. */
static __always_inline void mlcc_cut_choose(struct mlcc_job *j)
{
	const struct mlcc_cut *best;
	u64 d;

	MLCC_WRITE(j->best, 0);
	for (u32 i = 0; i < MLCC_CUTS; i++)
		if (mlcc_cut_bytes(&j->cuts[i]) >= mlcc_cut_bytes(mlcc_cut_best(j)))
			MLCC_WRITE(j->best, i);
	best = mlcc_cut_best(j);
	j->hits = mlcc_cut_bytes(best) ? best->hits : 0;
	if (!j->hits)
		return;
	MLCC_WRITE(j->low, MLCC_CUTS);
	for (u32 i = 0; i < MLCC_CUTS; i++) {
		if (!mlcc_cut_alike(j, &j->cuts[i]))
			continue;
		if (MLCC_READ(j->low) > i)
			MLCC_WRITE(j->low, i);
		MLCC_WRITE(j->high, i);
	}
	d = (u64)best->kb << 10;
	if (mlcc_absdiff(d, j->d_learnt) > j->d_learnt >> 2)
		j->best_us = 0;
	j->d_learnt = d;
	j->gap_us = best->gap_us;
	j->cut_us = mlcc_cut_us(((j->low + j->high + 1) >> 1) & (MLCC_CUTS - 1));
}

/* Learns from a silence of @gap us.  Returns whether it ends the phase. */
static __always_inline bool mlcc_gap_ends(struct mlcc_job *j, u32 gap)
{
	u32 kb = MLCC_READ(j->acked) >> 10;

	MLCC_WRITE(j->silence_us, gap);
	for (u32 i = 0; i < MLCC_CUTS; i++)
		mlcc_cut_silence(&j->cuts[i], kb, MLCC_READ(j->silence_us), mlcc_cut_us(i));
	mlcc_cut_choose(j);
	if (gap < j->cut_us)
		return false;
	if (!mlcc_confident(j))
		j->gap_us = gap;
	return true;
}

/*** Phases ***/

static __always_inline void mlcc_phase_best(struct mlcc_job *j)
{
	if (!j->best_us || j->comm_us < j->best_us)
		j->best_us = j->comm_us;
	else
		j->best_us += (j->comm_us - j->best_us) >> 6;
}

/* What the phase that ended teaches.  Returns whether it was one. */
static __always_inline bool mlcc_phase_ended(struct mlcc_job *j, u64 now, u64 d)
{
	if (mlcc_confident(j) && d < j->d_learnt >> 4) {
		j->period_us = mlcc_us32((u64)j->period_us + now - j->start_us);
		return false;
	}
	j->comm_us = mlcc_us32(MLCC_READ(j->last_us) - j->start_us);
	j->period_us = mlcc_us32(now - j->start_us);
	if (!mlcc_confident(j))
		j->d_learnt = d;
	if (d >= j->d_learnt - (j->d_learnt >> 2))	/* else it was cut short */
		mlcc_phase_best(j);
	/* a standing hint that has been corrected since is not judged by the old one */
	if (j->hint_state || j->d_hinted == j->d_hint)
		j->hint_wrong = j->d_hinted && mlcc_absdiff(d, j->d_hinted) > j->d_hinted >> 2;
	return true;
}

/* What the flows of the phase that ended say about the next one. */
static __always_inline void mlcc_phase_flows(struct mlcc_job *j)
{
	MLCC_WRITE(j->share, MLCC_ONE / (j->flows ? j->flows : 1));
	j->scattered = !!MLCC_READ(j->peers[MLCC_SCATTERED - 1]);
	MLCC_WRITE(j->local, 0);
	for (u32 i = 0; i < MLCC_SCATTERED; i++)
		MLCC_WRITE(j->peers[i], 0);
}

/* Ends the phase that ran until now and begins the next.  The caller holds "busy". */
static __always_inline void mlcc_phase_rollover(struct mlcc_job *j, u64 now)
{
	u64 acked = MLCC_READ(j->acked);

	if (!j->seq || mlcc_phase_ended(j, now, acked - j->start_acked))
		mlcc_phase_flows(j);
	mlcc_phase_target(j);
	MLCC_WRITE(j->start_us, now);
	MLCC_WRITE(j->flows, 0);
	MLCC_WRITE(j->start_acked, acked);
	MLCC_WRITE(j->seq, j->seq + 1);
}

/*
 * Whether a silence of @gap us ends the phase, given what userspace has announced.  If it fails to
 * announce one (the process was killed), phases are learnt again.
 */
static __always_inline bool mlcc_gap_rolls_over(struct mlcc_job *j, u32 gap)
{
	bool ends = mlcc_gap_ends(j, gap);

	if (j->hint_state == MLCC_HINT_OVER) {
		MLCC_WRITE(j->hint_state, MLCC_HINT_PENDING);
		return true;
	}
	if (j->hint_state == MLCC_HINT_RUNNING && mlcc_phase_sent(j) <= j->d_limit)
		return false;
	if (!ends)
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
		mlcc_phase_rollover(j, now);
	MLCC_WRITE(j->last_us, now);
	MLCC_CAS32(&j->busy, 1, 0);
	return rollover;
}

/* @bytes of the job have been acknowledged at @now (us).  Returns how many there are by now. */
static __always_inline u64 mlcc_job_count(struct mlcc_job *j, u64 bytes, u64 now)
{
	u64 acked = MLCC_FETCH_ADD64(&j->acked, bytes) + bytes;

	if (MLCC_READ(j->last_us) < now)
		MLCC_WRITE(j->last_us, now);
	return acked;
}

/* What @sent bytes of the phase are of it, Q16 in 0 .. MLCC_ONE, or MLCC_NEUTRAL. */
static __always_inline u32 mlcc_phase_progress(const struct mlcc_job *j, u64 sent)
{
	u64 d = MLCC_READ(j->d_phase);

	if (!d || sent > MLCC_READ(j->d_limit))
		return MLCC_NEUTRAL;
	return mlcc_progress(sent, d, MLCC_READ(j->recip));
}

/* As mlcc_job_count(); returns the job's progress. */
static __always_inline u32 mlcc_job_acked(struct mlcc_job *j, u32 bytes, u64 now)
{
	return mlcc_phase_progress(j, mlcc_job_count(j, bytes, now) - MLCC_READ(j->start_acked));
}

/* One more flow has sent in this phase. */
static __always_inline void mlcc_job_enter(struct mlcc_job *j)
{
	MLCC_FETCH_ADD32(&j->flows, 1);
}

/*
 * That flow goes from address @local of this host to @peer (neither 0): many peers of one address
 * are an all-to-all.  A ring over several network cards has one for each.
 */
static __always_inline void mlcc_job_peer(struct mlcc_job *j, u32 local, u32 peer)
{
	u32 first = MLCC_CAS32(&j->local, 0, local), known;

	if (first && first != local)
		return;
	for (u32 i = 0; i < MLCC_SCATTERED; i++) {
		known = MLCC_CAS32(&j->peers[i], 0, peer);
		if (!known || known == peer)
			return;
	}
}

/* What one of the job's flows sends in a phase. */
static __always_inline u64 mlcc_job_flow_bytes(const struct mlcc_job *j)
{
	return MLCC_READ(j->d_learnt) * MLCC_READ(j->share) >> MLCC_SHIFT;
}

/* kb/s; 0: not known yet. */
static __always_inline u64 mlcc_kbps(u64 bytes, u32 us)
{
	return us ? MLCC_DIV64(bytes * 8000, us) : 0;
}

/* ... and its rate in the best phase. */
static __always_inline u64 mlcc_job_flow_kbps(const struct mlcc_job *j)
{
	return mlcc_kbps(mlcc_job_flow_bytes(j), MLCC_READ(j->best_us));
}

/* Userspace announces that a phase has @bytes, MLCC_PHASE_BYTES_MAX at most; 0 takes that back. */
static __always_inline void mlcc_job_hint(struct mlcc_job *j, u64 bytes)
{
	MLCC_WRITE(j->hint_wrong, 0);
	MLCC_WRITE(j->d_hint, bytes);
}

#endif /* MLCC_PHASE_H */
