/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DCTCP's estimate of congestion (RFC 8257, sections 3.2 and 3.3), the base of flows with ECN.
 *
 *	alpha = (1 - g) alpha + g F	once a window; F = share of the packets that were CE-marked
 *	cwnd  = cwnd (1 - alpha / 2)	once a window with marks
 *
 * The rule scales that decrease like any other.  g is 1/16 as the RFC recommends.
 */
#ifndef MLCC_DCTCP_H
#define MLCC_DCTCP_H

#include "types.h"
#include "rule.h"

#define MLCC_DCTCP_G_SHIFT	4	/* g = 1/16 */

struct mlcc_dctcp {
	u32 alpha;		/* Q16, 1 at first: cautious until measured */
	u32 next_seq;		/* the window under measurement ends here */
	u32 delivered;		/* tp->delivered when it began */
	u32 delivered_ce;	/* tp->delivered_ce when it began */
	u32 prior_rcv_nxt;	/* receiver: what the last CE state was acknowledged up to */
	u16 ce_state;		/* receiver: whether the last packet was CE-marked */
};

/* Folds the window that ended into alpha. @delivered, @delivered_ce: tp's counters now. */
static __always_inline void mlcc_dctcp_window(struct mlcc_dctcp *d, u32 delivered,
					      u32 delivered_ce)
{
	u32 ce = delivered_ce - d->delivered_ce;
	u32 all = delivered - d->delivered;
	u32 less = d->alpha >> MLCC_DCTCP_G_SHIFT;

	/* without this the last bits of alpha would never go */
	d->alpha -= less ? less : d->alpha;
	if (ce) {
		u64 f = MLCC_DIV64((u64)ce << (MLCC_SHIFT - MLCC_DCTCP_G_SHIFT),
				   (u64)(all ? all : 1));

		d->alpha = d->alpha + f < MLCC_ONE ? d->alpha + f : MLCC_ONE;
	}
	d->delivered = delivered;
	d->delivered_ce = delivered_ce;
}

#endif /* MLCC_DCTCP_H */
