/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DCQCN's notification point (NP): when the receiver answers a mark with a CNP.
 *
 * The first CE-marked packet of a flow is answered at once, then at most one in an interval (Zhu et
 * al., SIGCOMM '15, section 3: 50 us).  An interval of 0 answers each mark: then it is the RP that
 * paces (decrease_ns), as with NICs whose NP keeps no state.
 *
 * An interval in which another packet was marked the paper ends with a CNP, as do its fluid model
 * and its first author's simulator.  That takes a timer.  Here, as NICs' parameter has it (mlx5:
 * the least time between CNPs), the next mark after the interval is answered.  Where x packets to
 * an interval are marked, at random, that makes (x + e^-x) / (x + 1) of the paper's CNPs: all where
 * marks are rare or dense, 0.68 at x = 1.15 (Documentation/decisions.md, HTSIM).
 *
 * Stamps are nanoseconds and wrap every 4.3 s: a mark that comes later than that may wait for one
 * interval too long.  Those of several CPUs may be out of order by up to MLCC_NP_BACK_NS.
 */
#ifndef MLCC_DCQCN_NP_H
#define MLCC_DCQCN_NP_H

#include "../../include/mlcc/types.h"

#define MLCC_NP_INTERVAL_NS	50000U
#define MLCC_NP_BACK_NS		0x100000U

struct mlcc_np {
	u32 stamp;		/* ns, of the last CNP */
	u32 answered;		/* there has been one */
};

/*
 * A CE-marked packet at @now (ns, wraps).  @interval: ns, a second at most.
 * Returns whether a CNP is due; it is taken for sent.
 */
static __always_inline bool mlcc_np_marked(struct mlcc_np *np, u32 interval, u32 now)
{
	u32 ns = now - np->stamp;

	if (interval && np->answered && (ns < interval || ns >= -MLCC_NP_BACK_NS))
		return false;
	np->answered = 1;
	np->stamp = now;
	return true;
}

#endif /* MLCC_DCQCN_NP_H */
