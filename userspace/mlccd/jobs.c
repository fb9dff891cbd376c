// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs.h"
#include "rxe.h"
#include "state.h"

#define POLL_JOBS	512	/* cgroups of as many are looked at in one go, the others in the next ones */
#define POLL_LOOKS	4	/* ... and what the carrier says of as many: each wakes the keeper */

/* What is lost is written down at once, what was seen last when we end (state.h). */
static void jobs_count(struct jobs *all, struct job *job, struct mlcc_job_info *info)
{
	uint64_t values[JOB_COUNTERS] = { info->bytes, info->retrans, info->ce, info->phases };
	bool lost = false;
	struct err none;

	for (int i = 0; i < JOB_COUNTERS; i++) {
		struct job_counter *c = &job->counters[i];

		lost |= values[i] < c->seen;
		if (values[i] < c->seen)
			c->lost += c->seen - values[i];
		c->seen = values[i];
		values[i] += c->lost;
	}
	if (lost && !job->adopted)
		state_write(all->dir, job, &none);
	info->bytes = values[0];
	info->retrans = values[1];
	info->ce = values[2];
	info->phases = values[3];
}

void jobs_look(struct jobs *all, struct job *job, struct mlcc_job_info *info)
{
	jobs_count(all, job, info);
	history_look(&job->history, info, &all->senders);
}

/* The next free id, in turn, so that a late packet of an old job meets no new one. */
static uint32_t next_id(struct jobs *all)
{
	uint32_t max = jobs_id_max(all);

	for (uint32_t i = 0; i < max; i++) {
		all->next_id = all->next_id % max + 1;
		if (!all->by_id[all->next_id] && !all->untold[all->next_id] &&
		    !carrier_mark_taken(all->carrier, all->next_id))
			return all->next_id;
	}
	return 0;
}

static int apply_new(struct jobs *all, struct job *job, bool any_id, struct err *e)
{
	int err = -EEXIST;

	for (uint32_t tries = 0; err == -EEXIST && tries < JOB_IDS; tries++) {
		if (any_id)
			job->conf.id = next_id(all);
		if (!job->conf.id)
			return fail(e, -ENOSPC, "all %u ids are taken, by jobs or by policy rules for their marks",
				    jobs_id_max(all));
		err = apply_job(all, job, NULL, e);
		if (!any_id)
			break;
	}
	return err;
}

static int commit(struct jobs *all, struct job *job, struct job *old, bool any_id, struct err *e)
{
	int err = old ? apply_job(all, job, old, e) : apply_new(all, job, any_id, e);

	if (err)
		return err;
	if (old) {
		if (old->cgroup_id != job->cgroup_id)
			rxe_remove(old);
		table_remove(all, old);
		free(old);
	}
	table_add(all, job);
	rxe_set(&all->list);
	all->changed(all->changed_arg, job->conf.id);
	return 0;
}

void jobs_del(struct jobs *all, struct job *job)
{
	apply_untag(all, job);
	rxe_remove(job);
	apply_removal(all, job->conf.id);
	state_remove(all->dir, job->conf.id);
	table_remove(all, job);
	all->changed(all->changed_arg, job->conf.id);
	free(job);
}

static int set_checked(struct jobs *all, const struct who *who, struct job_wanted *w,
		       const char *rel, uint64_t cgroup, struct job **set, struct err *e)
{
	struct job *job, *old;
	int err;

	err = permit_check(all, who, w, cgroup, &old, e);
	if (err)
		return err;
	job = job_new(rel);
	if (!job)
		return fail(e, -ENOMEM, "no memory");
	memcpy(job, &w->job, offsetof(struct job, cgroup));
	job->uid = who->uid;
	job->cgroup_id = cgroup;
	/* set-job says nothing of a plan */
	if (old) {
		job->conf.id = old->conf.id;
		job->uid = old->uid;
		job->plan = old->plan;
		job->parts = old->parts;
		job->lead = old->lead;
		memcpy(job->counters, old->counters, sizeof(job->counters));
		job->history = old->history;
		job->sends = old->sends;
	}
	if (job_by_progress(job) || !cgroup)
		job->plan.dscp = 0;
	w->looked = !job->conf.id;
	if (!w->dry_run)
		err = commit(all, job, old, !w->job.conf.id, e);
	if (err)
		free(job);
	else
		*set = job;
	return err;
}

static struct job *find_other(struct jobs *all)
{
	struct job *j;

	LIST_FOREACH(j, table_named(all, JOB_OTHER), named)
		if (job_is_other(j))
			return j;
	return NULL;
}

/* Its job is there with the first one that it may have connections of. */
static void jobs_other(struct jobs *all)
{
	uint32_t classes = all->config->priority_classes;
	struct job_wanted w = {
		.job.conf = { .name = JOB_OTHER, .job_class = "background" },
		.job.classes = classes > 1 ? classes : 0,
	};
	const struct who root = { .admin = true };
	struct job *job = find_other(all), *set;
	struct err e;
	int err;

	if (!strcmp(all->config->background, "none")) {
		if (job)
			jobs_del(all, job);
		return;
	}
	if (!job && LIST_EMPTY(&all->list))
		return;
	w.job.conf.id = job ? job->conf.id : 0;
	err = job && job->classes == w.job.classes ? apply_tag(all, job, &e) :
	      set_checked(all, &root, &w, "", 0, &set, &e);
	if (err)
		note(4, "no connections are background's: %s", e.text);
}

int jobs_set(struct jobs *all, const struct who *who, struct job_wanted *w, struct job **set,
	     struct err *e)
{
	char rel[PATH_MAX] = "";
	struct cgroup_look look;
	int err;

	*set = NULL;
	if (!w->path[0]) {
		if (!who->admin)
			return fail(e, -EPERM, "a cgroup is wanted (cgroup, pid or self)");
		if (w->job.classes)
			return fail(e, -EINVAL, "priority_classes need a cgroup");
		if (!w->job.conf.id)
			return fail(e, -EINVAL, "neither a cgroup nor an id is given");
		return set_checked(all, who, w, rel, 0, set, e);
	}
	err = cgroup_find(all->cgroups, w->path, rel, &look, e);
	err = err ? err : permit_check_cgroup(all, who, rel, &look, e);
	err = err ? err : set_checked(all, who, w, rel, look.id, set, e);
	if (!err && !w->dry_run && !find_other(all))
		jobs_other(all);
	return err;
}

/* Plans */

int jobs_plan_check(struct jobs *all, const struct who *who, const struct job_change *c,
		    struct err *e)
{
	const struct job *job = c->job;
	bool among = who->admin;

	if (!who->admin && !all->config->users)
		return fail(e, -EPERM, "only root may plan jobs here (users = no)");
	if (job->adopted)
		return fail(e, -EINVAL, "job %u is known by its mark only: set-job first",
			    job->conf.id);
	if (!c->plan.dscp)
		return 0;
	if (!job->cgroup_id)
		return fail(e, -EINVAL, "job %u has no cgroup, which dscp needs", job->conf.id);
	if (job_by_progress(job))
		return fail(e, -EBUSY, "job %u has its progress in the DSCP (priority_classes)",
			    job->conf.id);
	for (uint32_t i = 0; i < all->config->priority_classes && !among; i++)
		among = all->config->dscp[i] == c->plan.dscp - 1;
	if (!among)
		return fail(e, -EPERM, "dscp %u is not among the %u that users may have",
			    c->plan.dscp - 1, all->config->priority_classes);
	return 0;
}

/* File and tagger; the carrier knows nothing of plans, and what it has learnt stays. */
static int replan(struct jobs *all, struct job *job, const struct job_plan *plan, struct err *e)
{
	struct job_plan old = job->plan;
	struct err none;
	int err;

	job->plan = *plan;
	err = state_write(all->dir, job, e);
	if (!err && plan->dscp != old.dscp)
		err = apply_tag(all, job, e);
	if (!err)
		return 0;
	job->plan = old;
	state_write(all->dir, job, &none);
	return err;
}

int jobs_plan(struct jobs *all, struct job_change *list, unsigned int count, struct err *e)
{
	unsigned int done = 0;
	struct err none;
	int err = 0;

	while (!err && done < count) {
		struct job_plan old = list[done].job->plan;

		err = replan(all, list[done].job, &list[done].plan, e);
		if (err)
			break;
		list[done++].plan = old;
	}
	for (unsigned int i = 0; err && i < done; i++)
		replan(all, list[i].job, &list[i].plan, &none);
	for (unsigned int i = 0; !err && i < count; i++)
		all->changed(all->changed_arg, list[i].job->conf.id);
	return err;
}

void jobs_clear(struct jobs *all)
{
	struct job *j, *next;

	for (j = LIST_FIRST(&all->list); j; j = next) {
		next = LIST_NEXT(j, all);
		if (!j->adopted)
			jobs_del(all, j);
	}
}

/* From one daemon, or carrier, to the next */

static bool conf_same(const struct mlcc_job_conf *a, const struct mlcc_job_conf *b)
{
	return !strcmp(a->name, b->name) && a->phase_bytes == b->phase_bytes &&
	       !strcmp(a->job_class, b->job_class) &&
	       (!*b->profile || !strcmp(a->profile, b->profile));
}

/* Sets what is not as it should be, and nothing else. */
static int complete(struct jobs *all, struct job *job, struct err *e)
{
	const struct mlcc_job_conf conf = apply_conf(all, job);
	struct mlcc_job_info info;
	int err;

	err = carrier_need(all->carrier, e);
	if (err)
		return err;
	err = carrier_job_get(all->carrier, job->conf.id, &info);
	if (err || !conf_same(&info.conf, &conf))
		err = apply_carrier(all, job, false, e);
	return err ? err : apply_tag(all, job, e);
}

void jobs_complete(struct jobs *all)
{
	struct err e;
	struct job *j;
	int err = 0;

	LIST_FOREACH(j, &all->list, all) {
		if (err == -ENODEV)
			break;
		err = j->adopted ? 0 : complete(all, j, &e);
		if (err)
			note(4, "job %u is not complete: %s", j->conf.id, e.text);
	}
	jobs_other(all);
}

static void jobs_keep(void *arg, struct job *job)
{
	struct jobs *all = arg;

	if (all->by_id[job->conf.id]) {
		free(job);
		return;
	}
	table_add(all, job);
	if (job->conf.id > all->next_id)
		all->next_id = job->conf.id;
}

/* What the carrier could not be told is told it again. */
static int neutral_apply(struct jobs *all, struct job *job, struct err *e)
{
	int err = apply_carrier(all, job, false, e);

	apply_untold(all, job->conf.id, err);
	return err;
}

int jobs_neutral(struct jobs *all, struct job *job, bool neutral, struct err *e)
{
	if (!job_has_phases(job))
		return fail(e, -EINVAL, "job %u has no phases, or something else has set it: it is neutral as it is",
			    job->conf.id);
	if (neutral == job->neutral && !all->untold[job->conf.id])
		return 0;
	job->neutral = neutral;
	return neutral_apply(all, job, e);
}

int jobs_neutral_all(struct jobs *all, bool neutral, struct err *e)
{
	struct job *j;
	int err = 0;

	all->neutral = neutral;
	/* a carrier that somebody else changes is not waited for by each of them */
	LIST_FOREACH(j, &all->list, all) {
		if (job_has_phases(j) && err)
			apply_untold(all, j->conf.id, true);
		else if (job_has_phases(j))
			err = neutral_apply(all, j, e);
	}
	return err;
}

/* Looks at @count jobs, after the one that was looked at last; true: all others had their turn. */
static bool end_lost(struct jobs *all, uint32_t count)
{
	bool round = false;
	struct job *j;

	for (uint32_t ids = JOB_IDS; ids && count; ids--) {
		all->polled_id = (all->polled_id + 1) % JOB_IDS;
		round |= !all->polled_id;
		j = all->by_id[all->polled_id];
		count -= !!j;
		if (!j || jobs_is_there(all, j))
			continue;
		note(6, "job %u '%s' ends: its cgroup is gone", j->conf.id, j->conf.name);
		jobs_del(all, j);
	}
	return round;
}

/* A job that the carrier does not know sends nothing. */
static void look(struct jobs *all, struct job *job)
{
	struct mlcc_job_info info = { };

	if (carrier_is_there(all->carrier) && !carrier_job_get(all->carrier, job->conf.id, &info))
		jobs_look(all, job, &info);
}

static void look_at_some(struct jobs *all)
{
	uint32_t looks = POLL_LOOKS < all->count ? POLL_LOOKS : all->count;
	struct job *j;

	for (uint32_t ids = JOB_IDS; ids && looks; ids--) {
		all->looked_id = (all->looked_id + 1) % JOB_IDS;
		j = all->by_id[all->looked_id];
		if (!j)
			continue;
		look(all, j);
		looks--;
	}
}

static int adopt(const struct mlcc_job_info *info, void *arg)
{
	struct jobs *all = arg;
	struct job *job;

	if (!info->conf.id || info->conf.id >= JOB_IDS || all->by_id[info->conf.id] ||
	    all->untold[info->conf.id])
		return 0;
	job = job_new("");
	if (!job)
		return -ENOMEM;
	job->conf = info->conf;
	job->adopted = true;
	table_add(all, job);
	return 0;
}

void jobs_adopt(struct jobs *all)
{
	struct mlcc_job_info info;
	struct job *j, *next;
	struct err e;

	if (carrier_need(all->carrier, &e))
		return;
	for (j = LIST_FIRST(&all->list); j; j = next) {
		next = LIST_NEXT(j, all);
		if (!j->adopted || carrier_job_get(all->carrier, j->conf.id, &info) != -ENOENT)
			continue;
		table_remove(all, j);
		free(j);
	}
	carrier_job_each(all->carrier, adopt, all);
}

/* One job stands for all: a carrier that was loaded anew has none of them. */
static bool carrier_is_new(struct jobs *all)
{
	struct mlcc_job_info info;
	const struct job *j;

	LIST_FOREACH(j, &all->list, all)
		if (!j->adopted)
			break;
	return j && carrier_is_there(all->carrier) && carrier_job_get(all->carrier, j->conf.id, &info) == -ENOENT;
}

void jobs_poll(struct jobs *all)
{
	bool round = end_lost(all, POLL_JOBS);

	carrier_refresh(all->carrier);
	apply_again(all);
	look_at_some(all);
	if (carrier_is_new(all)) {
		note(5, "the carrier has lost its jobs: setting %u again", all->count);
		jobs_complete(all);
	}
	if (round)
		rxe_set(&all->list);
}

void jobs_init(struct jobs *all, int dir)
{
	all->dir = dir;
	state_each(all->dir, jobs_keep, all);
	end_lost(all, JOB_IDS);
	jobs_complete(all);
	rxe_set(&all->list);
	jobs_adopt(all);
}

void jobs_keep_counts(struct jobs *all)
{
	struct err none;
	struct job *j;

	LIST_FOREACH(j, &all->list, all)
		if (!j->adopted)
			state_write(all->dir, j, &none);
}

void jobs_free(struct jobs *all)
{
	struct job *job;

	while ((job = LIST_FIRST(&all->list))) {
		table_remove(all, job);
		free(job);
	}
	if (all->dir >= 0)
		close(all->dir);
}
