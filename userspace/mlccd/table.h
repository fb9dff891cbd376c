/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The jobs that there are, by id, name, cgroup and path. */
#ifndef MLCCD_TABLE_H
#define MLCCD_TABLE_H

#include "carrier.h"
#include "cgroup.h"
#include "config.h"
#include "job.h"

#define JOB_BUCKETS	4096

struct jobs {
	const struct config *config;
	struct carrier *carrier;
	const struct cgroups *cgroups;
	/* the job with this id, or its plan, is another one now, or gone */
	void (*changed)(void *arg, uint32_t id);
	void *changed_arg;
	struct job_list list;
	struct job *by_id[JOB_IDS];
	/* hashed: of thousands set-job looks at few */
	struct job_list by_name[JOB_BUCKETS], by_cgroup[JOB_BUCKETS], by_path[JOB_BUCKETS];
	uint32_t count, next_id, polled_id, looked_id;
	uint32_t senders;		/* had flows at the last look */
	/* by id: the carrier could not be told how the job is, or that there is none */
	bool untold[JOB_IDS];
	uint32_t untold_count;
	bool neutral;			/* all that have phases, also those that come */
	int dir;			/* of the files */
};

void table_add(struct jobs *all, struct job *job);
void table_remove(struct jobs *all, struct job *job);

/* Those that may have that name, that cgroup, or a path of that hash. */
struct job_list *table_named(struct jobs *all, const char *name);
struct job_list *table_held(struct jobs *all, uint64_t cgroup_id);
struct job_list *table_placed(struct jobs *all, uint32_t hash);
/* Of what has @hash and then @s. */
uint32_t table_hash(uint32_t hash, const char *s, size_t len);

/* The highest id that fits the mark's mask. */
uint32_t jobs_id_max(const struct jobs *all);
/* Whether its cgroup is there still. */
bool jobs_is_there(const struct jobs *all, const struct job *job);

#endif /* MLCCD_TABLE_H */
