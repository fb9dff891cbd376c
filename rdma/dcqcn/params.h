/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Parameters of DCQCN, and in what its implementations differ.
 *
 * Rates have no unit here: they are parts of "line", which is whatever the carrier counts in (kb/s
 * in soft-RoCE, 2^-28 of the port's rate in a programmable NIC).  Times are nanoseconds.
 *
 * In these points implementations differ, so each is a parameter:
 *
 *	alpha		counts a CNP before or after the decrease that it causes; counts those, too,
 *			that are too soon after one to cause another; and whether it is
 *			alpha_init again when a flow that runs free decreases
 *	CNPs		paced by the NP (decrease_ns = 0: each one decreases), or by the RP, which
 *			decreases once in decrease_ns (and the NP answers each mark)
 *	R_T		follows R_C at each decrease; or only if R_C has risen since the last
 *	stages		see enum dcqcn_stages
 *	target		a first increase from R_T > 10 R_C brings R_T down to an eighth
 */
#ifndef MLCC_DCQCN_PARAMS_H
#define MLCC_DCQCN_PARAMS_H

#include "../../include/mlcc/types.h"

#define DCQCN_SHIFT	16	/* of fractions, "Q16" */
#define DCQCN_ONE	65536U

/*
 * When the increase is fast recovery, when hyper, else additive; T and BC count increases since the
 * last decrease, by time and by bytes.
 */
enum dcqcn_stages {
	DCQCN_STAGES_PAPER,	/* max < F: recovery; min > F: hyper, (min - F) R_HAI */
	DCQCN_STAGES_NS3,	/* max < F: recovery; min >= F: hyper, (min - F + 1) R_HAI */
	DCQCN_STAGES_COUNT,
};

enum dcqcn_flags {
	DCQCN_CLAMP = 1,		/* R_T = R_C at every decrease (clamp_tgt_rate) */
	DCQCN_CLAMP_TIME = 2,		/* ... after an increase by time (..._after_time_inc) */
	DCQCN_ALPHA_FIRST = 4,		/* alpha counts the CNP before the decrease */
	DCQCN_ALPHA_ANEW = 8,		/* alpha_init for a flow that ran free */
	DCQCN_ALPHA_EVERY = 16,	/* alpha counts CNPs that came too soon to decrease, too */
	DCQCN_SHRINK = 32,		/* R_T / 8 at the first increase, if above 10 R_C */
	DCQCN_FLAGS = 63,
};

struct dcqcn_param {
	u32 line;		/* the port's rate: R_C and R_T never exceed it */
	u32 min_rate;		/* R_C never falls below */
	u32 ai;			/* R_AI */
	u32 hai;		/* R_HAI */
	u32 first_rate;		/* R_C after a decrease of a flow that ran free, 0: as any */
	u32 time_ns;		/* T, period of the increase timer */
	u32 bytes;		/* B, period of the byte counter; 0: there is none */
	u32 alpha_ns;		/* K, period in which alpha decays unless a CNP arrives */
	u32 decrease_ns;	/* least time between two decreases, 0: any */
	u32 g;			/* Q16, gain of alpha */
	u32 alpha_init;		/* Q16 */
	u32 decrease_max;	/* Q16, most of R_C that a decrease takes (1 - rpg_min_dec_fac) */
	u8 threshold;		/* F, events of fast recovery */
	u8 stages;		/* enum dcqcn_stages */
	u8 flags;		/* enum dcqcn_flags */
	u8 spare;
};

/* Limits; they keep every product within 64 bits. */
#define DCQCN_LINE_MIN	1024U
#define DCQCN_LINE_MAX	0x80000000U
#define DCQCN_RATE_MIN	2U
#define DCQCN_NS_MIN		1000U
#define DCQCN_NS_MAX		1000000000U
#define DCQCN_BYTES_MIN	1024U
#define DCQCN_BYTES_MAX	0x40000000U
#define DCQCN_THRESHOLD_MAX	31

static __always_inline bool dcqcn_in(u32 v, u32 min, u32 max)
{
	return v >= min && v <= max;
}

/* Whether all parameters are within their limits; the reaction point must be given no others. */
static __always_inline bool dcqcn_param_valid(const struct dcqcn_param *c)
{
	return dcqcn_in(c->line, DCQCN_LINE_MIN, DCQCN_LINE_MAX) &&
	       dcqcn_in(c->min_rate, DCQCN_RATE_MIN, c->line) &&
	       dcqcn_in(c->ai, 1, c->line) &&
	       c->hai <= c->line &&
	       (!c->first_rate || dcqcn_in(c->first_rate, c->min_rate, c->line)) &&
	       dcqcn_in(c->time_ns, DCQCN_NS_MIN, DCQCN_NS_MAX) &&
	       (!c->bytes || dcqcn_in(c->bytes, DCQCN_BYTES_MIN, DCQCN_BYTES_MAX)) &&
	       dcqcn_in(c->alpha_ns, DCQCN_NS_MIN, DCQCN_NS_MAX) &&
	       c->decrease_ns <= DCQCN_NS_MAX &&
	       dcqcn_in(c->g, 1, DCQCN_ONE) &&
	       c->alpha_init <= DCQCN_ONE &&
	       c->decrease_max <= DCQCN_ONE &&
	       c->threshold <= DCQCN_THRESHOLD_MAX &&
	       c->stages < DCQCN_STAGES_COUNT &&
	       c->flags <= DCQCN_FLAGS;
}

#endif /* MLCC_DCQCN_PARAMS_H */
