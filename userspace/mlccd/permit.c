// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "permit.h"
#include "rights.h"

/* Ids are a pool: an eighth is root's, also of what root and marks that were found have already. */
static int check_share(struct jobs *all, const struct who *who, struct err *e)
{
	struct pool ids = { .size = jobs_id_max(all), .kept = jobs_id_max(all) / 8 };
	uid_t uid = account_uid(who->uid);
	const struct job *j;
	uint32_t count = 0;

	LIST_FOREACH(j, &all->list, all) {
		ids.used += j->uid && !j->adopted;
		count += j->uid && account_uid(j->uid) == uid;
	}
	if (all->count - ids.used > ids.kept)
		ids.kept = all->count - ids.used;
	if (count >= all->config->jobs_per_user)
		return fail(e, -EDQUOT, "user %u has %u jobs, which is the limit", who->uid, count);
	if (!pool_has(&ids, count, 1))
		return fail(e, -EDQUOT, "user %u has %u jobs, and no more than that are left for others",
			    who->uid, count);
	return 0;
}

/* What users may have, themselves or by a launcher that is root's. */
static int check_words(const struct config *c, const struct job_wanted *w, struct err *e)
{
	if (!config_profile_allowed(c, w->job.conf.profile))
		return fail(e, -EPERM, "profile '%s' is not among those that users may choose",
			    w->job.conf.profile);
	if (!strcmp(w->job.conf.job_class, "latency") && !c->latency_class)
		return fail(e, -EPERM, "class latency is for root here (latency-class = no)");
	if (w->job.classes > c->priority_classes)
		return fail(e, -EPERM, "priority_classes: users may have at most %u",
			    c->priority_classes);
	return 0;
}

static int check_limits(struct jobs *all, const struct who *who, const struct job_wanted *w,
			const struct job *old, struct err *e)
{
	int err;

	if (who->admin)
		return w->limited ? check_words(all->config, w, e) : 0;
	if (!who->uid)
		return fail(e, -EPERM, "root without CAP_NET_ADMIN may not set jobs");
	if (!all->config->users)
		return fail(e, -EPERM, "only root may set jobs here (users = no)");
	err = check_words(all->config, w, e);
	if (err)
		return err;
	/* a job that has the name of one of theirs would be in their way */
	if (w->job.owner_uid || w->job.owner_gid)
		return fail(e, -EPERM, "owner: only root may name another one");
	return old ? 0 : check_share(all, who, e);
}

int permit_check_cgroup(struct jobs *all, const struct who *who, const char *rel,
			     const struct cgroup_look *look, struct err *e)
{
	const struct job *j;

	if (who->admin)
		return 0;
	if (!cgroup_delegated(look, who->uid))
		return fail(e, -EPERM, "cgroup '%.200s' is not delegated to user %u (who has to own it and its cgroup.procs)",
			    rel, who->uid);
	LIST_FOREACH(j, &all->list, all)
		if (j->cgroup_id && j->uid != who->uid &&
		    (cgroup_within(rel, j->cgroup) || cgroup_within(j->cgroup, rel)))
			return fail(e, -EPERM, "cgroup '%.200s' overlaps with that of another user's job",
				    rel);
	return 0;
}

/* The job that the request is about, by id, else by cgroup; NULL: a new one. */
static int find_old(struct jobs *all, const struct who *who, const struct job_wanted *w,
		    uint64_t cgroup, struct job **old, struct err *e)
{
	struct job *holder = NULL, *j = NULL;

	*old = NULL;
	if (cgroup)
		LIST_FOREACH(holder, table_held(all, cgroup), held)
			if (holder->cgroup_id == cgroup)
				break;
	if (w->job.conf.id)
		j = all->by_id[w->job.conf.id];
	if (w->job.conf.id && holder && holder != j)
		return fail(e, -EBUSY, "that cgroup is job %u's", holder->conf.id);
	if (!w->job.conf.id)
		j = holder;
	if (j && !jobs_may(who, j))
		return fail(e, -EPERM, "job %u is another user's", j->conf.id);
	if (j && w->create)
		return fail(e, -EEXIST, "there is a job %u", j->conf.id);
	*old = j;
	return 0;
}

static int check_ids(struct jobs *all, const struct who *who, const struct job_wanted *w,
		     const struct job *old, struct err *e)
{
	if (w->job.conf.id > jobs_id_max(all))
		return fail(e, -ERANGE, "id %u: 1 to %u fit the mark's mask %#x", w->job.conf.id,
			    jobs_id_max(all), all->config->mark_mask);
	/* whoever chooses the number could meet marks that others set by hand */
	if (w->job.conf.id && !old && !who->admin)
		return fail(e, -EPERM, "id: only root may choose it, leave it out");
	return 0;
}

/* Another job of that name, of the same user and owners. */
static struct job *namesake(struct jobs *all, uid_t uid, const struct job_wanted *w,
			    const struct job *old)
{
	struct job *j;

	if (!w->job.conf.name[0])
		return NULL;
	LIST_FOREACH(j, table_named(all, w->job.conf.name), named)
		if (j != old && !j->adopted && j->uid == uid && j->owner_uid == w->job.owner_uid &&
		    j->owner_gid == w->job.owner_gid && !strcmp(j->conf.name, w->job.conf.name) &&
		    jobs_is_there(all, j))
			return j;
	return NULL;
}

/* A default that is taken is left out. */
static int check_name(struct jobs *all, uid_t uid, struct job_wanted *w, const struct job *old,
			   struct err *e)
{
	struct job *other = namesake(all, uid, w, old);

	if (!other)
		return 0;
	if (w->own_name)
		return fail(e, -EEXIST, "name: job %u is called '%s' already", other->conf.id,
			    w->job.conf.name);
	w->job.conf.name[0] = '\0';
	return 0;
}

int permit_check(struct jobs *all, const struct who *who, struct job_wanted *w, uint64_t cgroup,
		 struct job **old, struct err *e)
{
	int err = find_old(all, who, w, cgroup, old, e);

	err = err ? err : check_ids(all, who, w, *old, e);
	err = err ? err : check_limits(all, who, w, *old, e);
	return err ? err : check_name(all, *old ? (*old)->uid : who->uid, w, *old, e);
}
