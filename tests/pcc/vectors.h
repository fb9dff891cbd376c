/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A seeded list of events, the same for every build: two jobs of two queue pairs each that compute
 * and send, two of which share a context; one of no job, and strangers that come and go; CNPs,
 * probes, and now and then parameters, half of them refused.  Freestanding, for the build that runs
 * under QEMU.
 */
#ifndef MLCC_PCC_VECTORS_H
#define MLCC_PCC_VECTORS_H

#include "../unit/random.h"
#include "nic.h"

#define VECTOR_QPS	5U
#define VECTOR_CONTEXTS	6U	/* the last one: for strangers */
#define VECTOR_PHASE	128U	/* events of a phase */

struct vectors {
	doca_pcc_dev_algo_ctxt_t context[VECTOR_CONTEXTS];
	struct nic_qp qp[VECTOR_QPS + 1];
	u64 seed;
	u64 digest;		/* of all that came out */
	u32 now;		/* ns, wraps */
	u32 index;
	u32 progress, decreases, taken, refused;	/* what the events have led to */
};

static inline void vectors_init(struct vectors *v)
{
	nic_start();
	for (u32 i = 0; i <= VECTOR_QPS; i++)
		v->qp[i] = (struct nic_qp) { .vhca = 300, .qpn = 64 + i,
					     .context = &v->context[i == 1 ? 0 : i] };
	nic_job(1, 0);
	nic_job(2, 80000000);
	for (u32 i = 0; i < 4; i++)
		nic_bind(&v->qp[i], 1 + i % 2);
	v->seed = 1;
	v->digest = 0xcbf29ce484222325ULL;
	v->now = -50000000;	/* the stamp wraps soon */
}

static inline void vectors_digest(struct vectors *v, const void *data, u32 bytes)
{
	const u8 *byte = data;

	while (bytes--)
		v->digest = (v->digest ^ *byte++) * 0x100000001b3ULL;
}

/* Parameters somewhere between half and twice their defaults; or anything. */
static inline void vectors_set(struct vectors *v)
{
	u32 values[MLCC_PCC_PARAMS];

	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++)
		values[i] = mlcc_pcc_params[i].value;
	for (u32 i = MLCC_PCC_AI; i <= MLCC_PCC_DECREASE_TIME; i++)
		values[i] = values[i] / 2 + random_below(&v->seed, values[i] + 1);
	values[MLCC_PCC_THRESHOLD] = random_below(&v->seed, 8);
	values[MLCC_PCC_STAGES] = random_below(&v->seed, DCQCN_STAGES_COUNT);
	values[MLCC_PCC_FLAGS] = random_below(&v->seed, DCQCN_FLAGS + 1);
	values[MLCC_PCC_RTT_OVER] = random_below(&v->seed, 4) ? 0 : 7000;
	if (random_below(&v->seed, 2))
		values[random_below(&v->seed, MLCC_PCC_PARAMS)] = random_magnitude(&v->seed);
	if (doca_pcc_dev_user_set_algo_params(0, 0, 0, MLCC_PCC_PARAMS, values, nic_params[0][0]) ==
	    DOCA_PCC_DEV_STATUS_OK)
		v->taken++;
	else
		v->refused++;
}

/* Another queue pair than before, which is gone with its context. */
static inline void vectors_stranger(struct vectors *v)
{
	struct nic_qp *qp = &v->qp[VECTOR_QPS];

	qp->vhca = random_below(&v->seed, 4);
	qp->qpn = 1 + random_below(&v->seed, 0xffffff);
	for (u32 i = 0; i < sizeof(*qp->context) / sizeof(u32); i++)
		qp->context->word[i] = random_u64(&v->seed);
}

/* The next event of @qp: a silence before a phase, else some microseconds. */
static inline doca_pcc_dev_results_t vectors_event(struct vectors *v, const struct nic_qp *qp)
{
	u64 r = random_u64(&v->seed);
	bool silence = v->index % VECTOR_PHASE == 0;
	u32 stamp;

	v->now += silence ? 20000000 + (r >> 40) : (r >> 32 & 0x3fff);
	stamp = v->now;
	if ((r >> 20 & 0xfff) == 0)	/* another core was late */
		stamp -= random_below(&v->seed, 1U << 22);
	if (silence || r & 3)
		return nic_tx(qp, stamp, (r >> 8 & 0x3ff) ? (r >> 8 & 0xffff) << 6 : r >> 40);
	switch (random_below(&v->seed, 4)) {
	case 0:
		return nic_cnp(qp, stamp);
	case 1:
		return nic_rtt(qp, stamp, 5000 + (r >> 50));
	}
	return nic_other(qp, DOCA_PCC_DEV_EVNT_ROCE_NACK, stamp);
}

/* Runs the next event. */
static inline void vectors_next(struct vectors *v)
{
	const struct nic_qp *qp = &v->qp[random_below(&v->seed, VECTOR_QPS)];
	const struct mlcc_pcc_context *context;
	doca_pcc_dev_results_t results;

	if (random_below(&v->seed, 64) == 0)
		vectors_stranger(v);
	if (random_below(&v->seed, 16) == 0)
		qp = &v->qp[VECTOR_QPS];
	if (random_below(&v->seed, 4096) == 0)
		vectors_set(v);
	results = vectors_event(v, qp);
	context = (const struct mlcc_pcc_context *)qp->context;
	vectors_digest(v, &results, sizeof(results));
	v->index++;
	if (context->flow < MLCC_PCC_FLOWS) {
		const struct mlcc_pcc_flow *flow = &nic.flow[context->flow];

		vectors_digest(v, flow, sizeof(*flow));
		v->progress += flow->p != MLCC_NEUTRAL;
		v->decreases += flow->rp.decrease_run == 0;
	}
}

#endif /* MLCC_PCC_VECTORS_H */
