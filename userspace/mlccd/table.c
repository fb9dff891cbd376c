// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <string.h>

#include "table.h"

uint32_t table_hash(uint32_t hash, const char *s, size_t len)
{
	while (len--)
		hash = hash * 31 + (unsigned char)*s++;
	return hash;
}

struct job_list *table_named(struct jobs *all, const char *name)
{
	return &all->by_name[table_hash(0, name, strlen(name)) % JOB_BUCKETS];
}

struct job_list *table_placed(struct jobs *all, uint32_t hash)
{
	return &all->by_path[hash % JOB_BUCKETS];
}

struct job_list *table_held(struct jobs *all, uint64_t cgroup_id)
{
	return &all->by_cgroup[cgroup_id % JOB_BUCKETS];
}

void table_add(struct jobs *all, struct job *job)
{
	LIST_INSERT_HEAD(&all->list, job, all);
	LIST_INSERT_HEAD(table_named(all, job->conf.name), job, named);
	LIST_INSERT_HEAD(table_held(all, job->cgroup_id), job, held);
	LIST_INSERT_HEAD(table_placed(all, table_hash(0, job->cgroup, strlen(job->cgroup))), job, placed);
	all->by_id[job->conf.id] = job;
	all->count++;
	all->senders += job->history.sends;
}

void table_remove(struct jobs *all, struct job *job)
{
	LIST_REMOVE(job, all);
	LIST_REMOVE(job, named);
	LIST_REMOVE(job, held);
	LIST_REMOVE(job, placed);
	all->by_id[job->conf.id] = NULL;
	all->count--;
	all->senders -= job->history.sends;
}

uint32_t jobs_id_max(const struct jobs *all)
{
	uint32_t max = all->config->mark_mask >> __builtin_ctz(all->config->mark_mask);

	return max < JOB_IDS - 1 ? max : JOB_IDS - 1;
}

bool jobs_is_there(const struct jobs *all, const struct job *job)
{
	return !job->cgroup_id || cgroup_there(all->cgroups, job->cgroup, job->cgroup_id);
}
