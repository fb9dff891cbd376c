// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the NIC runs for each event: tell the job, let DCQCN act, answer with the rate.
 */
#include "pcc.h"

/* The tracker's clock, from a stamp that wraps; cores may bring stamps out of order. */
static u64 clock_at(struct mlcc_pcc_slot *slot, u32 stamp)
{
	u64 last = MLCC_READ(slot->clock);
	u32 ns = stamp - (u32)last;

	if (ns >= -MLCC_RP_BACK_NS)
		return last;
	MLCC_WRITE(slot->clock, last + ns);
	return last + ns;
}

static void flow_start(struct mlcc_pcc_flow *flow, const struct mlcc_pcc_config *c, u32 stamp)
{
	mlcc_rp_init(&flow->rp, &c->rp, stamp);
	flow->p = MLCC_NEUTRAL;
	flow->min_rtt = ~0U;
	flow->probed = stamp - c->probe_ns;
}

/* Once a phase at most, so it is kept out of the way of the other events. */
static MLCC_OUTLINE void silence_ends(struct mlcc_job *job, u64 now, u32 min_rtt)
{
	mlcc_job_tx_start(job, now, min_rtt == ~0U ? 0 : min_rtt >> MLCC_PCC_US_SHIFT);
}

/* What the port sends in a second is not known here, so the job is taken to have all of it. */
static struct mlcc_rp_own own_of(const struct mlcc_job *job)
{
	return mlcc_rp_own(MLCC_READ(job->share), MLCC_ONE, mlcc_job_flow_bytes(job));
}

/* Likewise. */
static MLCC_OUTLINE void phase_begins(struct mlcc_job *job, struct mlcc_pcc_flow *flow,
				      const struct mlcc_pcc_config *c, u32 stamp)
{
	mlcc_rp_phase(&flow->rp, &c->rp, &c->profile, flow->p, own_of(job), MLCC_READ(job->seq),
		      stamp);
	mlcc_job_enter(job);
}

/*
 * A burst has been sent.  If the job has been silent until then, this may be a new phase: the burst
 * went at the rate that the flow had before, and the next one goes at the rate of the new phase.
 */
static void sent(struct mlcc_pcc_slot *slot, struct mlcc_pcc_flow *flow,
		 const struct mlcc_pcc_config *c, const struct mlcc_pcc_event *event)
{
	u64 now = clock_at(slot, event->stamp) >> MLCC_PCC_US_SHIFT;
	struct mlcc_job *job = &slot->job;
	struct mlcc_rp_gain gain;

	if (!MLCC_READ(job->seq) || now >= MLCC_READ(job->last_us) + MLCC_GAP_MIN_US)
		silence_ends(job, now, flow->min_rtt);
	flow->p = mlcc_rp_progress(&c->rp, mlcc_job_acked(job, event->bytes, now),
				   MLCC_READ(job->best_us));
	if (!mlcc_rp_is_in(&flow->rp, MLCC_READ(job->seq)))
		phase_begins(job, flow, c, event->stamp);
	gain = mlcc_rp_gain(&c->profile, flow->p, MLCC_RP_OWN_LINE);
	mlcc_rp_sent(&flow->rp, &c->rp, &gain, event->stamp, event->bytes);
}

static void cnp(struct mlcc_pcc_slot *slot, struct mlcc_pcc_flow *flow,
		const struct mlcc_pcc_config *c, u32 stamp)
{
	struct mlcc_rp_gain gain = mlcc_rp_gain(&c->profile, flow->p, own_of(&slot->job));

	mlcc_rp_cnp(&flow->rp, &c->rp, &gain, stamp);
}

/* Without a probe now and then no event would come between two bursts. */
static bool probe_is_due(struct mlcc_pcc_flow *flow, const struct mlcc_pcc_config *c, u32 stamp)
{
	if (!c->probe_ns || stamp - flow->probed < c->probe_ns)
		return false;
	flow->probed = stamp;
	return true;
}

void mlcc_pcc_event(struct mlcc_pcc_slot *slot, struct mlcc_pcc_flow *flow,
		    const struct mlcc_pcc_event *event, struct mlcc_pcc_result *result)
{
	const struct mlcc_pcc_config *c =
		&slot->config[__atomic_load_n(&slot->active, __ATOMIC_ACQUIRE)];
	struct mlcc_rp_gain gain;

	if (!flow->rp.rc)
		flow_start(flow, c, event->stamp);
	if (event->type == MLCC_PCC_TX) {
		sent(slot, flow, c, event);
	} else {
		gain = mlcc_rp_gain(&c->profile, flow->p, MLCC_RP_OWN_LINE);
		if (event->type == MLCC_PCC_CNP)
			cnp(slot, flow, c, event->stamp);
		else
			mlcc_rp_advance(&flow->rp, &c->rp, &gain, event->stamp);
	}
	if (event->type == MLCC_PCC_RTT)
		flow->min_rtt = mlcc_rp_least(flow->min_rtt, event->stamp - event->probed);
	result->rate = mlcc_rp_rate(&flow->rp) >> MLCC_PCC_MORE_SHIFT;
	result->probe = probe_is_due(flow, c, event->stamp);
}
