// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rights.h"

bool jobs_may(const struct who *who, const struct job *job)
{
	return who->admin || (who->uid && who->uid == job->uid);
}

/* Root without the capability is nobody's owner: in a container it is anybody. */
bool jobs_may_list(const struct who *who, const struct job *job)
{
	if (jobs_may(who, job))
		return true;
	return who->uid && (job->owner_uid == who->uid ||
			    (job->owner_gid && who_is_in(who, job->owner_gid)));
}

/*
 * A process in the job's cgroup is of the job, whoever it runs as; one of the same path that was
 * made later is another, even if the job has not ended yet.
 */
bool jobs_may_hint(const struct who *who, const struct job *job)
{
	char path[PATH_MAX];

	if (jobs_may_list(who, job))
		return true;
	return job->cgroup_id && who->cgroups && !who_cgroup(who, path) &&
	       cgroup_within(path + 1, job->cgroup) &&
	       cgroup_there(who->cgroups, job->cgroup, job->cgroup_id) && who_lives(who);
}

/* Names are each user's own.  Where root has a job of that name, it is that one. */
static int find_by_name(struct jobs *all, const struct who *who, jobs_right *right,
			const char *name, struct job **job, struct err *e)
{
	struct job *j, *second = NULL;

	*job = NULL;
	LIST_FOREACH(j, table_named(all, name), named) {
		if (strcmp(j->conf.name, name) || !right(who, j))
			continue;
		if (!*job || (job_is_roots(j) && !job_is_roots(*job))) {
			*job = j;
			second = NULL;
		} else if (job_is_roots(j) == job_is_roots(*job)) {
			second = j;
		}
	}
	if (second)
		return fail(e, -ENOTUNIQ, "jobs %u and %u are both called '%s': say the id",
			    (*job)->conf.id, second->conf.id, name);
	return *job ? 0 : fail(e, -ENOENT, "no job '%.80s'", name);
}

int jobs_find(struct jobs *all, const struct who *who, jobs_right *right, const char *name,
	      struct job **job, struct err *e)
{
	unsigned long id;
	char *end;

	if (!*name)
		return fail(e, -EINVAL, "job: its id or its name is wanted");
	id = strtoul(name, &end, 10);
	if (*end || *name < '0' || *name > '9')
		return find_by_name(all, who, right, name, job, e);
	*job = id && id < JOB_IDS ? all->by_id[id] : NULL;
	if (!*job)
		return fail(e, -ENOENT, "no job %.20s", name);
	if (!right(who, *job))
		return fail(e, -EPERM, "job %lu is another user's", id);
	return 0;
}

/* The job whose cgroup has the first @len bytes of @path, which have @hash. */
static struct job *job_at(struct jobs *all, const char *path, size_t len, uint32_t hash)
{
	struct job *j;

	LIST_FOREACH(j, table_placed(all, hash), placed)
		if (j->cgroup_id && strlen(j->cgroup) == len && !memcmp(j->cgroup, path, len) &&
		    jobs_is_there(all, j))
			return j;
	return NULL;
}

/* The innermost one of the cgroup at @path, without a '/' before it, and those above it. */
static struct job *job_above(struct jobs *all, const char *path)
{
	struct job *j = NULL, *inner;
	uint32_t hash = 0;

	for (size_t len = 0, part; path[len]; len += part) {
		part = strcspn(path + len + 1, "/") + 1;
		hash = table_hash(hash, path + len, part);
		inner = job_at(all, path, len + part, hash);
		j = inner ? inner : j;
	}
	return j;
}

uint64_t jobs_foreign(struct jobs *all, const struct who *who)
{
	char path[PATH_MAX];
	const struct job *j;

	if (who_cgroup(who, path))
		return 0;
	j = job_above(all, path + 1);
	/* root without the capability is whoever is in the container */
	return j && (!who->uid || account_uid(j->uid) != account_uid(who->uid)) ? j->cgroup_id : 0;
}

int jobs_find_own(struct jobs *all, const struct who *who, struct job **job, struct err *e)
{
	char path[PATH_MAX];
	int err = who_cgroup(who, path);

	if (err)
		return fail(e, err, "process %d is in no cgroup that is known", who->pid);
	*job = job_above(all, path + 1);
	if (!*job)
		return fail(e, -ENOENT, "process %d is in no job's cgroup", who->pid);
	if (!jobs_may_hint(who, *job))
		return fail(e, -ESRCH, "process %d has ended", who->pid);
	return 0;
}
