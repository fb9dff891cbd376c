/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is kept of a job. */
#ifndef MLCCD_JOB_H
#define MLCCD_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "../libmlcc/libmlcc.h"
#include "history.h"

#define JOB_IDS		65536

/* What a plan says of a job (plan.c). */
struct job_plan {
	uint32_t period_us;		/* of the time-shift; 0: there is none */
	uint32_t offset_us;		/* phases begin when the time of day modulo the period is this */
	uint32_t lead_us;		/* so long before its phase an iteration begins */
	uint32_t dscp;			/* of all of the job's packets, and 1 more; 0: none */
};

/* Of a job's last phase, what rings have announced (ring.c). */
struct job_parts {
	uint64_t phase;			/* its number among those of all jobs; 0: there was none */
	uint32_t active;		/* are not over */
	uint32_t unknown;		/* do not know their bytes */
	uint64_t bytes;			/* of all others */
	bool ending;			/* all were over when it was looked at last */
};

#define JOB_COUNTERS	4

/* Carriers add up what they have, which an upgrade takes a part of away. */
struct job_counter {
	uint64_t seen;			/* last, in the carrier */
	uint64_t lost;			/* what it had, and has no more */
};

#define OVERLAP_SAMPLES	150
#define OVERLAP_SLOTS	30
#define OVERLAP_IN_SLOT	(OVERLAP_SAMPLES / OVERLAP_SLOTS)

/* At which instants of a window it was sending (overlap.h). */
struct job_sends {
	uint64_t window;		/* the last whole one, 0: none, */
	uint8_t told[OVERLAP_SLOTS];	/* at so many instants of each slot */
	uint8_t sent[OVERLAP_SLOTS];	/* likewise of this window, */
	uint8_t looks;			/* of so many */
	struct mlcc_job_progress first;	/* at the beginning of an instant */
};

struct ring;

/* Of the rings that ask for the job's plan, the one that shows it (ring.c). */
struct job_lead {
	struct ring *ring;		/* NULL: there is none */
	struct ring *next;		/* who has begun phases meanwhile, */
	unsigned int starts;		/* so many */
};

struct job {
	LIST_ENTRY(job) all, named, held, placed;	/* jobs.h */
	struct mlcc_job_conf conf;
	uid_t uid;			/* who has set it, and may change it */
	uid_t owner_uid;		/* who else may see it and announce its phases, */
	gid_t owner_gid;		/* and which group; 0: nobody */
	uint64_t cgroup_id;		/* 0: none, the mark alone makes flows the job's */
	uint32_t classes;		/* of priority, 0: none */
	uint32_t period_us;		/* as announced; 0: not */
	struct job_plan plan;
	struct job_parts parts;
	struct job_lead lead;
	struct job_counter counters[JOB_COUNTERS];
	struct history history;
	struct job_sends sends;
	char skip[MLCC_SKIP_LEN];	/* connections that are not the job's, as asked for */
	bool adopted;			/* found in the carrier, set by something else */
	bool neutral;			/* somebody measures how it does without (jobs_neutral()) */
	char cgroup[];			/* below the mount */
};

LIST_HEAD(job_list, job);

static inline bool job_is_roots(const struct job *job)
{
	return !job->uid && !job->adopted;
}

/* NULL: no memory.  free() it. */
struct job *job_new(const char *cgroup);

#endif /* MLCCD_JOB_H */
