/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What carrier, tagger and file are told of a job. */
#ifndef MLCCD_APPLY_H
#define MLCCD_APPLY_H

#include "table.h"

#define JOB_OTHER	"conf/background"

/* One DSCP and many exclude each other; what has no phases has one anyway. */
bool job_by_progress(const struct job *job);
/* Of those connections of all other jobs that mlccd.conf's background names. */
bool job_is_other(const struct job *job);
bool job_has_phases(const struct job *job);
bool jobs_is_neutral(const struct jobs *all, const struct job *job);
/* That all of the job's packets have, by its plan or its class; < 0: none. */
int jobs_dscp(const struct jobs *all, const struct job *job);

/* What the carrier is told: class latency is the base algorithm (include/mlcc/class.h). */
struct mlcc_job_conf apply_conf(const struct jobs *all, const struct job *job);
int apply_carrier(struct jobs *all, const struct job *job, bool create, struct err *e);
void apply_removal(struct jobs *all, uint32_t id);
/* What it could not be told, it is to be told again. */
void apply_untold(struct jobs *all, uint32_t id, bool untold);
void apply_again(struct jobs *all);

int apply_tag(struct jobs *all, const struct job *job, struct err *e);
void apply_untag(struct jobs *all, const struct job *job);

/* File, carrier, tagger; all or nothing.  @old NULL: there was none. */
int apply_job(struct jobs *all, struct job *job, const struct job *old, struct err *e);

#endif /* MLCCD_APPLY_H */
