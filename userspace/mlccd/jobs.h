/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The jobs: what was asked for, in the carrier, in the tagger and in a file each.
 *
 * The file is written first and holds all that the other two need, so that a daemon that is killed
 * anywhere in between leaves what the next one completes.  Carrier and tagger keep working without
 * any daemon.
 */
#ifndef MLCCD_JOBS_H
#define MLCCD_JOBS_H

#include "apply.h"
#include "permit.h"
#include "rights.h"

/* Takes over the directory (state_open()), reads the files, and completes carrier and tagger. */
void jobs_init(struct jobs *all, int dir);
void jobs_free(struct jobs *all);

/* Sets a job as a whole.  @set gets it; with dry_run as it would be, to free(). */
int jobs_set(struct jobs *all, const struct who *who, struct job_wanted *w, struct job **set,
	     struct err *e);
void jobs_del(struct jobs *all, struct job *job);

/* One of several jobs whose plans change. */
struct job_change {
	struct job *job;
	struct job_plan plan;
};

/* Who may change a job may plan it, but for a DSCP that is not among the user's classes. */
int jobs_plan_check(struct jobs *all, const struct who *who, const struct job_change *c,
		    struct err *e);
/* Changes all of them, or none. */
int jobs_plan(struct jobs *all, struct job_change *list, unsigned int count, struct err *e);

/*
 * Its flows do as their base algorithm from now on, or as the job says again; DSCPs stay.  Not
 * written down: the next daemon has the job as it was set.  -EINVAL: it has no phases.
 */
int jobs_neutral(struct jobs *all, struct job *job, bool neutral, struct err *e);
/* All that there are, and that come until it is over; what fails is tried again. */
int jobs_neutral_all(struct jobs *all, bool neutral, struct err *e);

/* Writes down what was seen last.  Only while no other mlccd can have the files. */
void jobs_keep_counts(struct jobs *all);

/* Deletes all but those that something else has set. */
void jobs_clear(struct jobs *all);

/*
 * Jobs whose cgroups are gone end; what the carrier has lost is set again.  Of many jobs a part at
 * a time, so that nobody waits for all of them, and nothing costs more where there are more.
 */
void jobs_poll(struct jobs *all);
/* Sets in carrier and tagger what is not as it should be, and nothing else. */
void jobs_complete(struct jobs *all);
/* Takes note of what the carrier says of @job, and makes its counters such as never fall. */
void jobs_look(struct jobs *all, struct job *job, struct mlcc_job_info *info);
/* Takes note of jobs that something else has set in the carrier. */
void jobs_adopt(struct jobs *all);

#endif /* MLCCD_JOBS_H */
