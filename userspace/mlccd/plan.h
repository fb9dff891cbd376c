/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* set-plan: when the phases of jobs begin, and which DSCP their packets have. */
#ifndef MLCCD_PLAN_H
#define MLCCD_PLAN_H

#include <json-c/json.h>

#include "jobs.h"
#include "ring.h"

/* All of the jobs that the request @in names, or none. */
int plan_set(struct jobs *all, const struct who *who, struct json_object *in,
	     struct json_object *out, struct err *e);
/* Adds what the job's plan says, and what its process says of that. */
void plan_json(const struct jobs *all, const struct rings *rings, const struct job *job,
	       struct json_object *o);

#endif /* MLCCD_PLAN_H */
