// SPDX-License-Identifier: GPL-2.0
/*
 * The jobs for other carriers in the kernel (include/mlcc/linux/jobs.h): soft-RoCE's queue pairs
 * are flows of the same jobs as TCP's sockets.
 */
#include <linux/export.h>
#include <net/tcp.h>

#include "event.h"
#include "job.h"
#include "profile.h"
#include "../include/mlcc/linux/jobs.h"

/* Which queue pairs are a job's root says, in every namespace. */
static struct mlcc_slot *mlcc_share_get(struct net *net, u32 id)
{
	return mlcc_slot_get(net, id, true);
}

static void mlcc_share_start(struct mlcc_slot *s, struct net *net, u32 min_rtt)
{
	struct mlcc_phase_was was;

	mlcc_slot_refresh(s, net);
	if (unlikely(READ_ONCE(s->deleted) || READ_ONCE(s->class) != MLCC_CLASS_TRAINING))
		return;
	mlcc_phase_was(s, &was);
	if (mlcc_job_tx_start(&s->job, tcp_clock_us(), min_rtt))
		mlcc_phase_begun(net, s, &was);
}

static void mlcc_share_own(const struct mlcc_slot *s, u32 p, struct mlcc_job_view *to)
{
	to->p = p;
	to->best_us = READ_ONCE(s->job.best_us);
	to->bytes = mlcc_job_flow_bytes(&s->job);
	to->kbps = mlcc_job_flow_kbps(&s->job);
}

/* A host of a job of several: its own progress is worse than none (lead.h). */
static void mlcc_share_led(const struct mlcc_slot *s, u32 now, struct mlcc_job_view *to)
{
	to->p = mlcc_led_progress(&s->led, now);
	to->best_us = READ_ONCE(s->led.heard.best_us);
	to->bytes = mlcc_led_flow_bytes(&s->led, &s->job);
	to->kbps = mlcc_led_flow_kbps(&s->led, &s->job);
}

/* Returns the host's own progress. */
static u32 mlcc_share_count(struct mlcc_slot *s, u32 bytes, u64 now)
{
	if (bytes)
		mlcc_led_sends(&s->led, READ_ONCE(s->job.acked), now);
	if (likely(READ_ONCE(s->class) == MLCC_CLASS_TRAINING))
		return READ_ONCE(s->deleted) ? MLCC_NEUTRAL : mlcc_job_acked(&s->job, bytes, now);
	mlcc_job_count(&s->job, bytes, now);
	return MLCC_NEUTRAL;
}

static void mlcc_share_sent(struct mlcc_slot *s, u32 bytes, struct mlcc_job_view *to)
{
	u64 now = tcp_clock_us();
	u32 p = mlcc_share_count(s, bytes, now);

	mlcc_profile_read(READ_ONCE(s->profile), &to->profile);
	if (READ_ONCE(s->led.told) && READ_ONCE(s->class) == MLCC_CLASS_TRAINING &&
	    !READ_ONCE(s->deleted))
		mlcc_share_led(s, now, to);
	else
		mlcc_share_own(s, p, to);
	to->seq = READ_ONCE(s->job.seq);
}

static void mlcc_share_enter(struct mlcc_slot *s)
{
	mlcc_job_enter(&s->job);
}

const struct mlcc_jobs mlcc_jobs = {
	.get	= mlcc_share_get,
	.put	= mlcc_slot_put,
	.start	= mlcc_share_start,
	.sent	= mlcc_share_sent,
	.enter	= mlcc_share_enter,
};
EXPORT_SYMBOL_GPL(mlcc_jobs);
