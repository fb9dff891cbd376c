// SPDX-License-Identifier: BSD-2-Clause
#include "pace.h"

static void backlog_tick(struct pace_job *j, uint64_t now_ns)
{
	if (j->backlog.connections)
		j->backlog.ns += now_ns - j->backlog.since_ns;
	j->backlog.since_ns = now_ns;
}

/* What @bytes take of a job that defers. */
static uint64_t slow_ns(const struct pace_job *j, uint64_t bytes)
{
	return mlcc_burst(bytes, j->queue.byte_cost) * 1000 << MLCC_PART_SHIFT;
}

bool pace_holds(struct pace_job *j, uint64_t bytes, uint64_t now_ns)
{
	bool holds;

	pthread_mutex_lock(&j->lock);
	holds = mlcc_queue_defers(&j->queue, now_ns / 1000) && now_ns < j->next_ns;
	if (!holds)
		j->next_ns = now_ns + slow_ns(j, bytes);
	pthread_mutex_unlock(&j->lock);
	return holds;
}

void pace_sent(struct pace_job *j, struct pace *c, uint64_t bytes, uint64_t now_ns)
{
	pthread_mutex_lock(&j->lock);
	j->under_way += bytes;
	c->bytes += bytes;
	if (!c->under_way && mlcc_job_tx_start(&j->job, now_ns / 1000, j->least_us))
		mlcc_queue_rollover(&j->queue);
	if (++c->under_way == 2) {
		backlog_tick(j, now_ns);
		j->backlog.connections++;
	}
	pthread_mutex_unlock(&j->lock);
}

/* What is done of a phase that is known may show that others are on the link. */
static void look_at_rate(struct pace_job *j, uint64_t bytes, uint64_t now_ns)
{
	struct mlcc_queue *q = &j->queue;
	uint64_t now_us = now_ns / 1000;

	if (mlcc_queue_defers(q, now_us) ||
	    !mlcc_queue_sample(q, j->backlog.ns / 1000 + 1, j->backlog.bytes, j->job.d_phase,
			       j->least_us))
		return;
	/* what is under way is not held any more, and goes at the rate of now */
	now_us += mlcc_burst(j->under_way, q->last_cost);
	mlcc_queue_defer(q, now_us, j->job.acked, j->job.d_phase);
	j->next_ns = now_ns + slow_ns(j, bytes);
}

/* Returns the job's progress. */
static uint32_t pace_count(struct pace_job *j, uint64_t bytes, uint64_t now_us)
{
	const uint32_t most = 1U << 31;

	for (; bytes > most; bytes -= most)
		mlcc_job_acked(&j->job, most, now_us);
	return mlcc_job_acked(&j->job, bytes, now_us);
}

void pace_done(struct pace_job *j, struct pace *c, uint64_t bytes, uint64_t took_ns,
	       uint64_t now_ns)
{
	uint32_t took_us = mlcc_us32(took_ns / 1000), p;

	pthread_mutex_lock(&j->lock);
	if (!j->least_us || took_us < j->least_us)
		j->least_us = took_us;
	backlog_tick(j, now_ns);
	j->under_way -= bytes;
	c->bytes -= bytes;
	p = pace_count(j, bytes, now_ns / 1000);
	if (j->backlog.connections) {
		j->backlog.bytes += bytes;
		if (p != MLCC_NEUTRAL)
			look_at_rate(j, bytes, now_ns);
	}
	if (c->under_way-- == 2)
		j->backlog.connections--;
	pthread_mutex_unlock(&j->lock);
}

void pace_closed(struct pace_job *j, struct pace *c, uint64_t now_ns)
{
	pthread_mutex_lock(&j->lock);
	backlog_tick(j, now_ns);
	j->backlog.connections -= c->under_way > 1;
	j->under_way -= c->bytes;
	*c = (struct pace){ };
	pthread_mutex_unlock(&j->lock);
}
