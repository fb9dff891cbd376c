/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a simulated host goes by: its own tracker @j, or, with @l, its leader's word (lead.h).
 */
#ifndef MLCC_DCQCN_HOST_H
#define MLCC_DCQCN_HOST_H

#include "../../include/mlcc/lead.h"
#include "../../rdma/dcqcn/job.h"

/* A flow has sent @bytes at @now (us): the progress that it goes by. */
static inline u32 host_sent(struct mlcc_job *j, struct mlcc_led *l, const struct dcqcn_param *c,
			    u32 bytes, u64 now)
{
	u32 p;

	if (l && bytes)
		mlcc_led_sends(l, j->acked, now);
	p = mlcc_job_acked(j, bytes, now);
	if (!l)
		return dcqcn_progress(c, p, j->best_us);
	return dcqcn_progress(c, mlcc_led_progress(l, now), l->heard.best_us);
}

/* A flow's part of @line, kb/s. */
static inline struct dcqcn_own host_own(const struct mlcc_job *j, const struct mlcc_led *l,
					u32 line)
{
	if (!l)
		return dcqcn_own(mlcc_job_flow_kbps(j), line, mlcc_job_flow_bytes(j));
	return dcqcn_own(mlcc_led_flow_kbps(l, j), line, mlcc_led_flow_bytes(l, j));
}

/* A host of a job of several. */
struct host_led {
	struct mlcc_job *leader;	/* NULL: nobody tells */
	struct mlcc_led led;
	struct mlcc_lead_answer told;	/* on its way */
	u64 counted;			/* by the leader, bytes */
};

/* @us after the last time: what the leader has said then arrives, and what @j has sent. */
static inline void host_reports(struct host_led *h, const struct mlcc_job *j, u64 now, u64 us)
{
	if (h->told.best_us) {
		h->told.age_us += us;
		mlcc_led_hear(&h->led, &h->told, j->acked, now);
	}
	mlcc_lead_report(h->leader, &h->counted, j->acked, now, us);
}

/* After all have reported. */
static inline void host_answered(struct host_led *h, u64 now)
{
	h->told = mlcc_lead_answer(h->leader, now);
}

#endif /* MLCC_DCQCN_HOST_H */
