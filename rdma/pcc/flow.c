// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of queue pairs, and the host's commands, which say of which job one is.
 *
 * A queue pair has one of MLCC_PCC_WAYS records that lie beside each other.  Several cores may look
 * for one at a time: a record is taken under a lock, as BlueField-3's processor has no
 * compare-and-swap.  Who takes an idle one and who makes it a job's look at what the other one
 * writes after they have written their own, so that one of the two steps back at least.
 */
#include "../../include/mlcc/profiles.h"
#include "pcc.h"

#define HASH	0x9e3779b97f4a7c15ULL	/* 2^64 by the golden ratio: Knuth, TAOCP 6.4 */

static bool take(struct mlcc_pcc_nic *nic, struct mlcc_pcc_flow *flow, u64 from, u64 key)
{
	bool taken;

	if (MLCC_READ(flow->key) != from)
		return false;
	while (__atomic_exchange_n(&nic->taking, 1, __ATOMIC_SEQ_CST))
		;
	taken = flow->key == from;
	if (taken)
		__atomic_store_n(&flow->key, key, __ATOMIC_SEQ_CST);
	__atomic_store_n(&nic->taking, 0, __ATOMIC_SEQ_CST);
	return taken;
}

/* The record may hold what another queue pair has left. */
static struct mlcc_pcc_flow *taken(struct mlcc_pcc_flow *flow, u32 now)
{
	flow->rp.rc = 0;
	flow->seen = now;
	return flow;
}

/* A record that nobody has used for long, and that is no job's. */
static bool take_idle(struct mlcc_pcc_nic *nic, struct mlcc_pcc_flow *flow, u64 key,
		      u32 now)
{
	u64 was = MLCC_READ(flow->key);

	if (MLCC_READ(flow->job) || now - MLCC_READ(flow->seen) <= MLCC_PCC_IDLE_MS ||
	    !take(nic, flow, was, key))
		return false;
	if (!__atomic_load_n(&flow->job, __ATOMIC_SEQ_CST))
		return true;
	take(nic, flow, key, was);
	return false;
}

struct mlcc_pcc_flow *mlcc_pcc_find(struct mlcc_pcc_nic *nic, u64 key, u32 now)
{
	u32 first = key * HASH >> 32 & (MLCC_PCC_FLOWS - MLCC_PCC_WAYS);
	struct mlcc_pcc_flow *flow = &nic->flow[first];

	for (u32 i = 0; i < MLCC_PCC_WAYS; i++)
		if (MLCC_READ(flow[i].key) == key)
			return &flow[i];
	for (u32 i = 0; i < MLCC_PCC_WAYS; i++)
		if (take(nic, &flow[i], 0, key))
			return taken(&flow[i], now);
	for (u32 i = 0; i < MLCC_PCC_WAYS; i++)
		if (take_idle(nic, &flow[i], key, now))
			return taken(&flow[i], now);
	return NULL;
}

static enum mlcc_pcc_status set_job(struct mlcc_pcc_nic *nic, const struct mlcc_pcc_command *c)
{
	struct mlcc_pcc_job *job = &nic->job[c->job];

	if (!c->job)
		return MLCC_PCC_NO_JOB;
	if (c->profile >= MLCC_PROFILE_COUNT)
		return MLCC_PCC_NO_PROFILE;
	if (c->d_phase > MLCC_PHASE_BYTES_MAX)
		return MLCC_PCC_NO_PHASE;
	if (!job->flows)
		job->job = (struct mlcc_job) { .seq = 0 };
	MLCC_WRITE(job->profile, c->profile);
	mlcc_job_hint(&job->job, c->d_phase);
	return MLCC_PCC_DONE;
}

static enum mlcc_pcc_status set_qp(struct mlcc_pcc_nic *nic, const struct mlcc_pcc_command *c)
{
	u64 key = mlcc_pcc_key(c->vhca, c->qpn);
	struct mlcc_pcc_flow *flow;
	u8 was;

	if (c->vhca >> 16 || !c->qpn || c->qpn >> 24)
		return MLCC_PCC_NO_QP;
	flow = mlcc_pcc_find(nic, key, mlcc_pcc_ms(MLCC_READ(nic->clock)));
	if (!flow)
		return c->job ? MLCC_PCC_FULL : MLCC_PCC_DONE;
	was = flow->job;
	__atomic_store_n(&flow->job, c->job, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&flow->key, __ATOMIC_SEQ_CST) != key) {
		MLCC_WRITE(flow->job, was);
		return MLCC_PCC_FULL;
	}
	nic->job[was].flows--;
	nic->job[c->job].flows++;
	return MLCC_PCC_DONE;
}

enum mlcc_pcc_status mlcc_pcc_command(struct mlcc_pcc_nic *nic,
				      const struct mlcc_pcc_command *command)
{
	if (command->job >= MLCC_PCC_JOBS)
		return MLCC_PCC_NO_JOB;
	switch (command->op) {
	case MLCC_PCC_SET_JOB:
		return set_job(nic, command);
	case MLCC_PCC_SET_QP:
		return set_qp(nic, command);
	}
	return MLCC_PCC_NO_OP;
}
