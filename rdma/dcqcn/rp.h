/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DCQCN's reaction point (RP): the sender's rate.
 *
 *	R_C	current rate		R_T	target rate	alpha	estimate of congestion
 *
 *	CNP		R_T = R_C;  R_C *= 1 - alpha/2;  alpha = (1 - g) alpha + g
 *	none for K	alpha = (1 - g) alpha
 *	every T, and every B bytes:
 *			fast recovery	the first F times, R_T stays
 *			additive	R_T += R_AI
 *			hyper		R_T += i R_HAI
 *			then		R_C = (R_C + R_T) / 2
 *
 *	R_C                                            ___--- additive, hyper
 *	 ----.                        ______------'''''
 *	     |            ___----'''''  fast recovery: half of the rest at each T or B
 *	     |   ___--''''
 *	     '--'
 *	     CNP
 *
 * (Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM '15, section 3.)
 *
 * What a job's phase changes of it comes here as a gain (see job.h); without a job that is
 * MLCC_RP_PLAIN, and this is DCQCN to the bit.
 *
 * A programmable NIC delivers no timer event.  So nothing here is a timer: each event brings a
 * 32-bit stamp in nanoseconds, which wraps every 4.3 s, and first makes good what has become due
 * since the last one.  However long that was, it takes a bounded number of steps.  A silence of
 * 4.3 s or more is taken for what it is beyond a multiple of that: the flow then makes good too
 * little, and goes on as fast as it was.  Stamps of several CPUs may be out of order by up to
 * MLCC_RP_BACK_NS.
 *
 * A carrier calls, for each flow, one CPU at a time:
 *
 *	mlcc_rp_init()		when the flow is set up
 *	mlcc_rp_sent()		after each packet or burst
 *	mlcc_rp_cnp()		for each CNP
 *	mlcc_rp_advance()	before it reads mlcc_rp_rate() at any other time
 *
 * Parameters may be others from one call to the next: a lower line counts at once, a higher least
 * rate at the next decrease, everything else from then on.
 */
#ifndef MLCC_DCQCN_RP_H
#define MLCC_DCQCN_RP_H

#include "params.h"

#define MLCC_RP_ALPHA_SHIFT	30
#define MLCC_RP_ALPHA_ONE	0x40000000U
#define MLCC_RP_ALPHA_GONE	12U		/* e^-12 of R_C is no decrease, which is in Q16 */
#define MLCC_RP_BACK_NS		0x100000U	/* a stamp so far back is taken for the last one */
#define MLCC_RP_FEW		4U		/* so many increases are made good one by one */
#define MLCC_RP_STAGE_MAX	255U

struct mlcc_rp {
	u32 rc;			/* R_C, in parts of param.line */
	u32 rt;			/* R_T */
	u32 alpha;		/* Q30, at the last CNP */
	u32 stamp;		/* ns, of the last event */
	u32 time_run;		/* ns of this period of T that are over */
	u32 alpha_run;		/* ns since the last CNP, 4.3 s at most */
	u32 decrease_run;	/* ns since the last decrease, 4.3 s at most */
	u32 bytes;		/* of this period of B */
	u8 time_stage;		/* T: increases by time since the last decrease */
	u8 byte_stage;		/* BC: increases by bytes */
	u16 seq;		/* the job's phase that the flow has entered, low bits */
};

/* A programmable NIC has 48 bytes a flow, and its adapter wants some of them. */
static_assert(sizeof(struct mlcc_rp) <= 40, "no room in a NIC's flow context");

/* What a job's phase does to one of its flows. */
struct mlcc_rp_gain {
	u32 ai;			/* Q16, scales R_AI */
	u32 decrease;		/* Q16 up to 8, scales alpha/2 */
	u32 step;		/* Q16, part of the line that hyper increase adds by the counter
				 * that is ahead; 0: DCQCN's own
				 */
	u32 least;		/* Q16, part of the line that no decrease goes below */
	u32 most;		/* Q16, part of the line that is the flow's line */
};

#define MLCC_RP_PLAIN							\
	((struct mlcc_rp_gain) { .ai = MLCC_ONE, .decrease = MLCC_ONE, .most = MLCC_ONE })

/*
 * What of it an increase takes.  It is passed by value, so that where nothing else is taken of the
 * gain the compiler leaves out the rest.
 */
struct mlcc_rp_raise {
	u32 ai;
	u32 step, line;		/* rates */
};

/* @part: Q16 */
static __always_inline u32 mlcc_rp_of_line(const struct mlcc_rp_param *c, u32 part)
{
	return (u64)c->line * part >> MLCC_SHIFT;
}

/* The flow's line. */
static __always_inline u32 mlcc_rp_line(const struct mlcc_rp_param *c,
					const struct mlcc_rp_gain *gain)
{
	u32 most = mlcc_rp_of_line(c, gain->most);

	return most > c->min_rate ? most : c->min_rate;
}

static __always_inline struct mlcc_rp_raise mlcc_rp_raise(const struct mlcc_rp_param *c,
							  const struct mlcc_rp_gain *gain)
{
	return (struct mlcc_rp_raise) {
		.ai = gain->ai, .step = mlcc_rp_of_line(c, gain->step),
		.line = mlcc_rp_line(c, gain),
	};
}

/* A flow starts: at line rate, and as wary as the parameters say.  @now: ns, wraps. */
static __always_inline void mlcc_rp_init(struct mlcc_rp *rp, const struct mlcc_rp_param *c, u32 now)
{
	*rp = (struct mlcc_rp) {
		.rc = c->line, .rt = c->line,
		.alpha = c->alpha_init << (MLCC_RP_ALPHA_SHIFT - MLCC_SHIFT),
		.stamp = now, .decrease_run = ~0U,
	};
}

static __always_inline u32 mlcc_rp_least(u32 a, u32 b)
{
	return a < b ? a : b;
}

/* Whether nothing holds the flow back. */
static __always_inline bool mlcc_rp_free(const struct mlcc_rp *rp, u32 line)
{
	return rp->rc == line && rp->rt == line;
}

/* The counter that decides when fast recovery is over. */
static __always_inline u32 mlcc_rp_ahead(const struct mlcc_rp *rp, const struct mlcc_rp_param *c)
{
	if (c->stages == MLCC_RP_STAGES_TIME || rp->time_stage > rp->byte_stage)
		return rp->time_stage;
	return rp->byte_stage;
}

/* What the next increase adds to R_T, below 2^39: at most 255 R_HAI, or 128 R_AI. */
static __always_inline u64 mlcc_rp_step(const struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					struct mlcc_rp_raise raise)
{
	u32 least = mlcc_rp_least(rp->time_stage, rp->byte_stage);
	u32 ahead = mlcc_rp_ahead(rp, c);
	u32 hyper = 0;

	if (ahead < c->threshold)
		return 0;
	if (c->stages == MLCC_RP_STAGES_TIME)
		hyper = ahead > c->threshold;
	else if (least >= c->threshold)
		hyper = least - c->threshold + (c->stages == MLCC_RP_STAGES_NS3);
	if (raise.step && ahead > c->threshold)
		return raise.step;
	if (hyper)
		return (u64)c->hai * hyper;
	return (u64)c->ai * raise.ai >> MLCC_SHIFT;
}

static __always_inline u32 mlcc_rp_up(u32 rate, u64 step, u32 line)
{
	return step < line - rate ? rate + (u32)step : line;
}

static __always_inline u8 mlcc_rp_stage(u8 stage, u32 n)
{
	return stage + mlcc_rp_least(n, MLCC_RP_STAGE_MAX - stage);
}

/* ns3's way out of an R_T far above R_C, at the first increase after a decrease. */
static __always_inline void mlcc_rp_shrink(struct mlcc_rp *rp, const struct mlcc_rp_param *c)
{
	if (c->flags & MLCC_RP_SHRINK && !rp->time_stage && !rp->byte_stage &&
	    rp->rt / 10 > rp->rc)
		rp->rt >>= 3;
}

/*
 * One increase of the counter @stage.  What R_C lacks is rounded down, else it would never get to
 * R_T.
 */
static __always_inline void mlcc_rp_increase(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					     struct mlcc_rp_raise raise, u8 *stage)
{
	rp->rt = mlcc_rp_up(rp->rt, mlcc_rp_step(rp, c, raise), raise.line);
	rp->rc = rp->rt - ((rp->rt - rp->rc) >> 1);
	*stage = mlcc_rp_stage(*stage, 1);
}

/* What there is of fast recovery in @n increases of @stage, at once.  Returns how many that is. */
static __always_inline u32 mlcc_rp_recover(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					   u32 n, u8 *stage)
{
	if (*stage >= c->threshold || mlcc_rp_ahead(rp, c) >= c->threshold)
		return 0;
	n = mlcc_rp_least(n, c->threshold - *stage);
	rp->rc = rp->rt - ((rp->rt - rp->rc) >> n);
	*stage += n;
	return n;
}

/*
 * @n increases at once, two at least.  After the first one the steps grow evenly, if they do: they
 * come by the mean of the first and the last of them.  (Where a counter at its end or the other one
 * stops them from growing, that is too little.)  What R_C lacks of R_T comes closer to the last
 * step by half each time; where R_T comes to the line R_C may be there a step early.
 */
static __always_inline void mlcc_rp_bulk(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					 struct mlcc_rp_raise raise, u32 n, u8 *stage)
{
	u64 target = rp->rt + mlcc_rp_step(rp, c, raise), first, last;
	u32 halves = mlcc_rp_least(n, 31);
	u32 lacks = rp->rt - rp->rc;

	*stage = mlcc_rp_stage(*stage, 1);
	n--;
	first = mlcc_rp_step(rp, c, raise);
	*stage = mlcc_rp_stage(*stage, n - 1);
	last = mlcc_rp_step(rp, c, raise);
	*stage = mlcc_rp_stage(*stage, 1);
	target += (first + last) * n / 2;
	if (target >= raise.line) {
		rp->rt = raise.line;
		rp->rc = raise.line - (lacks >> halves);
		return;
	}
	if (lacks > last)
		lacks = last + ((lacks - last) >> halves);
	else
		lacks = last - ((last - lacks) >> halves);
	rp->rt = target;
	rp->rc = target - lacks;
}

/* @n increases of the counter @stage, which is one mostly. */
static MLCC_OUTLINE void
mlcc_rp_increases(struct mlcc_rp *rp, const struct mlcc_rp_param *c, struct mlcc_rp_raise raise,
		  u32 n, u8 *stage)
{
	if (mlcc_rp_free(rp, raise.line)) {
		*stage = mlcc_rp_stage(*stage, n);
		return;
	}
	mlcc_rp_shrink(rp, c);
	if (n > MLCC_RP_FEW) {
		n -= mlcc_rp_recover(rp, c, n - 2, stage);
		mlcc_rp_bulk(rp, c, raise, n, stage);
		return;
	}
	while (n--)
		mlcc_rp_increase(rp, c, raise, stage);
}

/* alpha after @n periods without a CNP: (1 - g)^n alpha, by squaring; 0 from 12 / g periods on. */
static __always_inline u32 mlcc_rp_decayed(u32 alpha, u32 g, u32 n)
{
	u64 keep = (u64)(MLCC_ONE - g) << (MLCC_RP_ALPHA_SHIFT - MLCC_SHIFT);

	if ((u64)n * g >= MLCC_RP_ALPHA_GONE * MLCC_ONE)
		return 0;
	for (;;) {
		if (n & 1)
			alpha = alpha * keep >> MLCC_RP_ALPHA_SHIFT;
		n >>= 1;
		if (!n)
			return alpha;
		keep = keep * keep >> MLCC_RP_ALPHA_SHIFT;
	}
}

/* alpha now.  Only a CNP asks for it, so what it has decayed is not looked at before. */
static __always_inline u32 mlcc_rp_alpha(const struct mlcc_rp *rp, const struct mlcc_rp_param *c)
{
	return mlcc_rp_decayed(rp->alpha, c->g, rp->alpha_run / c->alpha_ns);
}

static __always_inline u32 mlcc_rp_later(u32 run, u32 ns)
{
	return ns < ~run ? run + ns : ~0U;
}

/* @more is added to @run, of a period that has begun.  Returns how many periods that ends. */
static __always_inline u64 mlcc_rp_periods(u32 *run, u32 more, u32 period)
{
	u64 all = (u64)*run + more;
	u64 n;

	if (all < period) {
		*run = all;
		return 0;
	}
	n = MLCC_DIV64(all, period);
	*run = all - n * period;
	return n;
}

static __always_inline void mlcc_rp_increase_time(struct mlcc_rp *rp,
						  const struct mlcc_rp_param *c,
						  const struct mlcc_rp_gain *gain, u32 ns)
{
	u64 n = mlcc_rp_periods(&rp->time_run, ns, c->time_ns);

	if (n)
		mlcc_rp_increases(rp, c, mlcc_rp_raise(c, gain), n, &rp->time_stage);
}

/* The flow's line has been lowered since the last event; R_C is never above R_T. */
static __always_inline void mlcc_rp_lower(struct mlcc_rp *rp, u32 line)
{
	rp->rt = line;
	rp->rc = mlcc_rp_least(rp->rc, line);
}

/* Makes good what has become due by @now (ns, wraps). */
static __always_inline void mlcc_rp_advance(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					    const struct mlcc_rp_gain *gain, u32 now)
{
	u32 line = mlcc_rp_line(c, gain), ns = now - rp->stamp;

	if (rp->rt > line)
		mlcc_rp_lower(rp, line);
	if (!ns || ns >= -MLCC_RP_BACK_NS)
		return;
	rp->stamp = now;
	rp->decrease_run = mlcc_rp_later(rp->decrease_run, ns);
	rp->alpha_run = mlcc_rp_later(rp->alpha_run, ns);
	mlcc_rp_increase_time(rp, c, gain, ns);
}

/* @bytes have been sent at @now (ns, wraps). */
static __always_inline void mlcc_rp_sent(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					 const struct mlcc_rp_gain *gain, u32 now, u32 bytes)
{
	u64 n;

	mlcc_rp_advance(rp, c, gain, now);
	n = c->bytes ? mlcc_rp_periods(&rp->bytes, bytes, c->bytes) : 0;
	if (n)
		mlcc_rp_increases(rp, c, mlcc_rp_raise(c, gain), n, &rp->byte_stage);
}

/* A CNP counts in alpha. */
static __always_inline void mlcc_rp_alpha_cnp(struct mlcc_rp *rp, const struct mlcc_rp_param *c)
{
	rp->alpha -= (u64)rp->alpha * c->g >> MLCC_SHIFT;
	rp->alpha += c->g << (MLCC_RP_ALPHA_SHIFT - MLCC_SHIFT);
}

/* Whether R_T comes down to R_C at a decrease. */
static __always_inline bool mlcc_rp_clamps(const struct mlcc_rp *rp, const struct mlcc_rp_param *c)
{
	return c->flags & MLCC_RP_CLAMP || rp->byte_stage ||
	       (c->flags & MLCC_RP_CLAMP_TIME && rp->time_stage);
}

/* The least rate that a decrease goes to. */
static __always_inline u32 mlcc_rp_floor(const struct mlcc_rp_param *c,
					 const struct mlcc_rp_gain *gain)
{
	u32 least = mlcc_rp_of_line(c, gain->least);

	return least > c->min_rate ? least : c->min_rate;
}

/* R_C after a decrease. */
static __always_inline u32 mlcc_rp_less(const struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					const struct mlcc_rp_gain *gain)
{
	u32 alpha = rp->alpha >> (MLCC_RP_ALPHA_SHIFT - MLCC_SHIFT);
	u32 beta = (u64)alpha * gain->decrease >> (MLCC_SHIFT + 1);
	u32 rate = mlcc_decrease(rp->rc, mlcc_rp_least(beta, c->decrease_max), MLCC_ONE);
	u32 least = mlcc_rp_floor(c, gain);

	return rate > least ? rate : least;
}

/* Both counters and their periods begin anew. */
static __always_inline void mlcc_rp_anew(struct mlcc_rp *rp)
{
	rp->time_stage = 0;
	rp->byte_stage = 0;
	rp->time_run = 0;
	rp->bytes = 0;
}

static __always_inline void mlcc_rp_decrease(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					     const struct mlcc_rp_gain *gain)
{
	u32 line = mlcc_rp_line(c, gain);
	bool was_free = mlcc_rp_free(rp, line);

	if (was_free && c->flags & MLCC_RP_ALPHA_ANEW)
		rp->alpha = c->alpha_init << (MLCC_RP_ALPHA_SHIFT - MLCC_SHIFT);
	if (c->flags & MLCC_RP_ALPHA_FIRST)
		mlcc_rp_alpha_cnp(rp, c);
	if (mlcc_rp_clamps(rp, c))
		rp->rt = rp->rc;
	if (was_free && c->first_rate)
		rp->rc = mlcc_rp_least(c->first_rate, line);
	else
		rp->rc = mlcc_rp_less(rp, c, gain);
	if (rp->rt < rp->rc)	/* the least rate has been raised */
		rp->rt = rp->rc;
	if (!(c->flags & MLCC_RP_ALPHA_FIRST))
		mlcc_rp_alpha_cnp(rp, c);
	mlcc_rp_anew(rp);
}

/* A CNP has arrived at @now (ns, wraps).  Returns whether it has decreased the rate. */
static __always_inline bool mlcc_rp_cnp(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					const struct mlcc_rp_gain *gain, u32 now)
{
	mlcc_rp_advance(rp, c, gain, now);
	rp->alpha = mlcc_rp_alpha(rp, c);
	rp->alpha_run = 0;
	if (rp->decrease_run < c->decrease_ns) {
		if (c->flags & MLCC_RP_ALPHA_EVERY)
			mlcc_rp_alpha_cnp(rp, c);
		return false;
	}
	rp->decrease_run = 0;
	mlcc_rp_decrease(rp, c, gain);
	return true;
}

/* The rate to send at, in parts of param.line; never 0. */
static __always_inline u32 mlcc_rp_rate(const struct mlcc_rp *rp)
{
	return rp->rc;
}

#endif /* MLCC_DCQCN_RP_H */
