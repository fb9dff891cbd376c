/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The jobs of tcp_mlcc for another carrier in the kernel, so that all flows of a job on this host
 * share one progress, and hints reach them all, whatever they are made of.
 *
 * A carrier needs no tcp_mlcc to load: it gets "mlcc_jobs" by symbol_get() when it has a flow of a
 * job, and gives it back by symbol_put() when it has given back the job.
 */
#ifndef MLCC_LINUX_JOBS_H
#define MLCC_LINUX_JOBS_H

#include "primitives.h"
#include "../rule.h"

struct mlcc_slot;
struct net;

/* What a flow of a job goes by. */
struct mlcc_job_view {
	struct mlcc_profile profile;
	u32 p;			/* progress, Q16, or MLCC_NEUTRAL */
	u32 seq;		/* number of the phase */
	u32 best_us;		/* mlcc_job.best_us */
	u64 bytes, kbps;	/* mlcc_job_flow_bytes(), mlcc_job_flow_kbps() */
};

struct mlcc_jobs {
	/*
	 * A reference to job @id of @net, to which root has given the flow; made if it is new.
	 * NULL: no room.  Any context.
	 */
	struct mlcc_slot *(*get)(struct net *net, u32 id);
	void (*put)(struct mlcc_slot *s);
	/* A flow starts to send with nothing of its own in flight.  @min_rtt: us, 0: not known. */
	void (*start)(struct mlcc_slot *s, struct net *net, u32 min_rtt);
	/* A flow has sent @bytes of payload, for the first time. */
	void (*sent)(struct mlcc_slot *s, u32 bytes, struct mlcc_job_view *to);
	/* A flow has sent in another phase than before. */
	void (*enter)(struct mlcc_slot *s);
};

extern const struct mlcc_jobs mlcc_jobs;

#endif /* MLCC_LINUX_JOBS_H */
