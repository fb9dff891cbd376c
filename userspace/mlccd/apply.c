// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "../../include/mlcc/uapi/mlcc_skip.h"
#include "apply.h"
#include "state.h"

#define DSCP_LE		1	/* lower effort, RFC 8622 */

bool job_by_progress(const struct job *job)
{
	return job->classes && !strcmp(job->conf.job_class, "training");
}

bool job_is_other(const struct job *job)
{
	return !job->cgroup_id && job_is_roots(job) && !strcmp(job->conf.name, JOB_OTHER);
}

/* What its tag is of; 0: it has none. */
static uint64_t tag_key(const struct job *job)
{
	return job_is_other(job) ? MLCC_TAG_OTHER : job->cgroup_id;
}

/* Where a job has priorities, one without phases has one: the highest, or below all others. */
int jobs_dscp(const struct jobs *all, const struct job *job)
{
	if (job->plan.dscp || !tag_key(job))
		return job->plan.dscp - 1;
	if (job->classes && !strcmp(job->conf.job_class, "latency"))
		return all->config->dscp[CONFIG_CLASSES - 1];
	return job->classes && !strcmp(job->conf.job_class, "background") ? DSCP_LE : -1;
}

static void tag_conf(const struct jobs *all, const struct job *job, struct mlcc_tag_conf *conf)
{
	int dscp = jobs_dscp(all, job);

	*conf = (struct mlcc_tag_conf){ .job = job->conf.id, .priority_classes = job->classes };
	memcpy(conf->dscp, all->config->dscp, sizeof(conf->dscp));
	strcpy(conf->skip, job_is_other(job) ? all->config->background : job->skip);
	if (dscp < 0)
		return;
	conf->dscp[0] = dscp;
	conf->priority_classes = MLCC_CLASS_FIXED;
}

int apply_tag(struct jobs *all, const struct job *job, struct err *e)
{
	struct mlcc_tag_conf conf;

	if (!tag_key(job))
		return 0;
	tag_conf(all, job, &conf);
	return carrier_tag(all->carrier, job->cgroup, tag_key(job), &conf, e);
}

void apply_untag(struct jobs *all, const struct job *job)
{
	if (tag_key(job))
		carrier_untag(all->carrier, tag_key(job), job->conf.id);
}

bool job_has_phases(const struct job *job)
{
	return !job->adopted && !strcmp(job->conf.job_class, "training");
}

bool jobs_is_neutral(const struct jobs *all, const struct job *job)
{
	return job_has_phases(job) && (job->neutral || all->neutral);
}

struct mlcc_job_conf apply_conf(const struct jobs *all, const struct job *job)
{
	struct mlcc_job_conf conf = job->conf;

	if (jobs_is_neutral(all, job)) {
		strcpy(conf.job_class, "latency");
		conf.phase_bytes = 0;
	}
	return conf;
}

void apply_untold(struct jobs *all, uint32_t id, bool untold)
{
	all->untold_count += untold - all->untold[id];
	all->untold[id] = untold;
}

int apply_carrier(struct jobs *all, const struct job *job, bool create, struct err *e)
{
	const struct mlcc_job_conf conf = apply_conf(all, job);
	int err = carrier_need(all->carrier, e);

	if (err)
		return err;
	/* what was to be deleted is another job now */
	err = carrier_job_set(all->carrier, &conf, create && !all->untold[conf.id], e);
	if (!err)
		apply_untold(all, conf.id, false);
	return err;
}

/*
 * Its id is kept until the carrier has it no more: who changes that may take a while, and so may
 * memory and descriptors, when there are none.
 */
void apply_removal(struct jobs *all, uint32_t id)
{
	struct err e;
	int err = carrier_need(all->carrier, &e);

	if (!err)
		err = carrier_job_del(all->carrier, id);
	apply_untold(all, id, err == -EAGAIN || err == -ENOMEM || err == -EMFILE || err == -ENFILE);
}

void apply_again(struct jobs *all)
{
	struct err none;
	int err;

	for (uint32_t id = 1; all->untold_count && id < JOB_IDS; id++) {
		if (!all->untold[id])
			continue;
		err = -EAGAIN;	/* a deletion stays untold only for what passes */
		if (all->by_id[id])
			err = apply_carrier(all, all->by_id[id], false, &none);
		else
			apply_removal(all, id);
		if (all->untold[id] && err == -EAGAIN)
			break;
	}
}

/* Back to how the job was; @old NULL: there was none. */
static void revert(struct jobs *all, const struct job *job, const struct job *old)
{
	struct err e;

	if (!old) {
		apply_removal(all, job->conf.id);
		state_remove(all->dir, job->conf.id);
		return;
	}
	if (old->adopted)
		state_remove(all->dir, old->conf.id);
	else
		state_write(all->dir, old, &e);
	apply_carrier(all, old, false, &e);
	if (old->cgroup_id && old->cgroup_id == job->cgroup_id)
		apply_tag(all, old, &e);
}

int apply_job(struct jobs *all, struct job *job, const struct job *old, struct err *e)
{
	int err;

	err = state_write(all->dir, job, e);
	if (err)
		return err;
	err = apply_carrier(all, job, !old, e);
	if (err == -EEXIST) {
		/* somebody else's, with no file of ours */
		state_remove(all->dir, job->conf.id);
		return err;
	}
	if (!err)
		err = apply_tag(all, job, e);
	if (err) {
		revert(all, job, old);
		return err;
	}
	if (old && tag_key(old) != tag_key(job))
		apply_untag(all, old);
	return 0;
}
