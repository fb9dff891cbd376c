/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parameters of implementations of DCQCN, for simulations and tests:
 *
 *	paper	Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM '15
 *	mlx5	what ConnectX NICs are shipped with, as far as mlxconfig shows it; the unit of the
 *		byte counter is not documented, so here it is off
 *	ns3	the simulator of the paper's first author, with its sample configuration
 *	rxe	soft-RoCE with rdma/rxe, as it is shipped: for links of 50 Mb/s to 1 Gb/s
 */
#ifndef MLCC_DCQCN_VARIANTS_H
#define MLCC_DCQCN_VARIANTS_H

#include "../../rdma/dcqcn/np.h"
#include "../../rdma/dcqcn/params.h"

enum dcqcn_variant {
	DCQCN_PAPER,
	DCQCN_MLX5,
	DCQCN_NS3,
	DCQCN_RXE,
	DCQCN_VARIANTS,
};

#define DCQCN_VARIANT_NAMES { "paper", "mlx5", "ns3", "rxe" }

#define MLCC_RXE_NS	2000000		/* T, alpha's period and the CNPs' */

static __always_inline void dcqcn_param_paper(struct dcqcn_param *c, u32 mbps)
{
	c->ai = 40 * mbps;
	c->hai = 200 * mbps;	/* not in the paper; ns3's */
	c->min_rate = 10 * mbps;
	c->time_ns = 55000;
	c->bytes = 10000000;
	c->alpha_ns = 55000;
	c->g = MLCC_ONE / 256;
	c->threshold = 5;
	c->stages = DCQCN_STAGES_PAPER;
	c->flags = DCQCN_CLAMP;
}

static __always_inline void dcqcn_param_mlx5(struct dcqcn_param *c, u32 mbps)
{
	c->ai = 5 * mbps;
	c->hai = 50 * mbps;
	c->min_rate = mbps;
	c->time_ns = 300000;
	c->alpha_ns = DCQCN_NS_MIN;
	c->decrease_ns = 4000;
	c->g = 5 * MLCC_ONE / 1024;
	c->threshold = 1;
	c->stages = DCQCN_STAGES_PAPER;
	c->flags = DCQCN_CLAMP_TIME | DCQCN_ALPHA_ANEW | DCQCN_ALPHA_EVERY;
}

static __always_inline void dcqcn_param_ns3(struct dcqcn_param *c, u32 mbps)
{
	dcqcn_param_paper(c, mbps);
	c->time_ns = 60000;
	c->bytes = 300000000;
	c->stages = DCQCN_STAGES_NS3;
	c->flags = DCQCN_CLAMP | DCQCN_ALPHA_FIRST | DCQCN_SHRINK;
}

static __always_inline void dcqcn_param_rxe(struct dcqcn_param *c, u32 mbps)
{
	c->ai = mbps;
	c->hai = mbps;
	c->min_rate = mbps;
	c->time_ns = MLCC_RXE_NS;
	c->alpha_ns = MLCC_RXE_NS;
	c->g = MLCC_ONE / 64;
	c->alpha_init = MLCC_ONE - MLCC_ONE / 1024;
	c->threshold = 5;
	c->stages = DCQCN_STAGES_PAPER;
	c->flags = DCQCN_CLAMP | DCQCN_CLAMP_TIME | DCQCN_ALPHA_ANEW;
}

/* A variant's parameters. @line: the port's rate, @mbps: 1 Mb/s, both in the carrier's unit. */
static __always_inline void dcqcn_param_init(struct dcqcn_param *c,
					     enum dcqcn_variant variant, u32 line, u32 mbps)
{
	*c = (struct dcqcn_param) {
		.line = line, .alpha_init = MLCC_ONE, .decrease_max = MLCC_ONE / 2,
	};
	switch (variant) {
	case DCQCN_MLX5:
		dcqcn_param_mlx5(c, mbps);
		break;
	case DCQCN_NS3:
		dcqcn_param_ns3(c, mbps);
		break;
	case DCQCN_RXE:
		dcqcn_param_rxe(c, mbps);
		break;
	default:
		dcqcn_param_paper(c, mbps);
	}
}

/* Of its NP, ns; 0 where the RP paces decreases itself: then each mark is answered. */
static __always_inline u32 mlcc_np_interval(enum dcqcn_variant variant,
					    const struct dcqcn_param *c)
{
	if (variant == DCQCN_RXE)
		return MLCC_RXE_NS;
	return c->decrease_ns ? 0 : MLCC_NP_INTERVAL_NS;
}

#endif /* MLCC_DCQCN_VARIANTS_H */
