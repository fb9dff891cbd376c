/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a request may ask for, and whose jobs are in its way. */
#ifndef MLCCD_PERMIT_H
#define MLCCD_PERMIT_H

#include <limits.h>

#include "account.h"
#include "table.h"

/* What a request says.  @path: "" none. */
struct job_wanted {
	char path[PATH_MAX];
	bool create, dry_run;
	bool limited;			/* root asks for what a user has said */
	bool own_name;			/* it was asked for, and is no default */
	bool looked;			/* its id was chosen: no policy rule is about its mark */
	struct job job;			/* what it says of it; id 0: any */
};

/* The job that the request is about: @old, by id, else by cgroup; NULL: a new one. */
int permit_check(struct jobs *all, const struct who *who, struct job_wanted *w, uint64_t cgroup,
		 struct job **old, struct err *e);
/* Jobs of others in, above or below the cgroup keep it from being taken. */
int permit_check_cgroup(struct jobs *all, const struct who *who, const char *rel,
			const struct cgroup_look *look, struct err *e);

#endif /* MLCCD_PERMIT_H */
