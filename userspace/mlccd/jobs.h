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

#include <limits.h>

#include "account.h"
#include "carrier.h"
#include "cgroup.h"
#include "config.h"
#include "../common/err.h"

#define JOB_IDS		65536

/* What a plan says of a job (plan.c). */
struct job_plan {
	uint32_t period_us;		/* of the time-shift; 0: there is none */
	uint32_t offset_us;		/* phases begin when the time of day modulo the period is this */
	uint32_t lead_us;		/* so long before its phase an iteration begins */
	uint32_t dscp;			/* of all of the job's packets, and 1 more; 0: none */
};

struct job {
	struct job *next;
	struct mlcc_job_conf conf;
	uid_t uid;			/* whose it is */
	uint64_t cgroup_id;		/* 0: none, the mark alone makes flows the job's */
	uint32_t classes;		/* of priority, 0: none */
	uint32_t period_us;		/* as announced; 0: not */
	struct job_plan plan;
	bool tagged;			/* the tagger has it as it is here */
	bool adopted;			/* found in the carrier, set by something else */
	char cgroup[];			/* below the mount */
};

struct jobs {
	struct job *first;
	struct job *by_id[JOB_IDS];
	uint32_t count, next_id;
	int dir;			/* of the files */
};

/* What a request says.  @path: "" none. */
struct job_wanted {
	struct mlcc_job_conf conf;	/* id 0: any */
	uint32_t classes, period_us;
	char path[PATH_MAX];
	bool create, dry_run;
};

struct mlccd;

/* Opens the directory, reads the files, and completes carrier and tagger. */
int jobs_init(struct mlccd *d, const char *dir, struct err *e);
void jobs_free(struct mlccd *d);

/* Sets a job as a whole.  @set gets the job as it is then, or would be with dry_run; free() it. */
int jobs_set(struct mlccd *d, const struct who *who, const struct job_wanted *w, struct job **set,
	     struct err *e);
int jobs_del(struct mlccd *d, const struct who *who, struct job *job, bool dry_run, struct err *e);

/* One of several jobs whose plans change. */
struct job_change {
	struct job *job;
	struct job_plan plan;
};

/* Who may change a job may plan it, but for a DSCP that is not among the user's classes. */
int jobs_plan_check(struct mlccd *d, const struct who *who, const struct job_change *c,
		    struct err *e);
/* Changes all of them, or none. */
int jobs_plan(struct mlccd *d, struct job_change *list, unsigned int count, struct err *e);

/* Deletes all but those that something else has set. */
void jobs_clear(struct mlccd *d);

/* By id in decimal, or by name among those that @who may change. */
int jobs_find(struct mlccd *d, const struct who *who, const char *name, struct job **job,
	      struct err *e);
bool jobs_may(const struct who *who, const struct job *job);

/* Jobs whose cgroups are gone end; what the carrier has lost is set again. */
void jobs_poll(struct mlccd *d);
/* Sets in carrier and tagger what is not as it should be, and nothing else. */
void jobs_complete(struct mlccd *d);
/* Takes note of jobs that something else has set in the carrier. */
void jobs_adopt(struct mlccd *d);

/* The files: state.c */
int state_open(const char *dir, struct err *e);
int state_write(int dir, const struct job *job, struct err *e);
void state_remove(int dir, uint32_t id);
/* Calls @each with a job that it has to free() or keep. */
int state_each(int dir, void (*each)(struct mlccd *d, struct job *job), struct mlccd *d);

struct job *job_new(const char *cgroup);

#endif /* MLCCD_JOBS_H */
