// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/client.h"
#include "../common/json.h"
#include "progress.h"

#define LOOK_US		1000000		/* jobs come and go that seldom, */
#define OPEN_US		10000000	/* and carriers */
#define AGAIN_US	1000000		/* mlccd is left alone for that long */
#define TIMEOUT_US	50000		/* of mlccd */
#define UNIT		4		/* bytes that a port's counter counts as one */

static bool is_job(const struct progress *p, const struct mlcc_job_info *info)
{
	char id[16];

	if (!p->job)
		return false;
	snprintf(id, sizeof(id), "%u", info->conf.id);
	return !strcmp(id, p->job) || !strcmp(info->conf.name, p->job);
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
	if (ours && !p->ours)
		p->ours = &p->senders[p->count];
	p->senders[p->count++] = (struct sender){ .id = info->conf.id };
	if (ours)
		take_hint(p, info->conf.phase_bytes);
	return 0;
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
static void progress_look(struct progress *p, uint64_t now_us)
{
	struct sender before[PROGRESS_JOBS];
	unsigned int count = p->count;

	memcpy(before, p->senders, sizeof(before));
	p->count = 0;
	p->ours = NULL;
	if (open_carrier(p, now_us) || mlcc_job_each(p->m, look_one, p)) {
		snprintf(p->why, sizeof(p->why), "%s", mlcc_error(p->m));
		p->open_us = 0;
		p->count = 0;
		p->ours = NULL;
	} else {
		snprintf(p->why, sizeof(p->why), "no job '%s': 'mlcc-ctl show' lists them",
			 p->job ? p->job : "");
	}
	for (unsigned int i = 0; i < p->count; i++)
		for (unsigned int k = 0; k < count; k++)
			if (before[k].id == p->senders[i].id)
				p->senders[i] = before[k];
}

/* Whether there is a gain at all, given the jobs that there are. */
static enum progress_state judge(struct progress *p)
{
	unsigned int others = p->count - !!p->ours;

	if (p->job && !p->ours)
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
	progress_look(p, now_us);
	p->look_us = now_us + LOOK_US;
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

/*
 * A port's transmit counter as a job: ports/<n>/counters/port_xmit_data of the RDMA device, which
 * counts in units of four octets (InfiniBand, PortXmitData).
 *
 * Looks and the counter's own updates have each their rhythm, so a look without new bytes is not a
 * silence yet: one that is not longer than "idle_us" is not seen.
 */
static int port_open(struct progress *p, const struct device *d, struct err *e)
{
	char ibdev[NAME_LEN];
	uint64_t v;
	int err;

	device_ibdev(d, ibdev);
	if (!*ibdev)
		return fail(e, -ENODEV, "%s:%s: no RDMA device, so no counter of a port",
			    d->be->name, d->name);
	snprintf(p->counter, sizeof(p->counter),
		 "/sys/class/infiniband/%s/ports/%.8s/counters/port_xmit_data", ibdev,
		 device_port(d));
	err = sysroot_number(p->counter, &v);
	if (err)
		return fail(e, err, "%s: %s", p->counter, strerror(-err));
	mlcc_job_hint(&p->tracker, p->phase_bytes);
	return 0;
}

/* Some bytes were sent since the last look. */
static uint32_t port_sent(struct progress *p, uint64_t bytes, uint64_t now_us)
{
	uint32_t progress = MLCC_NEUTRAL;

	if (!p->tracker.seq || now_us - p->counted_us >= p->idle_us)
		mlcc_job_tx_start(&p->tracker, now_us, 0);
	p->counted_us = now_us;
	while (bytes) {
		uint32_t n = bytes > UINT32_MAX ? UINT32_MAX : bytes;

		progress = mlcc_job_acked(&p->tracker, n, now_us);
		bytes -= n;
	}
	return progress;
}

static uint32_t port_progress(struct progress *p, uint64_t now_us)
{
	uint64_t v, bytes;

	if (sysroot_number(p->counter, &v)) {
		p->counting = false;
		return MLCC_NEUTRAL;
	}
	/* a counter that goes back has been reset */
	if (!p->counting || v < p->counted) {
		p->counting = true;
		p->counted = v;
		return MLCC_NEUTRAL;
	}
	bytes = (v - p->counted) * UNIT;
	p->counted = v;
	if (bytes)
		return port_sent(p, bytes, now_us);
	if (now_us - p->counted_us >= p->idle_us)
		return MLCC_NEUTRAL;
	return mlcc_job_acked(&p->tracker, 0, p->counted_us);
}

/*
 * What a job's processes have handed to the network in the phase that lasts, as mlccd adds it up
 * from their rings: the progress of a job that sends by RDMA, of whose bytes no carrier knows.
 *
 * mlccd is asked at each look, which costs both some 0.1 ms.  One that is not there, or hangs, is
 * left alone for a second; so is a job whose processes count nothing.
 */
static int mlccd_connect(void)
{
	AUTO_CLOSE int place = sysroot_open(CLIENT_SOCKET, O_PATH);
	char path[32];

	/* below the root, whatever that is */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	return place < 0 ? place : client_connect(path, TIMEOUT_US);
}

static void mlccd_close(struct progress *p)
{
	if (p->asks)
		close(p->mlccd);
	p->asks = false;
}

/* What mlccd shows of the job; NULL: nothing. */
static struct json_object *mlccd_ask(const struct progress *p)
{
	struct json_object *request = json_object_new_object();
	int err;

	put_string(request, "op", "show");
	put_u64(request, "job", p->ours->id);
	return client_ask(p->mlccd, request, &err);
}

/* False: they count nothing. */
static bool ranks_read(struct json_object *reply, uint32_t *progress)
{
	struct json_object *jobs, *job = NULL;
	uint64_t sent, d_phase;

	if (json_object_object_get_ex(reply, "jobs", &jobs))
		job = json_member(jobs, 0);
	if (!job || !get_u64(job, "ranks_sent_bytes"))
		return false;
	sent = get_u64(job, "ranks_phase_bytes");
	d_phase = get_u64(job, "d_phase_bytes");
	*progress = MLCC_NEUTRAL;
	if (sent && d_phase)
		*progress = sent < d_phase ? (double)sent / d_phase * MLCC_ONE : MLCC_ONE;
	return true;
}

/* False: the job's processes tell nothing. */
static bool ranks_progress(struct progress *p, uint64_t now_us, uint32_t *progress)
{
	AUTO_PUT struct json_object *reply = NULL;
	bool known;

	if (!p->asks && now_us < p->ask_us)
		return false;
	if (!p->asks)
		p->mlccd = mlccd_connect();
	p->asks = p->mlccd >= 0;
	reply = mlccd_ask(p);
	known = ranks_read(reply, progress);
	if (!known) {
		mlccd_close(p);
		p->ask_us = now_us + AGAIN_US;
	}
	return known;
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
	if (p->state == PROGRESS_GONE)
		return fail(e, -ENOENT, "%s", p->why);
	if (p->state == PROGRESS_SHARED)
		return fail(e, -EBUSY, "%s:%s is set for a whole %s, and %s: --alone if none of them does, or --weight min",
			    d->be->name, d->name, scope_name(d->be->scope), p->why);
	return 0;
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
	return ranks_progress(p, now_us, &progress) ? progress :
						      sender_progress(p, p->ours, now_us);
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
	mlccd_close(p);
	mlcc_close(p->m);
	p->m = NULL;
}
