/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who may do what with which job, and which one he means. */
#ifndef MLCCD_RIGHTS_H
#define MLCCD_RIGHTS_H

#include "account.h"
#include "table.h"

/*
 * What @who may do with a job: change it; find it among others and announce its phases, as owners
 * may, too; or see it and announce its phases, as its processes may, too.
 */
typedef bool jobs_right(const struct who *who, const struct job *job);
jobs_right jobs_may, jobs_may_list, jobs_may_hint;

/* By id in decimal, or by name among those that @who has the right to. */
int jobs_find(struct jobs *all, const struct who *who, jobs_right *right, const char *name,
	      struct job **job, struct err *e);
/* The innermost job whose cgroup @who is in, and that somebody else has set: its cgroup.  0: none. */
uint64_t jobs_foreign(struct jobs *all, const struct who *who);
/* The job of the innermost cgroup that the process of @who is in. */
int jobs_find_own(struct jobs *all, const struct who *who, struct job **job, struct err *e);

#endif /* MLCCD_RIGHTS_H */
