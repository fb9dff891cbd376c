/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How far the job is, and the gain that the rule makes of it.
 *
 * From what the job's processes count themselves, where they do: a carrier sees no RDMA traffic.
 * Else from libmlcc, read straight from the carrier: with the BPF carrier that is memory.  Or from
 * the port's own transmit counter through the phase tracker of include/mlcc/phase.h: if one job
 * owns the port, what the port sends is its D_sent.
 *
 * A knob of a port is for all who send there.  So there is a gain only while the followed job is
 * the only one that the carrier knows on this host (other jobs: gain 1), unless the operator says
 * that no other uses the port ("alone"), or how jobs are weighted.
 */
#ifndef MLCC_DCQCN_PROGRESS_H
#define MLCC_DCQCN_PROGRESS_H

#include "../../include/mlcc/phase.h"
#include "../libmlcc/libmlcc.h"
#include "../rdma/nic.h"

#define PROGRESS_JOBS	64

enum weight {
	WEIGHT_NONE,		/* one job or none */
	WEIGHT_MIN,		/* the smallest gain of those that send: nobody gets more */
	WEIGHT_MEAN,		/* the mean of their gains */
};

enum progress_state {
	PROGRESS_RUNS,		/* there is a gain */
	PROGRESS_IDLE,		/* nothing is sent, or D_phase is not known: gain 1 */
	PROGRESS_SHARED,	/* there are other jobs: gain 1 */
	PROGRESS_GONE,		/* no such job, or no carrier: gain 1 */
};

/* A job that the carrier knows. */
struct sender {
	uint32_t id;
	uint64_t d_sent, moved_us;	/* and since when it has stayed */
	uint32_t phases;
	bool sends;			/* it has moved of late */
};

struct progress {
	/* what the operator says */
	const char *job;		/* a name or a number; NULL with "port": none is named */
	struct mlcc_profile profile;
	enum weight weight;
	bool alone;
	bool wait;			/* begin although there is no job yet, or others */
	bool port;			/* the port's counter, not the carrier */
	uint64_t phase_bytes;		/* with "port": D_phase, 0: learnt */
	uint32_t idle_us;		/* a silence of that long is one */

	/* what is known */
	enum progress_state state;
	char why[160];			/* of PROGRESS_SHARED and PROGRESS_GONE, for people */
	struct mlcc *m;
	struct sender senders[PROGRESS_JOBS];
	unsigned int count;
	struct sender *ours;		/* NULL: the carrier does not know the job */
	bool asks;			/* there is a connection to mlccd, */
	int mlccd;			/* this one; */
	uint64_t ask_us;		/* else when to look for it again */
	uint64_t look_us, open_us;	/* when all jobs are looked at next, and anew */

	char counter[DIR_LEN];		/* the port's */
	uint64_t counted, counted_us;
	bool counting;
	struct mlcc_job tracker;
};

/* Looks for the job and its port; -ENOENT, -EBUSY, -ENODEV: why follow would have no gain. */
int progress_open(struct progress *p, const struct device *d, uint64_t now_us, struct err *e);
/* The gain now, Q16; p->state says why it is 1. */
uint32_t progress_gain(struct progress *p, uint64_t now_us);
void progress_close(struct progress *p);

#endif /* MLCC_DCQCN_PROGRESS_H */
