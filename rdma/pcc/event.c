// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the NIC runs for each event: find the flow, tell the job, let DCQCN act, answer with the
 * rate.
 */
#include "../../include/mlcc/profiles.h"
#include "pcc.h"

static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;

static const struct mlcc_pcc_config *config_of(const struct mlcc_pcc_nic *nic,
					       const struct mlcc_pcc_event *event)
{
	u32 port = event->port < MLCC_PCC_PORTS ? event->port : 0;
	u32 slot = event->slot < MLCC_PCC_SLOTS ? event->slot : 0;

	return __atomic_load_n(&nic->slot[port][slot].active, __ATOMIC_ACQUIRE);
}

/* The compiler would else find the job anew for each of its fields: five instructions. */
static struct mlcc_pcc_job *job_of(struct mlcc_pcc_nic *nic, const struct mlcc_pcc_flow *flow)
{
	struct mlcc_pcc_job *job = &nic->job[MLCC_READ(flow->job)];

	__asm__("" : "+r" (job));
	return job;
}

/* Another queue pair than that of the context's last event, or its first one. */
static MLCC_OUTLINE struct mlcc_pcc_flow *other_flow(struct mlcc_pcc_nic *nic,
						     struct mlcc_pcc_context *context, u64 key)
{
	struct mlcc_pcc_flow *flow = mlcc_pcc_find(nic, key, mlcc_pcc_ms(MLCC_READ(nic->clock)));

	if (!flow)
		flow = &nic->flow[MLCC_PCC_FLOWS];
	context->key = key;
	context->flow = flow - nic->flow;
	return flow;
}

/* Whose event it is; NULL if nobody can tell. */
static struct mlcc_pcc_flow *flow_of(struct mlcc_pcc_nic *nic, struct mlcc_pcc_context *context,
				     const struct mlcc_pcc_event *event)
{
	u64 key = event->qpn ? mlcc_pcc_key(event->vhca, event->qpn) : context->key;
	struct mlcc_pcc_flow *flow = &nic->flow[dcqcn_least(context->flow, MLCC_PCC_FLOWS)];

	if (key && key == context->key && MLCC_READ(flow->key) == key)
		return flow;
	if (event->qpn)
		return other_flow(nic, context, key);
	return key && context->flow == MLCC_PCC_FLOWS ? flow : NULL;
}

/* The tracker's clock, from a stamp that wraps; cores may bring stamps out of order. */
static u64 clock_at(struct mlcc_pcc_nic *nic, u32 stamp)
{
	u64 last = MLCC_READ(nic->clock);
	u32 ns = stamp - (u32)last;

	if (ns >= -DCQCN_BACK_NS)
		return last;
	MLCC_WRITE(nic->clock, last + ns);
	return last + ns;
}

static void flow_start(struct mlcc_pcc_flow *flow, const struct mlcc_pcc_config *c, u32 stamp)
{
	dcqcn_init(&flow->rp, &c->rp, stamp);
	flow->p = MLCC_NEUTRAL;
	flow->min_rtt = ~0U;
	flow->probed = stamp - c->probe_ns;
	flow->mean = 0;
}

/* What the port sends in a second is not known here, so the job is taken to have all of it. */
static struct dcqcn_own own_of(const struct mlcc_job *job)
{
	return dcqcn_own(MLCC_READ(job->share), MLCC_ONE, mlcc_job_flow_bytes(job));
}

/* Once a phase at most, so it is kept out of the way of the other events. */
static MLCC_OUTLINE void silence_ends(struct mlcc_job *job, u64 now, u32 min_rtt)
{
	mlcc_job_tx_start(job, now, min_rtt == ~0U ? 0 : min_rtt >> MLCC_PCC_US_SHIFT);
}

/*
 * The bytes of a burst.  Where their counter is at its end there are more: as many as its packets
 * would have in another long burst of the flow.
 */
static u32 burst_bytes(struct mlcc_pcc_flow *flow, const struct mlcc_pcc_event *event)
{
	u32 units = event->units;

	if (units >= MLCC_PCC_UNITS_MAX) {
		u32 likely = event->packets * flow->mean;

		units = likely > units ? likely : units;
	} else if (event->packets >= 64 && units <= event->packets * 255) {
		flow->mean = units / event->packets;
	}
	return units << MLCC_PCC_UNIT_SHIFT;
}

/* A burst of a job has been sent: if the job was silent until then, a new phase may begin. */
static void job_sent(struct mlcc_job *job, struct mlcc_pcc_flow *flow,
		     const struct mlcc_pcc_config *c, u32 bytes, u64 now)
{
	if (!MLCC_READ(job->seq) || now >= MLCC_READ(job->last_us) + MLCC_GAP_MIN_US)
		silence_ends(job, now, flow->min_rtt);
	flow->p = dcqcn_progress(&c->rp, mlcc_job_acked(job, bytes, now),
				 MLCC_READ(job->best_us));
	if (dcqcn_enter(&flow->rp, MLCC_READ(job->seq)))
		mlcc_job_enter(job);
}

/* What the job's phase does to the flow; whoever has none need not know what its part would be. */
static struct dcqcn_gain gain_of(const struct mlcc_pcc_job *job,
				 const struct mlcc_pcc_flow *flow)
{
	if (flow->p == MLCC_NEUTRAL)
		return DCQCN_PLAIN;
	return dcqcn_gain(&profiles[MLCC_READ(job->profile)], flow->p, own_of(&job->job));
}

static void sent(struct mlcc_pcc_nic *nic, struct mlcc_pcc_flow *flow,
		 const struct mlcc_pcc_config *c, const struct mlcc_pcc_event *event)
{
	struct mlcc_pcc_job *job = job_of(nic, flow);
	u64 clock = clock_at(nic, event->stamp);
	u32 bytes = burst_bytes(flow, event);
	struct dcqcn_gain gain;

	flow->seen = mlcc_pcc_ms(clock);
	flow->p = MLCC_NEUTRAL;
	if (job != nic->job)
		job_sent(&job->job, flow, c, bytes, clock >> MLCC_PCC_US_SHIFT);
	gain = gain_of(job, flow);
	dcqcn_sent(&flow->rp, &c->rp, &gain, event->stamp, bytes);
}

/* Anything but a burst. */
static void heard(struct mlcc_pcc_nic *nic, struct mlcc_pcc_flow *flow,
		  const struct mlcc_pcc_config *c, u32 stamp, bool congested)
{
	struct dcqcn_gain gain = gain_of(job_of(nic, flow), flow);

	if (congested)
		dcqcn_cnp(&flow->rp, &c->rp, &gain, stamp);
	else
		dcqcn_advance(&flow->rp, &c->rp, &gain, stamp);
}

/* Whether an event tells of congestion: a CNP; or a probe, and then CNPs do not. */
static bool is_congested(struct mlcc_pcc_flow *flow, const struct mlcc_pcc_config *c,
			 const struct mlcc_pcc_event *event)
{
	u32 rtt = event->stamp - event->probed;

	if (event->type != MLCC_PCC_RTT)
		return event->type == MLCC_PCC_CNP && !c->rtt_over;
	flow->min_rtt = dcqcn_least(flow->min_rtt, rtt);
	return c->rtt_over && rtt - flow->min_rtt > c->rtt_over;
}

/* Without a probe now and then no event would come between two bursts. */
static bool probe_is_due(struct mlcc_pcc_flow *flow, const struct mlcc_pcc_config *c, u32 stamp)
{
	if (!c->probe_ns || stamp - flow->probed < c->probe_ns)
		return false;
	flow->probed = stamp;
	return true;
}

void mlcc_pcc_event(struct mlcc_pcc_nic *nic, struct mlcc_pcc_context *context,
		    const struct mlcc_pcc_event *event, struct mlcc_pcc_result *result)
{
	const struct mlcc_pcc_config *c = config_of(nic, event);
	struct mlcc_pcc_flow *flow = flow_of(nic, context, event);

	if (!flow) {	/* nothing of it is known, so it is as fast as one that begins */
		*result = (struct mlcc_pcc_result) { .rate = MLCC_PCC_RATE_ONE };
		return;
	}
	if (!flow->rp.rc)
		flow_start(flow, c, event->stamp);
	if (event->type == MLCC_PCC_TX)
		sent(nic, flow, c, event);
	else
		heard(nic, flow, c, event->stamp, is_congested(flow, c, event));
	result->rate = dcqcn_rate(&flow->rp) >> MLCC_PCC_MORE_SHIFT;
	result->probe = probe_is_due(flow, c, event->stamp);
}
