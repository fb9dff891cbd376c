/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * TMDML's notification point: no CNP for a flow behind the others that arrive at this host.
 *
 * A job's next iteration starts when the slowest of its flows is done.  Under DCQCN that is the one
 * with several bottlenecks, for it is marked at each.  Here a marked packet is answered only if the
 * flow has had at least the average progress of the flows that arrive at this host (Yang et al.,
 * Traffic Management for Distributed Machine Learning in RDMA-enabled Data Center Networks, ICC
 * '21, section III.B, TMDML-NIC):
 *
 *	progress	bytes that have arrived of the flow in this phase
 *	average		over the flows of the group, anew at every B-th packet
 *
 * Two things are ours.  A phase begins as the shared tracker has it (phase.h), by what arrives, so
 * that the bytes of the last iteration do not count in this one.  And there is a limit: after
 * "spare" CNPs in a row that it was due and did not get, a flow gets one however far behind it is;
 * else a straggler that is a bottleneck's only flow would fill the queue until it overflows.
 *
 * A group is the flows of one job at one host.  Its flows may arrive on several CPUs; each flow on
 * one at a time.
 */
#ifndef MLCC_DCQCN_TMDML_H
#define MLCC_DCQCN_TMDML_H

#include "../../include/mlcc/phase.h"
#include "np.h"

#define MLCC_TMDML_EVERY	64U	/* packets */
#define MLCC_TMDML_SPARE	7U	/* CNPs */

struct mlcc_tmdml_param {
	u32 interval;		/* ns, least time between two CNPs of a flow; as in np.h */
	u32 every;		/* B, packets of the group; a power of two */
	u32 spare;		/* CNPs in a row that a flow behind is spared; 0: plain DCQCN */
};

struct mlcc_tmdml_group {
	struct mlcc_job job;	/* of what arrives */
	u64 average;		/* bytes */
	u32 packets;		/* wraps */
};

struct mlcc_tmdml_flow {
	u64 received;		/* bytes, in this phase */
	struct mlcc_np np;
	u16 seq;		/* phase that this flow has entered, low bits of the job's */
	u16 spared;		/* CNPs since the last one */
};

static __always_inline void mlcc_tmdml_enter(struct mlcc_tmdml_group *g, struct mlcc_tmdml_flow *f)
{
	u16 seq = MLCC_READ(g->job.seq);

	if (f->seq == seq)
		return;
	f->seq = seq;
	f->received = 0;
	f->spared = 0;
	MLCC_FETCH_ADD32(&g->job.flows, 1);
}

static __always_inline void mlcc_tmdml_average(struct mlcc_tmdml_group *g)
{
	u64 all = MLCC_READ(g->job.acked) - MLCC_READ(g->job.start_acked);
	u32 flows = MLCC_READ(g->job.flows);

	MLCC_WRITE(g->average, MLCC_DIV64(all, flows ? flows : 1));
}

/* A packet of @bytes has arrived, marked or not.  @now_us: of a clock that does not wrap. */
static __always_inline void mlcc_tmdml_arrived(struct mlcc_tmdml_group *g,
					       struct mlcc_tmdml_flow *f,
					       const struct mlcc_tmdml_param *c, u32 bytes,
					       u64 now_us)
{
	if (now_us >= MLCC_READ(g->job.last_us) + MLCC_GAP_MIN_US &&
	    mlcc_job_tx_start(&g->job, now_us, 0))
		MLCC_WRITE(g->average, 0);
	mlcc_job_acked(&g->job, bytes, now_us);
	mlcc_tmdml_enter(g, f);
	f->received += bytes;
	if (!((MLCC_FETCH_ADD32(&g->packets, 1) + 1) & (c->every - 1)))
		mlcc_tmdml_average(g);
}

static __always_inline bool mlcc_tmdml_behind(const struct mlcc_tmdml_group *g,
					      const struct mlcc_tmdml_flow *f)
{
	return f->received < MLCC_READ(g->average);
}

/*
 * The packet was CE-marked; after mlcc_tmdml_arrived().  @now: ns, wraps.
 * Returns whether a CNP is due; it is taken for sent.
 */
static __always_inline bool mlcc_tmdml_marked(struct mlcc_tmdml_group *g,
					      struct mlcc_tmdml_flow *f,
					      const struct mlcc_tmdml_param *c, u32 now)
{
	if (!mlcc_np_marked(&f->np, c->interval, now))
		return false;
	if (f->spared < c->spare && mlcc_tmdml_behind(g, f)) {
		f->spared++;
		return false;
	}
	f->spared = 0;
	return true;
}

#endif /* MLCC_DCQCN_TMDML_H */
