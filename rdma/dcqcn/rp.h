/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DCQCN's reaction point (RP): the sender's rate under the rule.
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
 *	mlcc_rp_phase()		before the first of these in a new phase of the job
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
#define MLCC_RP_RESTART_SHIFT	4		/* a phase begins with 1/16 of the flow's part */
#define MLCC_RP_FLOOR_SHIFT	10	/* ... and stays above 1/1024 of it, */
#define MLCC_RP_FLOOR_BYTES	16	/* or what sends 2^16 in a phase */
#define MLCC_RP_LATE_P		(MLCC_ONE * 5 / 8)	/* from here on a phase is late */
#define MLCC_RP_SHORT_SHIFT	3	/* a phase of less than 8 T is a short one */

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

/* What a flow gets of the line where its job has the link.  Q16, 1 .. MLCC_ONE */
struct mlcc_rp_own {
	u32 part;
	u32 least;		/* no decrease goes below */
};

#define MLCC_RP_OWN_LINE ((struct mlcc_rp_own) { MLCC_ONE, MLCC_ONE >> MLCC_RP_FLOOR_SHIFT })

/* What a job's progress does to its flows. */
struct mlcc_rp_gain {
	u32 ai;			/* Q16, scales R_AI */
	u32 decrease;		/* Q16 up to 8, scales alpha/2 */
	u32 hyper;		/* hyper increase by the counter that is ahead, and the floor */
	u32 late;		/* a decrease takes R_T down by half only */
	struct mlcc_rp_own own;
};

/*
 * What of it an increase takes.  It is passed by value, so that where nothing else is taken of the
 * gain the compiler leaves out the rest.
 */
struct mlcc_rp_raise {
	u32 ai;
	u32 hyper;
};

#define MLCC_RP_RAISE(gain) ((struct mlcc_rp_raise) { (gain)->ai, (gain)->hyper })

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
	struct mlcc_rp_gain gain = { .ai = MLCC_ONE, .decrease = MLCC_ONE, .own = own };

	if (p == MLCC_NEUTRAL)
		return gain;
	gain.ai = mlcc_grow(pr, p);
	if (pr->restart != MLCC_RESTART_QUEUE) {
		gain.decrease = mlcc_yield(pr, p);
		return gain;
	}
	gain.hyper = 1;
	gain.late = p >= MLCC_RP_LATE_P;
	gain.decrease = mlcc_rp_late_decrease(p, mlcc_yield(pr, MLCC_ONE) / 2);
	return gain;
}

/* A flow starts: at line rate, and as wary as the parameters say.  @now: ns, wraps. */
static __always_inline void mlcc_rp_init(struct mlcc_rp *rp, const struct mlcc_rp_param *c, u32 now)
{
	*rp = (struct mlcc_rp) {
		.rc = c->line, .rt = c->line, .stamp = now, .decrease_run = ~0U,
		.alpha = c->alpha_init << (MLCC_RP_ALPHA_SHIFT - MLCC_SHIFT),
	};
}

static __always_inline u32 mlcc_rp_least(u32 a, u32 b)
{
	return a < b ? a : b;
}

/* Whether nothing holds the flow back. */
static __always_inline bool mlcc_rp_free(const struct mlcc_rp *rp, const struct mlcc_rp_param *c)
{
	return rp->rc == c->line && rp->rt == c->line;
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
	if (raise.hyper && hyper < ahead - c->threshold)
		hyper = ahead - c->threshold;
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
	rp->rt = mlcc_rp_up(rp->rt, mlcc_rp_step(rp, c, raise), c->line);
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
	if (target >= c->line) {
		rp->rt = c->line;
		rp->rc = c->line - (lacks >> halves);
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
static MLCC_OUTLINE void mlcc_rp_increases(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					   struct mlcc_rp_raise raise, u32 n, u8 *stage)
{
	if (mlcc_rp_free(rp, c)) {
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
		mlcc_rp_increases(rp, c, MLCC_RP_RAISE(gain), n, &rp->time_stage);
}

/* The line has been lowered since the last event; R_C is never above R_T. */
static __always_inline void mlcc_rp_lower(struct mlcc_rp *rp, const struct mlcc_rp_param *c)
{
	rp->rt = c->line;
	rp->rc = mlcc_rp_least(rp->rc, c->line);
}

/* Makes good what has become due by @now (ns, wraps). */
static __always_inline void mlcc_rp_advance(struct mlcc_rp *rp, const struct mlcc_rp_param *c,
					    const struct mlcc_rp_gain *gain, u32 now)
{
	u32 ns = now - rp->stamp;

	if (rp->rt > c->line)
		mlcc_rp_lower(rp, c);
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
		mlcc_rp_increases(rp, c, MLCC_RP_RAISE(gain), n, &rp->byte_stage);
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

/* @part: Q16 */
static __always_inline u32 mlcc_rp_of_line(const struct mlcc_rp_param *c, u32 part)
{
	return (u64)c->line * part >> MLCC_SHIFT;
}

/* The least rate that a decrease goes to. */
static __always_inline u32 mlcc_rp_floor(const struct mlcc_rp_param *c,
					 const struct mlcc_rp_gain *gain)
{
	u32 least = gain->hyper ? mlcc_rp_of_line(c, gain->own.least) : 0;

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
	bool was_free = mlcc_rp_free(rp, c);

	if (was_free && c->flags & MLCC_RP_ALPHA_ANEW)
		rp->alpha = c->alpha_init << (MLCC_RP_ALPHA_SHIFT - MLCC_SHIFT);
	if (c->flags & MLCC_RP_ALPHA_FIRST)
		mlcc_rp_alpha_cnp(rp, c);
	if (mlcc_rp_clamps(rp, c))
		rp->rt -= (rp->rt - rp->rc) >> gain->late;
	rp->rc = was_free && c->first_rate ? c->first_rate : mlcc_rp_less(rp, c, gain);
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

/* The rate to send at, in parts of param.line; never 0. */
static __always_inline u32 mlcc_rp_rate(const struct mlcc_rp *rp)
{
	return rp->rc;
}

#endif /* MLCC_DCQCN_RP_H */
