// SPDX-License-Identifier: GPL-2.0
/* What nic.h declares. */
#include <stdlib.h>
#include <string.h>

#include "nic.h"
#include "tracker.h"
#include "../../rdma/dcqcn/tmdml.h"
#include "../dcqcn/host.h"
#include "../dcqcn/variants.h"

#define MBPS	1000U		/* in kb/s */
#define US	1000U		/* in ns */

struct nic_host {
	struct mlcc_job job, *leader;
	struct mlcc_led led;
	struct mlcc_lead_answer answer;	/* on its way */
	u64 counted, reported;		/* by the leader: bytes, ns */
};

struct nic_flow {
	struct mlcc_rp_param param;
	struct mlcc_rp rp;
	struct mlcc_rp_own own;		/* in this phase */
	struct nic_host *host;		/* NULL: plain */
	const struct mlcc_profile *profile;
};

struct nic_np {
	struct mlcc_tmdml_param param;
	struct mlcc_tmdml_flow flow;
	struct mlcc_tmdml_group *group;	/* NULL: plain */
};

struct nic_group {
	struct mlcc_tmdml_group group;
};

int nic_variant(const char *name)
{
	static const char *const names[] = MLCC_RP_VARIANT_NAMES;
	int variant = MLCC_RP_VARIANTS;

	while (variant--)
		if (!strcmp(name, names[variant]))
			break;
	return variant;
}

static struct mlcc_rp_param param_of(const struct nic_setup *s)
{
	struct mlcc_rp_param c;

	mlcc_rp_param_init(&c, s->variant, s->line_kbps, MBPS);
	if (s->time_ns)
		c.time_ns = s->time_ns;
	return c;
}

static u64 tracker_us(uint64_t now)
{
	return now / US + TRACKER_FIRST_US;
}

struct nic_host *nic_host_new(struct mlcc_job *leader)
{
	struct nic_host *h = calloc(1, sizeof(*h));

	h->leader = leader;
	return h;
}

struct mlcc_job *nic_host_tracker(struct nic_host *host)
{
	return &host->job;
}

void nic_host_report(struct nic_host *h, uint64_t now)
{
	if (h->answer.best_us) {
		h->answer.age_us += (now - h->reported) / US;
		mlcc_led_hear(&h->led, &h->answer, h->job.acked, tracker_us(now));
	}
	mlcc_lead_report(h->leader, &h->counted, h->job.acked, tracker_us(now),
			 (now - h->reported) / US);
	h->reported = now;
}

void nic_host_answer(struct nic_host *h, uint64_t now)
{
	h->answer = mlcc_lead_answer(h->leader, tracker_us(now));
}

struct nic_flow *nic_flow_new(const struct nic_setup *setup, struct nic_host *host, uint64_t now)
{
	struct nic_flow *f = calloc(1, sizeof(*f));

	f->param = param_of(setup);
	f->own = MLCC_RP_OWN_LINE;
	f->host = host;
	f->profile = setup->profile;
	mlcc_rp_init(&f->rp, &f->param, now);
	return f;
}

void nic_start(struct nic_flow *f, uint64_t now, uint64_t rtt)
{
	if (f->host)
		mlcc_job_tx_start(&f->host->job, tracker_us(now), rtt / US);
}

static struct mlcc_rp_gain gain_of(struct nic_flow *f, uint64_t now, uint32_t fresh)
{
	struct nic_host *h = f->host;
	struct mlcc_led *led;
	u32 p;

	if (!h)
		return MLCC_RP_PLAIN;
	led = h->leader ? &h->led : NULL;
	p = host_sent(&h->job, led, &f->param, fresh, tracker_us(now));
	if (mlcc_rp_enter(&f->rp, h->job.seq)) {
		f->own = host_own(&h->job, led, f->param.line);
		mlcc_job_enter(&h->job);
	}
	return mlcc_rp_gain(f->profile, p, f->own);
}

uint32_t nic_sent(struct nic_flow *f, uint64_t now, uint32_t wire, uint32_t fresh)
{
	struct mlcc_rp_gain gain = gain_of(f, now, fresh);

	mlcc_rp_sent(&f->rp, &f->param, &gain, now, wire);
	return mlcc_rp_rate(&f->rp);
}

uint32_t nic_cnp(struct nic_flow *f, uint64_t now)
{
	struct mlcc_rp_gain gain = gain_of(f, now, 0);

	mlcc_rp_cnp(&f->rp, &f->param, &gain, now);
	return mlcc_rp_rate(&f->rp);
}

uint32_t nic_rate(const struct nic_flow *f)
{
	return mlcc_rp_rate(&f->rp);
}

uint32_t nic_increased(struct nic_flow *f, uint64_t now)
{
	return nic_sent(f, now, 0, 0);
}

uint32_t nic_period(const struct nic_flow *f)
{
	return f->param.time_ns;
}

struct nic_group *nic_group_new(void)
{
	return calloc(1, sizeof(struct nic_group));
}

struct nic_np *nic_np_new(const struct nic_setup *setup, struct nic_group *group)
{
	struct nic_np *np = calloc(1, sizeof(*np));
	struct mlcc_rp_param c = param_of(setup);

	np->param = (struct mlcc_tmdml_param) {
		.interval = mlcc_np_interval(setup->variant, &c),
		.every = MLCC_TMDML_EVERY, .spare = MLCC_TMDML_SPARE,
	};
	np->group = group ? &group->group : NULL;
	return np;
}

void nic_arrived(struct nic_np *np, uint64_t now, uint32_t payload)
{
	if (np->group)
		mlcc_tmdml_arrived(np->group, &np->flow, &np->param, payload, tracker_us(now));
}

bool nic_marked(struct nic_np *np, uint64_t now)
{
	if (np->group)
		return mlcc_tmdml_marked(np->group, &np->flow, &np->param, now);
	return mlcc_np_marked(&np->flow.np, np->param.interval, now);
}
