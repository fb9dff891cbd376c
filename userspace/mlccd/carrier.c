// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "carrier.h"
#include "keep.h"

static const struct keep_told *carrier_ask(struct carrier *c, const struct keep_ask *a)
{
	const struct keep_told *t = keep_ask(a, NULL);

	c->kind = t->carrier;
	c->tagger = t->tagger;
	return t;
}

static int done(const struct keep_told *t, struct err *e)
{
	return t->err ? fail(e, t->err, "%s", t->why) : 0;
}

static int ask_plain(struct carrier *c, enum keep op, uint32_t id, uint64_t number, struct err *e)
{
	static struct keep_ask a;

	a.op = op;
	a.id = id;
	a.number = number;
	return done(carrier_ask(c, &a), e);
}

int carrier_need(struct carrier *c, struct err *e)
{
	return carrier_is_there(c) ? 0 : ask_plain(c, KEEP_OPEN, 0, 0, e);
}

int tagger_need(struct carrier *c, struct err *e)
{
	/* also of one that there is: somebody may have detached it */
	return ask_plain(c, KEEP_TAGGER, 0, 0, e);
}

void carrier_refresh(struct carrier *c)
{
	struct err none;

	ask_plain(c, KEEP_REFRESH, 0, 0, &none);
}

const char *carrier_name(const struct carrier *c)
{
	return carrier_is_there(c) ? mlcc_carrier_name(c->kind) : "none";
}

/*** Jobs ***/

int carrier_job_set(struct carrier *c, const struct mlcc_job_conf *conf, bool create,
		    struct err *e)
{
	const struct keep_ask a = {
		.op = KEEP_JOB_SET, .number = create, .job = *conf,
	};

	return done(carrier_ask(c, &a), e);
}

int carrier_job_del(struct carrier *c, uint32_t id)
{
	struct err none;

	return ask_plain(c, KEEP_JOB_DEL, id, 0, &none);
}

int carrier_job_look(struct carrier *c, uint32_t id, struct mlcc_job_info *info, int *orphans)
{
	static struct keep_ask a = { .op = KEEP_JOB_GET };
	const struct keep_told *t;

	a.id = id;
	a.number = !!orphans;
	t = carrier_ask(c, &a);
	if (!t->err)
		*info = t->jobs[0];
	if (orphans)
		*orphans = t->orphans;
	return t->err;
}

/* One that is not there need not be asked for each job. */
int carrier_job_get(struct carrier *c, uint32_t id, struct mlcc_job_info *info)
{
	return carrier_is_there(c) ? carrier_job_look(c, id, info, NULL) : -ENODEV;
}

int carrier_progress(struct carrier *c, const uint32_t *ids, uint32_t count,
		     struct mlcc_job_progress *progress)
{
	static struct keep_ask a = { .op = KEEP_PROGRESS };
	const struct keep_told *t;

	if (!carrier_is_there(c))
		return -ENODEV;
	a.number = count;
	memcpy(a.ids, ids, count * sizeof(*ids));
	t = carrier_ask(c, &a);
	if (!t->err)
		memcpy(progress, t->progress, count * sizeof(*progress));
	return t->err;
}

bool carrier_mark_taken(struct carrier *c, uint32_t id)
{
	struct err none;

	return ask_plain(c, KEEP_MARK, id, 0, &none) == -EADDRINUSE;
}

/* @each may ask the keeper: what it is given is a copy. */
int carrier_job_each(struct carrier *c, int (*each)(const struct mlcc_job_info *info, void *arg),
		     void *arg)
{
	static struct mlcc_job_info jobs[KEEP_LIST];
	struct keep_ask a = { .op = KEEP_JOBS };
	const struct keep_told *t;
	uint32_t count;
	int ret;

	do {
		t = carrier_ask(c, &a);
		if (t->err)
			return t->err;
		count = t->count;
		memcpy(jobs, t->jobs, count * sizeof(*jobs));
		for (uint32_t i = 0; i < count; i++) {
			ret = each(&jobs[i], arg);
			if (ret)
				return ret;
		}
		a.number += count;
	} while (count == KEEP_LIST);
	return 0;
}

int carrier_phase_start(struct carrier *c, uint32_t id, uint64_t bytes, struct err *e)
{
	return ask_plain(c, KEEP_PHASE_START, id, bytes, e);
}

int carrier_phase_end(struct carrier *c, uint32_t id, struct err *e)
{
	return ask_plain(c, KEEP_PHASE_END, id, 0, e);
}

/*** Profiles ***/

int carrier_profile_get(struct carrier *c, const char *name, struct mlcc_profile_conf *p,
			struct err *e)
{
	struct keep_ask a = { .op = KEEP_PROFILE_GET };
	const struct keep_told *t;

	snprintf(a.name, sizeof(a.name), "%s", name);
	t = carrier_ask(c, &a);
	if (!t->err)
		*p = t->profiles[0];
	return done(t, e);
}

int carrier_profile_set(struct carrier *c, const struct mlcc_profile_conf *p, struct err *e)
{
	const struct keep_ask a = { .op = KEEP_PROFILE_SET, .profile = *p };

	return done(carrier_ask(c, &a), e);
}

int carrier_profile_each(struct carrier *c,
			 int (*each)(const struct mlcc_profile_conf *p, void *arg), void *arg,
			 struct err *e)
{
	const struct keep_ask a = { .op = KEEP_PROFILES_ALL };
	const struct keep_told *t = carrier_ask(c, &a);
	int ret = 0;

	for (uint32_t i = 0; !t->err && !ret && i < t->count; i++)
		ret = each(&t->profiles[i], arg);
	return t->err ? done(t, e) : ret;
}

/*** Tags ***/

int carrier_tag(struct carrier *c, const char *path, uint64_t cgroup_id,
		const struct mlcc_tag_conf *conf, struct err *e)
{
	static struct keep_ask a;

	a = (struct keep_ask){ .op = KEEP_TAG, .number = cgroup_id, .tag = { .conf = *conf } };
	snprintf(a.tag.path, sizeof(a.tag.path), "%s", path);
	return done(carrier_ask(c, &a), e);
}

void carrier_untag(struct carrier *c, uint64_t cgroup_id, uint32_t job)
{
	struct err none;

	ask_plain(c, KEEP_UNTAG, job, cgroup_id, &none);
}

int carrier_unload(struct carrier *c, struct err *e)
{
	return c->tagger ? ask_plain(c, KEEP_UNLOAD, 0, 0, e) : 0;
}
