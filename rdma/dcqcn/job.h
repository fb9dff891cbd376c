/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a job's phase does to its flows under DCQCN.
 *
 * The rule (include/mlcc/rule.h) scales R_AI and decreases, as the job's profile says; progress is
 * the job's, from the shared tracker.  That alone moves little: R_C goes by the fourth root of
 * R_AI, and a flow that had to make way takes hundreds of T to get its rate back.  So with profiles
 * that restart small (MLCC_RESTART_QUEUE, flow.h has why) R_AI stays, and four things come instead:
 *
 *	yield	A decrease is 4 alpha (1 - p)^6 instead of alpha/2, within decrease_max, and no
 *		less than half of what the profile says at the end of the phase.  So of two that
 *		are at it together the one that is ahead ends it first.
 *	step	A flow that has had no CNP for more than F periods, by the counter that is ahead,
 *		takes what has become free: R_T += 1/8 of the flow's part of the line, instead of
 *		the hyper increase, which knows neither the line nor how many flows there are.
 *	floor	R_C stays above 1/1024 of that part, and so high that 16 packets of 4 KB would be
 *		sent in a phase: at a NIC's 1 Mb/s of 50 Gb/s one takes 33 ms, and it is by its
 *		packets that a flow takes what has become free.
 *	line	R_C and R_T never exceed twice the flow's part, or a quarter of the line: what a job
 *		of many flows sends beyond it needs only fills a queue.
 *
 * Nothing happens when a phase begins: who was there has the link, and the CNPs of one that comes
 * take it down.
 *
 * A job whose phase takes less than eight T where it has the link is left alone: DCQCN gives no
 * rate back that soon.  So is a flow of less than 1 MiB in a phase: it cannot make way.
 *
 * A flow's part of the line is what it gets where its job has the link: the job's best rate on this
 * host, which is less than the line where many hosts send to one, by the flows that it has here.
 *
 * Documentation/rdma.md has the measurements.  A flow without a job, or of a job whose phases are
 * not known, is plain DCQCN to the bit.
 *
 * For each flow of a job a carrier calls, before dcqcn_sent() and dcqcn_cnp():
 *
 *	dcqcn_progress()	what the flow goes by, from the tracker's progress
 *	dcqcn_enter()		whether it is in another phase than before
 *	dcqcn_gain()		which is what they want
 */
#ifndef MLCC_DCQCN_JOB_H
#define MLCC_DCQCN_JOB_H

#include "../../include/mlcc/phase.h"
#include "rp.h"

#define DCQCN_STEP_SHIFT	3	/* R_T goes up by 1/8 of the flow's part */
#define DCQCN_FLOOR_SHIFT	10	/* R_C stays above 1/1024 of it, */
#define DCQCN_FLOOR_BYTES	16	/* or what sends 2^16 in a phase */
#define DCQCN_MOST		(MLCC_ONE / 4)	/* and below twice it, or this of the line */
#define DCQCN_SHORT_SHIFT	3	/* a phase of less than 8 T is a short one */
#define DCQCN_ROOM_SHIFT	4	/* a floor above 1/16 of a flow's part leaves no room */

/* What a flow gets of the line where its job has the link.  Q16, 1 .. MLCC_ONE */
struct dcqcn_own {
	u32 part;
	u32 least;		/* no decrease goes below */
};

#define DCQCN_OWN_LINE ((struct dcqcn_own) { MLCC_ONE, MLCC_ONE >> DCQCN_FLOOR_SHIFT })

/* 8 (1 - p)^6, but no less than @least; Q16 */
static __always_inline u32 dcqcn_yield(u32 p, u32 least)
{
	u64 left = MLCC_ONE - p;
	u64 cubed = (left * left >> MLCC_SHIFT) * left >> MLCC_SHIFT;
	u32 decrease = (cubed * cubed >> MLCC_SHIFT) << 3;

	return decrease > least ? decrease : least;
}

static __always_inline u32 dcqcn_log2(u64 v)
{
	return v ? 63 - __builtin_clzll(v) : 0;
}

/*
 * @rate: of the flow in its job's best phase (mlcc_job_flow_kbps()), 0: not known.  @line: of the
 * port, in the same unit.  @bytes: what the flow sends in a phase.
 */
static __always_inline struct dcqcn_own dcqcn_own(u64 rate, u64 line, u64 bytes)
{
	u32 shift = dcqcn_log2(bytes >> DCQCN_FLOOR_BYTES);
	struct dcqcn_own own = { .part = MLCC_ONE };

	if (rate && rate < line)
		own.part = MLCC_DIV64(rate << MLCC_SHIFT, line);
	own.least = own.part >> (shift < DCQCN_FLOOR_SHIFT ? shift : DCQCN_FLOOR_SHIFT);
	own.part += !own.part;
	own.least += !own.least;
	return own;
}

/* What of the line a flow with this part of it may take; Q16 */
static __always_inline u32 dcqcn_most(u32 part)
{
	if (part >= MLCC_ONE / 2)
		return MLCC_ONE;
	return 2 * part > DCQCN_MOST ? 2 * part : DCQCN_MOST;
}

/* The progress that a flow goes by.  @p: its job's.  @best_us: the shortest phase, 0: not known. */
static __always_inline u32 dcqcn_progress(const struct dcqcn_param *c, u32 p, u32 best_us)
{
	u32 least = c->time_ns / (1000 >> DCQCN_SHORT_SHIFT);

	return best_us && best_us < least ? MLCC_NEUTRAL : p;
}

/*
 * The gain of a job's progress.  @pr: the job's profile.  @p: dcqcn_progress(), Q16 in 0 ..
 * MLCC_ONE, or MLCC_NEUTRAL for plain DCQCN; @pr may then be NULL.
 */
static __always_inline struct dcqcn_gain dcqcn_gain(const struct mlcc_profile *pr, u32 p,
						    struct dcqcn_own own)
{
	struct dcqcn_gain gain = DCQCN_PLAIN;

	if (p == MLCC_NEUTRAL)
		return gain;
	if (pr->restart != MLCC_RESTART_QUEUE) {
		gain.ai = mlcc_grow(pr, p);
		gain.decrease = mlcc_yield(pr, p);
		return gain;
	}
	if (own.least > own.part >> DCQCN_ROOM_SHIFT)
		return gain;
	gain.step = own.part >> DCQCN_STEP_SHIFT;
	gain.step += !gain.step;
	gain.least = own.least;
	gain.most = dcqcn_most(own.part);
	gain.decrease = dcqcn_yield(p, mlcc_yield(pr, MLCC_ONE) / 2);
	return gain;
}

/*
 * The job's phase is number @seq (mlcc_job.seq).  Returns whether that is another than the last
 * time: the flow is one more of the phase's (mlcc_job.flows).
 */
static __always_inline bool dcqcn_enter(struct dcqcn *rp, u32 seq)
{
	bool another = rp->seq != (u16)seq;

	rp->seq = seq;
	return another;
}

#endif /* MLCC_DCQCN_JOB_H */
