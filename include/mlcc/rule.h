/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The rule: how the progress of a job's communication phase scales AIMD.
 *
 *	p     = min(1, D_sent / D_phase)
 *	grow  = floor + slope * p^shape		multiplies the additive increase
 *	yield = 1 - hold * p^shape		multiplies the decrease for a mark
 *
 * Two jobs that share a link fairly keep their communication phases on top of each other.  A flow
 * near the end of its phase that takes more than its share finishes earlier, so its next phase
 * starts earlier too, and the phases slide apart until they no longer overlap (Congestion Control
 * in Machine Learning Clusters, HotNets '22, section 4: R_T += R_AI (1 + D_sent / D_phase)).
 *
 * "hold" is what this project adds, for queues that mark (ECN): there a flow decreases each round
 * trip, and who keeps its window decides who finishes.  A loss is not softened: what is lost of a
 * queue that overflows is others', too.  Documentation/decisions.md has the measurements.
 *
 * Fixed point: everything is Q16, MLCC_ONE is 1.0.  No division here; mlcc_recip() does the
 * only one, once a phase.
 */
#ifndef MLCC_RULE_H
#define MLCC_RULE_H

#include "types.h"

#define MLCC_SHIFT	16
#define MLCC_ONE	65536U
#define MLCC_LEFT_MIN	2U	/* what a decrease leaves at least: segments, or units of a rate */

/* Limits of a profile: what an operator may set.  They keep every product below within 64 bits. */
#define MLCC_GROW_MIN	(MLCC_ONE / 16)
#define MLCC_GROW_MAX	(64 * MLCC_ONE)
#define MLCC_FLOOR_MAX	(MLCC_GROW_MAX / 2)
#define MLCC_SLOPE_MAX	(MLCC_GROW_MAX / 2)
#define MLCC_HOLD_MAX	(MLCC_ONE - MLCC_ONE / 64)
#define MLCC_SHAPE_MAX	4

/* What the window does when a flow without a job, without ECN, sees a loss or an ACK. */
enum mlcc_base {
	MLCC_BASE_RENO,
	MLCC_BASE_CUBIC,
};

/* What becomes of the window when a new phase starts after the compute time, see flow.h. */
enum mlcc_restart {
	MLCC_RESTART_BASE,	/* what the kernel does: halved for each RTO of silence */
	MLCC_RESTART_QUEUE,	/* small, and up again as the queue is empty */
};

struct mlcc_profile {
	u32 floor;		/* Q16, growth at p = 0 */
	u32 slope;		/* Q16, what p = 1 adds to it */
	u32 hold;		/* Q16, part of the decrease that p = 1 takes away */
	u8 shape;		/* exponent of p, 1 .. MLCC_SHAPE_MAX */
	u8 base;		/* enum mlcc_base, for flows without ECN */
	u8 restart;		/* enum mlcc_restart */
	u8 spare;
};

/* p^shape, Q16.  @p: 0 .. MLCC_ONE. */
static __always_inline u32 mlcc_pow(u32 p, u8 shape)
{
	u64 r = p;

	if (shape >= 2)
		r = (r * p) >> MLCC_SHIFT;
	if (shape >= 3)
		r = (r * p) >> MLCC_SHIFT;
	if (shape >= 4)
		r = (r * p) >> MLCC_SHIFT;
	return r;
}

/* Factor of the additive increase, Q16, within [floor, floor + slope]. */
static __always_inline u32 mlcc_grow(const struct mlcc_profile *pr, u32 p)
{
	return pr->floor + (u32)(((u64)pr->slope * mlcc_pow(p, pr->shape)) >> MLCC_SHIFT);
}

/* Factor of the multiplicative decrease, Q16, within [1 - hold, 1]. */
static __always_inline u32 mlcc_yield(const struct mlcc_profile *pr, u32 p)
{
	return MLCC_ONE - (u32)(((u64)pr->hold * mlcc_pow(p, pr->shape)) >> MLCC_SHIFT);
}

/* Window, or rate, after a decrease by @beta (Q16) under @yield (Q16). */
static __always_inline u32 mlcc_decrease(u32 window, u32 beta, u32 yield)
{
	u32 less = ((u64)window * (((u64)beta * yield) >> MLCC_SHIFT)) >> MLCC_SHIFT;

	return mlcc_max(window - less, MLCC_LEFT_MIN);
}

/*
 * Division by D_phase as a multiplication: mlcc_recip() divides once a phase, mlcc_progress() runs
 * on every ACK.  Of a D_phase from 2^32 on the low 16 bits are dropped, p is then off by < 2^-15.
 */
#define MLCC_PHASE_BYTES_MAX	((1ULL << 48) - 1)

/* 2^48 / D_phase; 0 for a D_phase that is 0 or above MLCC_PHASE_BYTES_MAX, which stand for none. */
static __always_inline u64 mlcc_recip(u64 d_phase)
{
	if (!d_phase || d_phase > MLCC_PHASE_BYTES_MAX)
		return 0;
	return MLCC_DIV64(1ULL << 48, d_phase >> 32 ? d_phase >> 16 : d_phase);
}

/* p = min(1, D_sent / D_phase), Q16.  @recip: mlcc_recip(@d_phase).  0 without a D_phase. */
static __always_inline u32 mlcc_progress(u64 d_sent, u64 d_phase, u64 recip)
{
	u64 p;

	if (!recip)
		return 0;
	if (d_sent >= d_phase)
		return MLCC_ONE;
	p = ((d_phase >> 32 ? d_sent >> 16 : d_sent) * recip) >> 32;
	return p < MLCC_ONE ? p : MLCC_ONE;
}

#endif /* MLCC_RULE_H */
