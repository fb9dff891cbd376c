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
 * DCQCN_PLAIN, and this is DCQCN to the bit.
 *
 * A programmable NIC delivers no timer event.  So nothing here is a timer: each event brings a
 * 32-bit stamp in nanoseconds, which wraps every 4.3 s, and first makes good what has become due
 * since the last one.  However long that was, it takes a bounded number of steps.  A silence of
 * 4.3 s or more is taken for what it is beyond a multiple of that: the flow then makes good too
 * little, and goes on as fast as it was.  Stamps of several CPUs may be out of order by up to
 * DCQCN_BACK_NS.
 *
 * A carrier calls, for each flow, one CPU at a time:
 *
 *	dcqcn_init()		when the flow is set up
 *	dcqcn_sent()		after each packet or burst
 *	dcqcn_cnp()		for each CNP
 *	dcqcn_advance()	before it reads dcqcn_rate() at any other time
 *
 * Parameters may be others from one call to the next: a lower line counts at once, a higher least
 * rate at the next decrease, everything else from then on.
 */
#ifndef MLCC_DCQCN_RP_H
#define MLCC_DCQCN_RP_H

#include "params.h"

#define DCQCN_ALPHA_SHIFT	30
#define DCQCN_ALPHA_ONE	0x40000000U
#define DCQCN_ALPHA_GONE	12U		/* e^-12 of R_C is no decrease, which is in Q16 */
#define DCQCN_BACK_NS		0x100000U	/* a stamp so far back is taken for the last one */
#define DCQCN_FEW		4U		/* so many increases are made good one by one */
#define DCQCN_STAGE_MAX	255U

struct dcqcn {
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
static_assert(sizeof(struct dcqcn) <= 40, "no room in a NIC's flow context");

/* What a job's phase does to one of its flows. */
struct dcqcn_gain {
	u32 ai;			/* Q16, scales R_AI */
	u32 decrease;		/* Q16 up to 8, scales alpha/2 */
	u32 step;		/* Q16, part of the line that hyper increase adds by the counter
				 * that is ahead; 0: DCQCN's own
				 */
	u32 least;		/* Q16, part of the line that no decrease goes below */
	u32 most;		/* Q16, part of the line that is the flow's line */
};

#define DCQCN_PLAIN							\
	((struct dcqcn_gain) { .ai = DCQCN_ONE, .decrease = DCQCN_ONE, .most = DCQCN_ONE })

/*
 * What of it an increase takes.  It is passed by value, so that where nothing else is taken of the
 * gain the compiler leaves out the rest.
 */
struct dcqcn_raise {
	u32 ai;
	u32 step, line;		/* rates */
};

/* @part: Q16 */
static __always_inline u32 dcqcn_of_line(const struct dcqcn_param *c, u32 part)
{
	return (u64)c->line * part >> DCQCN_SHIFT;
}

/* The flow's line. */
static __always_inline u32 dcqcn_line(const struct dcqcn_param *c,
				      const struct dcqcn_gain *gain)
{
	u32 most = dcqcn_of_line(c, gain->most);

	return most > c->min_rate ? most : c->min_rate;
}

static __always_inline struct dcqcn_raise dcqcn_raise(const struct dcqcn_param *c,
						      const struct dcqcn_gain *gain)
{
	return (struct dcqcn_raise) {
		.ai = gain->ai, .step = dcqcn_of_line(c, gain->step),
		.line = dcqcn_line(c, gain),
	};
}

/* A flow starts: at line rate, and as wary as the parameters say.  @now: ns, wraps. */
static __always_inline void dcqcn_init(struct dcqcn *rp, const struct dcqcn_param *c, u32 now)
{
	*rp = (struct dcqcn) {
		.rc = c->line, .rt = c->line,
		.alpha = c->alpha_init << (DCQCN_ALPHA_SHIFT - DCQCN_SHIFT),
		.stamp = now, .decrease_run = ~0U,
	};
}

static __always_inline u32 dcqcn_least(u32 a, u32 b)
{
	return a < b ? a : b;
}

/* Whether nothing holds the flow back. */
static __always_inline bool dcqcn_free(const struct dcqcn *rp, u32 line)
{
	return rp->rc == line && rp->rt == line;
}

/* The counter that decides when fast recovery is over. */
static __always_inline u32 dcqcn_ahead(const struct dcqcn *rp)
{
	return rp->time_stage > rp->byte_stage ? rp->time_stage : rp->byte_stage;
}

/* What the next increase adds to R_T, below 2^39: at most 255 R_HAI, or 128 R_AI. */
static __always_inline u64 dcqcn_step(const struct dcqcn *rp, const struct dcqcn_param *c,
				      struct dcqcn_raise raise)
{
	u32 least = dcqcn_least(rp->time_stage, rp->byte_stage);
	u32 ahead = dcqcn_ahead(rp);
	u32 hyper = 0;

	if (ahead < c->threshold)
		return 0;
	if (least >= c->threshold)
		hyper = least - c->threshold + (c->stages == DCQCN_STAGES_NS3);
	if (raise.step && ahead > c->threshold)
		return raise.step;
	if (hyper)
		return (u64)c->hai * hyper;
	return (u64)c->ai * raise.ai >> DCQCN_SHIFT;
}

static __always_inline u32 dcqcn_up(u32 rate, u64 step, u32 line)
{
	return step < line - rate ? rate + (u32)step : line;
}

static __always_inline u8 dcqcn_stage(u8 stage, u32 n)
{
	return stage + dcqcn_least(n, DCQCN_STAGE_MAX - stage);
}

/* ns3's way out of an R_T far above R_C, at the first increase after a decrease. */
static __always_inline void dcqcn_shrink(struct dcqcn *rp, const struct dcqcn_param *c)
{
	if (c->flags & DCQCN_SHRINK && !rp->time_stage && !rp->byte_stage &&
	    rp->rt / 10 > rp->rc)
		rp->rt >>= 3;
}

/*
 * One increase of the counter @stage.  What R_C lacks is rounded down, else it would never get to
 * R_T.
 */
static __always_inline void dcqcn_increase(struct dcqcn *rp, const struct dcqcn_param *c,
					   struct dcqcn_raise raise, u8 *stage)
{
	rp->rt = dcqcn_up(rp->rt, dcqcn_step(rp, c, raise), raise.line);
	rp->rc = rp->rt - ((rp->rt - rp->rc) >> 1);
	*stage = dcqcn_stage(*stage, 1);
}

/* What there is of fast recovery in @n increases of @stage, at once.  Returns how many that is. */
static __always_inline u32 dcqcn_recover(struct dcqcn *rp, const struct dcqcn_param *c,
					 u32 n, u8 *stage)
{
	if (*stage >= c->threshold || dcqcn_ahead(rp) >= c->threshold)
		return 0;
	n = dcqcn_least(n, c->threshold - *stage);
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
static __always_inline void dcqcn_bulk(struct dcqcn *rp, const struct dcqcn_param *c,
				       struct dcqcn_raise raise, u32 n, u8 *stage)
{
	u64 target = rp->rt + dcqcn_step(rp, c, raise), first, last;
	u32 halves = dcqcn_least(n, 31);
	u32 lacks = rp->rt - rp->rc;

	*stage = dcqcn_stage(*stage, 1);
	n--;
	first = dcqcn_step(rp, c, raise);
	*stage = dcqcn_stage(*stage, n - 1);
	last = dcqcn_step(rp, c, raise);
	*stage = dcqcn_stage(*stage, 1);
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
dcqcn_increases(struct dcqcn *rp, const struct dcqcn_param *c, struct dcqcn_raise raise,
		u32 n, u8 *stage)
{
	if (dcqcn_free(rp, raise.line)) {
		*stage = dcqcn_stage(*stage, n);
		return;
	}
	dcqcn_shrink(rp, c);
	if (n > DCQCN_FEW) {
		n -= dcqcn_recover(rp, c, n - 2, stage);
		dcqcn_bulk(rp, c, raise, n, stage);
		return;
	}
	while (n--)
		dcqcn_increase(rp, c, raise, stage);
}

/* alpha after @n periods without a CNP: (1 - g)^n alpha, by squaring; 0 from 12 / g periods on. */
static __always_inline u32 dcqcn_decayed(u32 alpha, u32 g, u32 n)
{
	u64 keep = (u64)(DCQCN_ONE - g) << (DCQCN_ALPHA_SHIFT - DCQCN_SHIFT);

	if ((u64)n * g >= DCQCN_ALPHA_GONE * DCQCN_ONE)
		return 0;
	for (;;) {
		if (n & 1)
			alpha = alpha * keep >> DCQCN_ALPHA_SHIFT;
		n >>= 1;
		if (!n)
			return alpha;
		keep = keep * keep >> DCQCN_ALPHA_SHIFT;
	}
}

/* alpha now.  Only a CNP asks for it, so what it has decayed is not looked at before. */
static __always_inline u32 dcqcn_alpha(const struct dcqcn *rp, const struct dcqcn_param *c)
{
	return dcqcn_decayed(rp->alpha, c->g, rp->alpha_run / c->alpha_ns);
}

static __always_inline u32 dcqcn_later(u32 run, u32 ns)
{
	return ns < ~run ? run + ns : ~0U;
}

/* @more is added to @run, of a period that has begun.  Returns how many periods that ends. */
static __always_inline u64 dcqcn_periods(u32 *run, u32 more, u32 period)
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

static __always_inline void dcqcn_increase_time(struct dcqcn *rp,
						const struct dcqcn_param *c,
						const struct dcqcn_gain *gain, u32 ns)
{
	u64 n = dcqcn_periods(&rp->time_run, ns, c->time_ns);

	if (n)
		dcqcn_increases(rp, c, dcqcn_raise(c, gain), n, &rp->time_stage);
}

/* The flow's line has been lowered since the last event; R_C is never above R_T. */
static __always_inline void dcqcn_lower(struct dcqcn *rp, u32 line)
{
	rp->rt = line;
	rp->rc = dcqcn_least(rp->rc, line);
}

/* Makes good what has become due by @now (ns, wraps). */
static __always_inline void dcqcn_advance(struct dcqcn *rp, const struct dcqcn_param *c,
					  const struct dcqcn_gain *gain, u32 now)
{
	u32 line = dcqcn_line(c, gain), ns = now - rp->stamp;

	if (rp->rt > line)
		dcqcn_lower(rp, line);
	if (!ns || ns >= -DCQCN_BACK_NS)
		return;
	rp->stamp = now;
	rp->decrease_run = dcqcn_later(rp->decrease_run, ns);
	rp->alpha_run = dcqcn_later(rp->alpha_run, ns);
	dcqcn_increase_time(rp, c, gain, ns);
}

/* @bytes have been sent at @now (ns, wraps). */
static __always_inline void dcqcn_sent(struct dcqcn *rp, const struct dcqcn_param *c,
				       const struct dcqcn_gain *gain, u32 now, u32 bytes)
{
	u64 n;

	dcqcn_advance(rp, c, gain, now);
	n = c->bytes ? dcqcn_periods(&rp->bytes, bytes, c->bytes) : 0;
	if (n)
		dcqcn_increases(rp, c, dcqcn_raise(c, gain), n, &rp->byte_stage);
}

/* A CNP counts in alpha. */
static __always_inline void dcqcn_alpha_cnp(struct dcqcn *rp, const struct dcqcn_param *c)
{
	rp->alpha -= (u64)rp->alpha * c->g >> DCQCN_SHIFT;
	rp->alpha += c->g << (DCQCN_ALPHA_SHIFT - DCQCN_SHIFT);
}

/* Whether R_T comes down to R_C at a decrease. */
static __always_inline bool dcqcn_clamps(const struct dcqcn *rp, const struct dcqcn_param *c)
{
	return c->flags & DCQCN_CLAMP || rp->byte_stage ||
	       (c->flags & DCQCN_CLAMP_TIME && rp->time_stage);
}

/* The least rate that a decrease goes to. */
static __always_inline u32 dcqcn_floor(const struct dcqcn_param *c,
				       const struct dcqcn_gain *gain)
{
	u32 least = dcqcn_of_line(c, gain->least);

	return least > c->min_rate ? least : c->min_rate;
}

/* R_C after a decrease. */
static __always_inline u32 dcqcn_less(const struct dcqcn *rp, const struct dcqcn_param *c,
				      const struct dcqcn_gain *gain)
{
	u32 alpha = rp->alpha >> (DCQCN_ALPHA_SHIFT - DCQCN_SHIFT);
	u32 beta = (u64)alpha * gain->decrease >> (DCQCN_SHIFT + 1);
	u32 rate = rp->rc - ((u64)rp->rc * dcqcn_least(beta, c->decrease_max) >> DCQCN_SHIFT);
	u32 least = dcqcn_floor(c, gain);

	return rate > least ? rate : least;
}

/* Both counters and their periods begin anew. */
static __always_inline void dcqcn_anew(struct dcqcn *rp)
{
	rp->time_stage = 0;
	rp->byte_stage = 0;
	rp->time_run = 0;
	rp->bytes = 0;
}

static __always_inline void dcqcn_decrease(struct dcqcn *rp, const struct dcqcn_param *c,
					   const struct dcqcn_gain *gain)
{
	u32 line = dcqcn_line(c, gain);
	bool was_free = dcqcn_free(rp, line);

	if (was_free && c->flags & DCQCN_ALPHA_ANEW)
		rp->alpha = c->alpha_init << (DCQCN_ALPHA_SHIFT - DCQCN_SHIFT);
	if (c->flags & DCQCN_ALPHA_FIRST)
		dcqcn_alpha_cnp(rp, c);
	if (dcqcn_clamps(rp, c))
		rp->rt = rp->rc;
	if (was_free && c->first_rate)
		rp->rc = dcqcn_least(c->first_rate, line);
	else
		rp->rc = dcqcn_less(rp, c, gain);
	if (rp->rt < rp->rc)	/* the least rate has been raised */
		rp->rt = rp->rc;
	if (!(c->flags & DCQCN_ALPHA_FIRST))
		dcqcn_alpha_cnp(rp, c);
	dcqcn_anew(rp);
}

/* A CNP has arrived at @now (ns, wraps).  Returns whether it has decreased the rate. */
static __always_inline bool dcqcn_cnp(struct dcqcn *rp, const struct dcqcn_param *c,
				      const struct dcqcn_gain *gain, u32 now)
{
	dcqcn_advance(rp, c, gain, now);
	rp->alpha = dcqcn_alpha(rp, c);
	rp->alpha_run = 0;
	if (rp->decrease_run < c->decrease_ns) {
		if (c->flags & DCQCN_ALPHA_EVERY)
			dcqcn_alpha_cnp(rp, c);
		return false;
	}
	rp->decrease_run = 0;
	dcqcn_decrease(rp, c, gain);
	return true;
}

/* The rate to send at, in parts of param.line; never 0. */
static __always_inline u32 dcqcn_rate(const struct dcqcn *rp)
{
	return rp->rc;
}

#endif /* MLCC_DCQCN_RP_H */
