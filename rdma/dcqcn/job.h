/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a job's phase does to its flows under DCQCN.
 *
 * The rule (include/mlcc/rule.h) scales R_AI and decreases, as the job's profile says; progress is
 * the job's, from the shared tracker.  That alone moves little: R_C goes by the fourth root of
 * R_AI, and a flow that had to make way takes hundreds of T to get its rate back.  So where the
 * profile restarts small (MLCC_RESTART_QUEUE, flow.h has why) four things come with it:
 *
 *	restart	A phase begins with R_T at the flow's part of the line, R_C at 1/16 of that, and
 *		alpha as in a new flow.  If nobody is there, fast recovery has R_C back in a few T;
 *		if somebody is, the first CNPs take it down and R_T with it, and who was there
 *		first finishes.
 *	hyper	The hyper increase goes by the counter that is ahead, not by the one behind: a
 *		flow that has had no CNP for more than F periods takes what has become free.
 *	late	A decrease is 4 alpha (1 - p)^6 instead of alpha/2, within decrease_max, and no
 *		less than half of what the profile says at the end of the phase.  From 5/8 of a
 *		phase on it takes R_T down by half of what it lacks only.  So of two that are at
 *		it together the one that is ahead ends it first.
 *	floor	R_C stays above 1/1024 of that part, and so high that 16 packets of 4 KB would be
 *		sent in a phase: at a NIC's 1 Mb/s of 50 Gb/s one takes 33 ms, and it is by its
 *		packets that a flow takes what has become free.
 *
 * A job whose phase takes less than eight T where it has the link is left alone: DCQCN gives no
 * rate back that soon.
 *
 * A flow's part of the line is what it gets where its job has the link: the job's best rate on this
 * host, which is less than the line where many hosts send to one, by the flows that it has here.
 * Else all flows of a job would restart at the line, and a job of many would wait for itself.
 *
 * Documentation/rdma.md has the measurements.  A flow without a job, or of a job whose phases are
 * not known, is plain DCQCN to the bit.
 *
 * For each flow of a job a carrier calls, before mlcc_rp_sent() and mlcc_rp_cnp():
 *
 *	mlcc_rp_progress()	what the flow goes by, from the tracker's progress
 *	mlcc_rp_phase()		if the job's phase is another one
 *	mlcc_rp_gain()		which is what they want
 */
#ifndef MLCC_DCQCN_JOB_H
#define MLCC_DCQCN_JOB_H

#include "../../include/mlcc/phase.h"
#include "rp.h"

#define MLCC_RP_RESTART_SHIFT	4	/* a phase begins with 1/16 of the flow's part */
#define MLCC_RP_FLOOR_SHIFT	10	/* ... and stays above 1/1024 of it, */
#define MLCC_RP_FLOOR_BYTES	16	/* or what sends 2^16 in a phase */
#define MLCC_RP_LATE_P		(MLCC_ONE * 5 / 8)	/* from here on a phase is late */
#define MLCC_RP_SHORT_SHIFT	3	/* a phase of less than 8 T is a short one */

/* What a flow gets of the line where its job has the link.  Q16, 1 .. MLCC_ONE */
struct mlcc_rp_own {
	u32 part;
	u32 least;		/* no decrease goes below */
};

#define MLCC_RP_OWN_LINE ((struct mlcc_rp_own) { MLCC_ONE, MLCC_ONE >> MLCC_RP_FLOOR_SHIFT })

/* 8 (1 - p)^6, but no less than @least; Q16 */
static __always_inline u32 mlcc_rp_late_decrease(u32 p, u32 least)
{
	u64 left = MLCC_ONE - p;
	u64 cubed = (left * left >> MLCC_SHIFT) * left >> MLCC_SHIFT;
	u32 decrease = (cubed * cubed >> MLCC_SHIFT) << 3;

	return decrease > least ? decrease : least;
}

static __always_inline u32 mlcc_rp_log2(u64 v)
{
	return v ? 63 - __builtin_clzll(v) : 0;
}

/*
 * @rate: of the flow in its job's best phase (mlcc_job_flow_kbps()), 0: not known.  @line: of the
 * port, in the same unit.  @bytes: what the flow sends in a phase.
 */
static __always_inline struct mlcc_rp_own mlcc_rp_own(u64 rate, u64 line, u64 bytes)
{
	u32 shift = mlcc_rp_log2(bytes >> MLCC_RP_FLOOR_BYTES);
	struct mlcc_rp_own own = { .part = MLCC_ONE };

	if (rate && rate < line)
		own.part = MLCC_DIV64(rate << MLCC_SHIFT, line);
	own.least = own.part >> (shift < MLCC_RP_FLOOR_SHIFT ? shift : MLCC_RP_FLOOR_SHIFT);
	own.part += !own.part;
	own.least += !own.least;
	return own;
}

/* The progress that a flow goes by.  @p: its job's.  @best_us: the shortest phase, 0: not known. */
static __always_inline u32 mlcc_rp_progress(const struct mlcc_rp_param *c, u32 p, u32 best_us)
{
	u32 least = c->time_ns / (1000 >> MLCC_RP_SHORT_SHIFT);

	return best_us && best_us < least ? MLCC_NEUTRAL : p;
}

/*
 * The gain of a job's progress.  @pr: the job's profile.  @p: mlcc_rp_progress(), Q16 in 0 ..
 * MLCC_ONE, or MLCC_NEUTRAL for plain DCQCN; @pr may then be NULL.
 */
static __always_inline struct mlcc_rp_gain mlcc_rp_gain(const struct mlcc_profile *pr, u32 p,
							struct mlcc_rp_own own)
{
	struct mlcc_rp_gain gain = MLCC_RP_PLAIN;

	if (p == MLCC_NEUTRAL)
		return gain;
	gain.ai = mlcc_grow(pr, p);
	if (pr->restart != MLCC_RESTART_QUEUE) {
		gain.decrease = mlcc_yield(pr, p);
		return gain;
	}
	gain.hyper = 1;
	gain.least = own.least;
	gain.late = p >= MLCC_RP_LATE_P;
	gain.decrease = mlcc_rp_late_decrease(p, mlcc_yield(pr, MLCC_ONE) / 2);
	return gain;
}

/* Whether the flow has entered the job's phase number @seq. */
static __always_inline bool mlcc_rp_is_in(const struct mlcc_rp *rp, u32 seq)
{
	return rp->seq == (u16)seq;
}

/*
 * The job's phase is number @seq (mlcc_job.seq); does nothing unless that is another than the last
 * time.  @pr, @p, @own: as for mlcc_rp_gain(), of the new phase.  @now: ns, wraps.  Returns whether
 * it is another one: the flow is one more of the phase's (mlcc_job.flows).
 */
static __always_inline bool mlcc_rp_phase(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					  const struct mlcc_profile *pr, u32 p,
					  struct mlcc_rp_own own, u32 seq, u32 now)
{
	struct mlcc_rp_gain gain;
	u32 small;

	if (mlcc_rp_is_in(rp, seq))
		return false;
	rp->seq = seq;
	if (p == MLCC_NEUTRAL || pr->restart != MLCC_RESTART_QUEUE)
		return true;
	gain = mlcc_rp_gain(pr, p, own);
	mlcc_rp_advance(rp, c, &gain, now);
	rp->rt = mlcc_rp_of_line(c, own.part);
	small = rp->rt >> MLCC_RP_RESTART_SHIFT;
	if (rp->rc > small)
		rp->rc = small > c->min_rate ? small : c->min_rate;
	if (rp->rt < rp->rc)
		rp->rt = rp->rc;
	rp->alpha = c->alpha_init << (MLCC_RP_ALPHA_SHIFT - MLCC_SHIFT);
	rp->alpha_run = 0;
	mlcc_rp_anew(rp);
	return true;
}

#endif /* MLCC_DCQCN_JOB_H */
