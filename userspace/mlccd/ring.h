/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Hints in shared memory: ../../include/mlcc/uapi/mlcc_ring.h */
#ifndef MLCCD_RING_H
#define MLCCD_RING_H

#include <systemd/sd-event.h>

#include "../../include/mlcc/uapi/mlcc_ring.h"
#include "jobs.h"

#define RING_FDS	2	/* the memfd, the eventfd */

struct ring;

struct rings {
	sd_event *events;
	struct jobs *jobs;
	struct ring *first;
	sd_event_source *end;		/* of phases of these jobs, when nothing else is there */
	uint16_t ending[JOB_IDS];
	uint32_t ending_count;
	uint64_t phases;		/* of all jobs, so far */
	uint64_t said_us;		/* when a line was written of what is dropped; 0: never */
	/* shown by "status" and as metrics */
	uint64_t records, bad, late, limited, overruns;
};

/* Whether they are what a ring is made of: then nothing that is done with them waits. */
int ring_check(const int fds[RING_FDS], struct err *e);

/* Takes copies of the descriptors.  @job: whose time-shift the ring shows, 0: none. */
int ring_open(struct rings *all, const struct who *who, struct account *account,
	      const int fds[RING_FDS], uint32_t job, struct ring **ring, struct err *e);
void ring_close(struct ring *r);

/* The job's time-shift, or its absence, for all rings that were opened for it. */
void rings_publish(void *rings, uint32_t job);
/* What a process says of it.  False: none has asked for it. */
bool rings_said(const struct rings *all, uint32_t job, struct mlcc_ring_said *said);

/* What all processes that announce a job have handed to the network. */
struct ranks {
	uint32_t count;
	uint64_t sent_bytes;		/* ever, by those that are there */
	uint64_t phase_bytes;		/* in the phase that lasts; 0: none does */
};

void rings_ranks(const struct rings *all, const struct job *job, struct ranks *ranks);

#endif /* MLCCD_RING_H */
