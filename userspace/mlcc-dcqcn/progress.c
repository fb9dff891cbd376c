// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "progress.h"

#define LOOK_US		1000000		/* jobs come and go that seldom, */
#define OPEN_US		10000000	/* and carriers */

static bool is_job(const struct progress *p, const struct mlcc_job_info *info)
{
	char id[16];

	if (!p->job)
		return false;
	snprintf(id, sizeof(id), "%u", info->conf.id);
	return !strcmp(id, p->job) || !strcmp(info->conf.name, p->job);
}

static const struct sender *sender_find(const struct sender *list, unsigned int count,
					uint32_t id)
{
	for (unsigned int i = 0; i < count; i++)
		if (list[i].id == id)
			return &list[i];
	return NULL;
}

/* What the operator has told the carrier of the job holds for the port's counter, too. */
static void take_hint(struct progress *p, uint64_t phase_bytes)
{
	if (p->port && !p->phase_bytes && phase_bytes && phase_bytes != p->tracker.d_hint)
		mlcc_job_hint(&p->tracker, phase_bytes);
}

static int look_one(const struct mlcc_job_info *info, void *arg)
{
	struct progress *p = arg;
	bool ours = is_job(p, info);

	/* the one that is followed always has a place */
	if (p->count == PROGRESS_JOBS && !ours)
		return 0;
	if (p->count == PROGRESS_JOBS)
		p->count--;
	p->senders[p->count++] = (struct sender){ .id = info->conf.id, .ours = ours };
	if (ours)
		take_hint(p, info->conf.phase_bytes);
	return 0;
}

uint32_t progress_job(const struct progress *p)
{
	for (unsigned int i = 0; i < p->count; i++)
		if (p->senders[i].ours)
			return p->senders[i].id;
	return 0;
}

static bool has_ours(const struct progress *p)
{
	return progress_job(p);
}

/* Opened anew now and then: one that was unloaded and loaded again is another carrier. */
static int open_carrier(struct progress *p, uint64_t now_us)
{
	int err;

	if (p->m && now_us < p->open_us)
		return 0;
	mlcc_close(p->m);
	p->m = NULL;
	err = mlcc_open(&p->m, MLCC_CARRIER_ANY);
	p->open_us = err ? 0 : now_us + OPEN_US;
	return err;
}

/* Which jobs there are. */
static void look(struct progress *p, uint64_t now_us)
{
	struct sender before[PROGRESS_JOBS];
	unsigned int count = p->count;

	memcpy(before, p->senders, sizeof(before));
	p->count = 0;
	if (open_carrier(p, now_us) || mlcc_job_each(p->m, look_one, p)) {
		snprintf(p->why, sizeof(p->why), "%s", mlcc_error(p->m));
		p->open_us = 0;
		p->count = 0;
	} else {
		snprintf(p->why, sizeof(p->why), "no job '%s': 'mlcc-ctl show' lists them",
			 p->job ? p->job : "");
	}
	for (unsigned int i = 0; i < p->count; i++) {
		const struct sender *was = sender_find(before, count, p->senders[i].id);

		if (was) {
			bool ours = p->senders[i].ours;

			p->senders[i] = *was;
			p->senders[i].ours = ours;
		}
	}
}

/* Whether there is a gain at all, given the jobs that there are. */
static enum progress_state judge(struct progress *p)
{
	unsigned int others = p->count - has_ours(p);

	if (p->job && !has_ours(p))
		return PROGRESS_GONE;
	if (!others || p->alone || p->weight)
		return PROGRESS_RUNS;
	snprintf(p->why, sizeof(p->why), "%u other job%s on this host may send there, too", others,
		 others > 1 ? "s" : "");
	return PROGRESS_SHARED;
}

static void look_now_and_then(struct progress *p, uint64_t now_us)
{
	/* without a name only the operator's word counts */
	if (!p->job || now_us < p->look_us)
		return;
	look(p, now_us);
	p->look_us = now_us + LOOK_US;
}

int progress_open(struct progress *p, const struct device *d, uint64_t now_us, struct err *e)
{
	int err = p->port ? port_open(p, d, e) : 0;

	if (err)
		return err;
	look_now_and_then(p, now_us);
	p->state = judge(p);
	if (p->wait)
		return 0;
	switch (p->state) {
	case PROGRESS_GONE:
		return fail(e, -ENOENT, "%s", p->why);
	case PROGRESS_SHARED:
		return fail(e, -EBUSY, "%s:%s is set for a whole %s, and %s: --alone if none of them does, or --weight min",
			    d->be->name, d->name, scope_name(d->be->scope), p->why);
	default:
		return 0;
	}
}

/* A job's progress as the carrier has it; neutral when nothing has moved for a while. */
static uint32_t sender_progress(struct progress *p, struct sender *s, uint64_t now_us)
{
	struct mlcc_job_progress now;

	s->sends = false;
	if (mlcc_job_progress(p->m, s->id, &now)) {
		p->look_us = 0;
		return MLCC_NEUTRAL;
	}
	if (now.d_sent != s->d_sent || now.phases != s->phases) {
		s->d_sent = now.d_sent;
		s->phases = now.phases;
		s->moved_us = now_us;
	}
	s->sends = now_us - s->moved_us < p->idle_us;
	return s->sends && !now.neutral ? now.progress : MLCC_NEUTRAL;
}

static uint32_t gain_of(const struct progress *p, uint32_t progress)
{
	return progress == MLCC_NEUTRAL ? MLCC_ONE : mlcc_grow(&p->profile, progress);
}

/* Of those that send: who computes has no flows to weigh. */
static uint32_t weighted(struct progress *p, uint64_t now_us)
{
	uint32_t least = UINT32_MAX, n = 0;
	uint64_t sum = 0;

	p->state = PROGRESS_IDLE;
	for (unsigned int i = 0; i < p->count; i++) {
		uint32_t gain = gain_of(p, sender_progress(p, &p->senders[i], now_us));

		if (!p->senders[i].sends)
			continue;
		p->state = PROGRESS_RUNS;
		least = gain < least ? gain : least;
		sum += gain;
		n++;
	}
	if (!n)
		return MLCC_ONE;
	return p->weight == WEIGHT_MIN ? least : sum / n;
}

static uint32_t own_progress(struct progress *p, uint64_t now_us)
{
	uint32_t progress;

	if (p->port)
		return port_progress(p, now_us);
	for (unsigned int i = 0; i < p->count; i++) {
		if (!p->senders[i].ours)
			continue;
		if (ranks_progress(&p->ranks, p->senders[i].id, now_us, &progress))
			return progress;
		return sender_progress(p, &p->senders[i], now_us);
	}
	return MLCC_NEUTRAL;
}

uint32_t progress_gain(struct progress *p, uint64_t now_us)
{
	uint32_t progress;

	look_now_and_then(p, now_us);
	p->state = judge(p);
	if (p->state != PROGRESS_RUNS)
		return MLCC_ONE;
	if (p->weight && !p->port)
		return weighted(p, now_us);
	progress = own_progress(p, now_us);
	if (progress == MLCC_NEUTRAL)
		p->state = PROGRESS_IDLE;
	return gain_of(p, progress);
}

void progress_close(struct progress *p)
{
	ranks_close(&p->ranks);
	mlcc_close(p->m);
	p->m = NULL;
}
