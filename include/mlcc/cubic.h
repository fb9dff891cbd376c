/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CUBIC (RFC 9438) under the rule, the base of flows without ECN whose profile asks for it.
 *
 *	W_cubic(t) = C (t - K)^3 + W_max	segments, t in seconds since the last decrease
 *	K = cbrt((W_max - cwnd) / C)		when the curve is back at W_max
 *	W_est += alpha grow acked / cwnd	what Reno would have by now (section 4.3)
 *
 *	cwnd		      W_max		 _/
 *	  |\		     _______________---'	convex: probing for more
 *	  | \		_---'	 plateau
 *	  |  `---------'	concave: back to where it was
 *	  +--------------------------------------------> t
 *
 *	C = 0.4, beta = 0.7, alpha = 3 (1 - beta) / (1 + beta) until W_est is back at the window
 *	before the decrease, 1 from there on; target within [cwnd, 1.5 cwnd]; fast convergence
 *	(section 4.7).
 *
 * The curve is a function of time, not of what is acknowledged.  So "grow" scales the time that
 * the curve sees: t advances by grow * dt.  With grow = 1 this is the RFC to the letter; with
 * grow = 2 the window climbs the same curve in half the time.
 *
 * Not here: HyStart++ (slow start is the carrier's), and restoring W_max and K when a loss turns
 * out to be none (the carrier restores cwnd, and a new curve begins from there).
 *
 * The curve's time is in units of 1024 us.  The only loop runs once a decrease and is bounded;
 * a division runs when the Reno estimate or the window gains a whole segment, not on every ACK.
 */
#ifndef MLCC_CUBIC_H
#define MLCC_CUBIC_H

#include "types.h"
#include "rule.h"
#include "flow.h"

#define MLCC_CUBIC_BETA		19661U		/* 1 - beta, Q16 */
#define MLCC_CUBIC_ALPHA	34695U		/* 3 (1 - beta) / (1 + beta), Q16 */
#define MLCC_CUBIC_UNIT		10		/* the curve's time unit is 2^10 us */
#define MLCC_CUBIC_C		472U		/* C in segments per unit^3, times 2^40 */
#define MLCC_CUBIC_C_INV	2328306436ULL	/* unit^3 per segment: 1 / C */
#define MLCC_CUBIC_T_MAX	0x3ffffU	/* units, 268 s: keeps C t^3 within 64 bits */
#define MLCC_CUBIC_W_MAX	0x200000U	/* segments that the estimate goes up to */
#define MLCC_CUBIC_EST		10		/* fraction bits of est_credit */

struct mlcc_cubic {
	u32 w_max;		/* segments, plateau of the curve */
	u32 k;			/* units until the plateau */
	u32 t_us;		/* curve time since the decrease, us */
	u32 last_us;		/* when t_us was brought forward */
	u32 w_est;		/* segments that Reno would have, 0: no curve has begun */
	u32 est_credit;		/* growth of w_est not yet taken, 1/1024 acked segments */
};

/*
 * Integer cube root, rounded down: one bit of the result a round.  Masks instead of branches, or a
 * BPF verifier would follow 2^22 paths.
 */
static __always_inline u32 mlcc_cbrt(u64 x)
{
	u64 r = 0;
	int s;

	for (s = 63; s >= 0; s -= 3) {
		u64 b, take;

		r <<= 1;
		b = 3 * r * (r + 1) + 1;
		take = ~(u64)((s64)((x >> s) - b) >> 63);	/* all ones if x >> s >= b */
		MLCC_HIDE(take);
		x -= (b << s) & take;
		r -= take;
	}
	return r;
}

/* Forgets the curve but not W_max: something outside this file has set the window. */
static __always_inline void mlcc_cubic_restart(struct mlcc_cubic *c)
{
	c->w_est = 0;
}

/* Forgets everything: after an RTO the next curve begins at its plateau (section 4.8). */
static __always_inline void mlcc_cubic_reset(struct mlcc_cubic *c)
{
	c->w_max = 0;
	c->w_est = 0;
}

/* Time in which the window was not the limit does not count (section 4.2). */
static __always_inline void mlcc_cubic_pause(struct mlcc_cubic *c, u32 now_us)
{
	c->last_us = now_us;
}

static __always_inline void mlcc_cubic_begin(struct mlcc_cubic *c, u32 cwnd, u32 now_us)
{
	c->k = 0;
	if (cwnd < c->w_max) {
		u32 down = c->w_max - cwnd;
		u32 k = mlcc_cbrt((down >> 31 ? 1U << 31 : down) * MLCC_CUBIC_C_INV);

		c->k = k < MLCC_CUBIC_T_MAX ? k : MLCC_CUBIC_T_MAX;
	} else {
		c->w_max = cwnd;
	}
	c->t_us = 0;
	c->last_us = now_us;
	c->w_est = cwnd;
	c->est_credit = 0;
}

/*
 * Brings the curve's time forward by what has passed, times @grow (Q16).  Only by whole units: ACKs
 * a microsecond apart would lose the fraction each time.
 */
static __always_inline void mlcc_cubic_advance(struct mlcc_cubic *c, u32 now_us, u32 grow)
{
	u32 dt = now_us - c->last_us;
	u64 t;

	if (!(dt >> MLCC_CUBIC_UNIT))
		return;
	t = c->t_us + (((u64)dt * grow) >> MLCC_SHIFT);
	c->last_us = now_us;
	c->t_us = t >> MLCC_CUBIC_UNIT < MLCC_CUBIC_T_MAX ?
		  t : (u64)MLCC_CUBIC_T_MAX << MLCC_CUBIC_UNIT;
}

/* W_cubic @ahead_us after the curve's time, Q16 segments. */
static __always_inline u64 mlcc_cubic_curve(const struct mlcc_cubic *c, u64 ahead_us)
{
	u64 t = (c->t_us + ahead_us) >> MLCC_CUBIC_UNIT;
	u64 top = (u64)c->w_max << MLCC_SHIFT;
	u64 d, off;

	if (t > MLCC_CUBIC_T_MAX)
		t = MLCC_CUBIC_T_MAX;
	d = t > c->k ? t - c->k : c->k - t;
	off = (d * d * d * MLCC_CUBIC_C) >> (40 - MLCC_SHIFT);
	if (t > c->k)
		return top + off;
	return top > off ? top - off : 0;
}

/* What Reno would have after @acked more segments. */
static __always_inline void mlcc_cubic_estimate(struct mlcc_cubic *c, const struct mlcc_win *w,
						u32 acked, u32 grow)
{
	u32 alpha = c->w_est < w->prior_cwnd ? MLCC_CUBIC_ALPHA : MLCC_ONE;
	u64 credit = c->est_credit;
	u32 cwnd = w->cwnd, add;

	credit += (((u64)alpha * grow >> MLCC_SHIFT) * acked) >> (MLCC_SHIFT - MLCC_CUBIC_EST);
	if (credit >> MLCC_CUBIC_EST >= cwnd) {
		add = (u32)(credit >> MLCC_CUBIC_EST) / (cwnd ? cwnd : 1);
		credit -= ((u64)add * cwnd) << MLCC_CUBIC_EST;
		if (c->w_est < MLCC_CUBIC_W_MAX)
			c->w_est += add;
	}
	c->est_credit = credit;
}

/* Window in congestion avoidance after @acked segments.  @now_us, @rtt_us: us.  @grow: Q16. */
static __always_inline u32 mlcc_cubic_increase(struct mlcc_cubic *c, struct mlcc_flow *f,
					       const struct mlcc_win *w, u32 acked, u32 now_us,
					       u32 rtt_us, u32 grow)
{
	u32 cwnd = w->cwnd;
	u64 target, most = (u64)cwnd << (MLCC_SHIFT - 1);
	u64 is = (u64)cwnd << MLCC_SHIFT;

	if (!c->w_est)
		mlcc_cubic_begin(c, cwnd, now_us);
	mlcc_cubic_advance(c, now_us, grow);
	mlcc_cubic_estimate(c, w, acked, grow);

	target = mlcc_cubic_curve(c, ((u64)rtt_us * grow) >> MLCC_SHIFT);
	if (target > is) {
		target -= is;
		if (target > most)
			target = most;
		if (target > ~0U)
			target = ~0U;
		cwnd += mlcc_increase(f, cwnd, acked, target);
	}
	/* the Reno-friendly region */
	if (cwnd < c->w_est && mlcc_cubic_curve(c, 0) < (u64)c->w_est << MLCC_SHIFT)
		cwnd = c->w_est;
	return cwnd;
}

/* Window after a loss: beta cwnd. */
static __always_inline u32 mlcc_cubic_decrease(struct mlcc_cubic *c, u32 cwnd)
{
	u32 left = mlcc_decrease(cwnd, MLCC_CUBIC_BETA, MLCC_ONE);

	/* fast convergence: a flow that peaks lower than last time leaves room for a new one */
	c->w_max = cwnd < c->w_max ? (cwnd + left) / 2 : cwnd;
	c->w_est = 0;
	return left;
}

#endif /* MLCC_CUBIC_H */
