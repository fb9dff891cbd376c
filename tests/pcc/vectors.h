/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A seeded list of events for rdma/pcc/, the same for every build: two jobs of two flows each, that
 * compute and send, CNPs while they do, probes, and now and then parameters, half of them refused.
 * Freestanding, for the build that runs under QEMU.
 */
#ifndef MLCC_PCC_VECTORS_H
#define MLCC_PCC_VECTORS_H

#include "../../rdma/pcc/pcc.h"
#include "../unit/random.h"

#define VECTOR_SLOTS	2
#define VECTOR_FLOWS	4
#define VECTOR_PHASE	128	/* events of a phase */

struct vectors {
	struct mlcc_pcc_slot slot[VECTOR_SLOTS];
	struct mlcc_pcc_flow flow[VECTOR_FLOWS];
	u64 seed;
	u64 digest;		/* of all that came out */
	u32 now;		/* ns, wraps */
	u32 index;
	u32 progress, decreases, taken, refused;	/* what the events have led to */
};

static inline void vectors_init(struct vectors *v)
{
	for (u32 i = 0; i < VECTOR_SLOTS; i++)
		mlcc_pcc_init(&v->slot[i]);
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
static inline void vectors_set(struct vectors *v, struct mlcc_pcc_slot *slot)
{
	u32 values[MLCC_PCC_PARAMS];

	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++)
		values[i] = mlcc_pcc_params[i].value;
	for (u32 i = MLCC_PCC_AI; i <= MLCC_PCC_DECREASE_TIME; i++)
		values[i] = values[i] / 2 + random_below(&v->seed, values[i] + 1);
	values[MLCC_PCC_PROFILE] = random_below(&v->seed, 3);
	values[MLCC_PCC_THRESHOLD] = random_below(&v->seed, 8);
	values[MLCC_PCC_STAGES] = random_below(&v->seed, MLCC_RP_STAGES_COUNT);
	values[MLCC_PCC_FLAGS] = random_below(&v->seed, MLCC_RP_FLAGS + 1);
	if (random_below(&v->seed, 2))
		values[random_below(&v->seed, MLCC_PCC_PARAMS)] = random_magnitude(&v->seed);
	if (mlcc_pcc_set(slot, values))
		v->taken++;
	else
		v->refused++;
}

/* The next event: a silence before a phase, else some microseconds. */
static inline void vectors_event(struct vectors *v, struct mlcc_pcc_event *event)
{
	u64 r = random_u64(&v->seed);
	bool silence = v->index % VECTOR_PHASE == 0;

	v->now += silence ? 20000000 + (r >> 40) : (r >> 32 & 0x3fff);
	event->type = silence || r & 3 ? MLCC_PCC_TX : random_below(&v->seed, MLCC_PCC_EVENTS);
	event->stamp = v->now;
	event->bytes = (r >> 8 & 0xffff) << 5;
	event->probed = v->now - 5000 - (r >> 50);
	if ((r >> 20 & 0xfff) == 0) {	/* another core was late, or clocks are off */
		event->stamp -= random_below(&v->seed, 1U << 22);
		event->probed = random_u64(&v->seed);
	}
}

/* Runs the next event and returns the flow that it belonged to. */
static inline struct mlcc_pcc_flow *vectors_next(struct vectors *v, struct mlcc_pcc_event *event,
						 struct mlcc_pcc_result *result)
{
	u32 which = random_below(&v->seed, VECTOR_FLOWS), rate;
	struct mlcc_pcc_slot *slot = &v->slot[which % VECTOR_SLOTS];
	struct mlcc_pcc_flow *flow = &v->flow[which];

	if (random_below(&v->seed, 4096) == 0)
		vectors_set(v, slot);
	vectors_event(v, event);
	rate = flow->rp.rc;
	mlcc_pcc_event(slot, flow, event, result);
	vectors_digest(v, flow, sizeof(*flow));
	vectors_digest(v, result, sizeof(*result));
	v->index++;
	v->decreases += flow->rp.rc < rate;
	v->progress += flow->p != MLCC_NEUTRAL;
	return flow;
}

#endif /* MLCC_PCC_VECTORS_H */
