// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The parameters of a port's slot: defaults, limits, and what they come to.
 *
 * The defaults are the paper's for a port of 40 Gb/s, as parts of the port's rate (R_AI is 1/1000),
 * with the T of HotNets '22.
 */
#include "pcc.h"

const struct mlcc_pcc_limits mlcc_pcc_params[MLCC_PCC_PARAMS] = {
	[MLCC_PCC_AI]		= { "ai_rate", MLCC_PCC_RATE_ONE / 1000, 1, MLCC_PCC_RATE_ONE },
	[MLCC_PCC_HAI]		= { "hai_rate", MLCC_PCC_RATE_ONE / 200, 0, MLCC_PCC_RATE_ONE },
	[MLCC_PCC_MIN_RATE]	= { "min_rate", MLCC_PCC_RATE_ONE / 4096, 1, MLCC_PCC_RATE_ONE },
	[MLCC_PCC_FIRST_RATE]	= { "rate_to_set_on_first_cnp", 0, 0, MLCC_PCC_RATE_ONE },
	[MLCC_PCC_TIME]		= { "time_reset", 125000, DCQCN_NS_MIN, DCQCN_NS_MAX },
	[MLCC_PCC_BYTES]	= { "byte_reset", 10000000, 0, DCQCN_BYTES_MAX },
	[MLCC_PCC_ALPHA_TIME]	= { "alpha_time", 55000, DCQCN_NS_MIN, DCQCN_NS_MAX },
	[MLCC_PCC_DECREASE_TIME] = { "rate_reduce_monitor_period", 50000, 0, DCQCN_NS_MAX },
	[MLCC_PCC_G]		= { "g", MLCC_ONE / 256, 1, MLCC_ONE },
	[MLCC_PCC_ALPHA_INIT]	= { "initial_alpha_value", MLCC_ONE, 0, MLCC_ONE },
	[MLCC_PCC_DECREASE_MAX]	= { "decrease_max", MLCC_ONE / 2, 0, MLCC_ONE },
	[MLCC_PCC_THRESHOLD]	= { "threshold", 5, 0, DCQCN_THRESHOLD_MAX },
	[MLCC_PCC_STAGES]	= { "stages", DCQCN_STAGES_PAPER, 0, DCQCN_STAGES_COUNT - 1 },
	[MLCC_PCC_FLAGS]	= { "flags", DCQCN_CLAMP, 0, DCQCN_FLAGS },
	[MLCC_PCC_PROBE_TIME]	= { "probe_time", 100000, 0, DCQCN_NS_MAX },
	[MLCC_PCC_RTT_OVER]	= { "rtt_over", 0, 0, DCQCN_NS_MAX },
};

static bool within_limits(const u32 *values)
{
	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++)
		if (!dcqcn_in(values[i], mlcc_pcc_params[i].min, mlcc_pcc_params[i].max))
			return false;
	return true;
}

static void fill(struct mlcc_pcc_config *c, const u32 *values)
{
	c->rp.line = MLCC_PCC_LINE;
	c->rp.ai = values[MLCC_PCC_AI] << MLCC_PCC_MORE_SHIFT;
	c->rp.hai = values[MLCC_PCC_HAI] << MLCC_PCC_MORE_SHIFT;
	c->rp.min_rate = values[MLCC_PCC_MIN_RATE] << MLCC_PCC_MORE_SHIFT;
	c->rp.first_rate = values[MLCC_PCC_FIRST_RATE] << MLCC_PCC_MORE_SHIFT;
	c->rp.time_ns = values[MLCC_PCC_TIME];
	c->rp.bytes = values[MLCC_PCC_BYTES];
	c->rp.alpha_ns = values[MLCC_PCC_ALPHA_TIME];
	c->rp.decrease_ns = values[MLCC_PCC_DECREASE_TIME];
	c->rp.g = values[MLCC_PCC_G];
	c->rp.alpha_init = values[MLCC_PCC_ALPHA_INIT];
	c->rp.decrease_max = values[MLCC_PCC_DECREASE_MAX];
	c->rp.threshold = values[MLCC_PCC_THRESHOLD];
	c->rp.stages = values[MLCC_PCC_STAGES];
	c->rp.flags = values[MLCC_PCC_FLAGS];
	c->probe_ns = values[MLCC_PCC_PROBE_TIME];
	c->rtt_over = values[MLCC_PCC_RTT_OVER];
}

/* Without probes nobody would hear of congestion. */
static bool valid(const struct mlcc_pcc_config *c)
{
	return dcqcn_param_valid(&c->rp) && (c->probe_ns || !c->rtt_over);
}

/*
 * Flows go on with the configuration that they have begun to read; the other one is filled.  An
 * event takes less than a microsecond, and the host sets parameters far more rarely than that.
 */
bool mlcc_pcc_set(struct mlcc_pcc_nic *nic, u32 port, u32 slot, const u32 *values)
{
	struct mlcc_pcc_config *next;
	struct mlcc_pcc_slot *s;

	if (port >= MLCC_PCC_PORTS || slot >= MLCC_PCC_SLOTS || !within_limits(values))
		return false;
	s = &nic->slot[port][slot];
	next = &s->config[s->active == s->config];
	fill(next, values);
	if (!valid(next))
		return false;
	__atomic_store_n(&s->active, next, __ATOMIC_RELEASE);
	return true;
}

void mlcc_pcc_init(struct mlcc_pcc_nic *nic)
{
	u32 values[MLCC_PCC_PARAMS];

	__builtin_memset(nic, 0, sizeof(*nic));
	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++)
		values[i] = mlcc_pcc_params[i].value;
	for (u32 port = 0; port < MLCC_PCC_PORTS; port++)
		for (u32 slot = 0; slot < MLCC_PCC_SLOTS; slot++)
			mlcc_pcc_set(nic, port, slot, values);
}
