/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parameters of implementations of DCQCN, for simulations and tests:
 *
 *	paper	Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM '15
 *	mlx5	what ConnectX NICs are shipped with, as far as mlxconfig shows it; the unit of the
 *		byte counter is not documented, so here it is off
 *	ns3	the simulator of the paper's first author, with its sample configuration
 *	hpcc	the simulator of HPCC (SIGCOMM '19), "Mellanox's version": no byte counter, and only
 *		the time decides on the stage
 *	rxe	soft-RoCE with rdma/rxe, as it is shipped: for links of 50 Mb/s to 1 Gb/s
 */
#ifndef MLCC_DCQCN_VARIANTS_H
#define MLCC_DCQCN_VARIANTS_H

#include "../../rdma/dcqcn/np.h"
#include "../../rdma/dcqcn/params.h"

enum mlcc_rp_variant {
	MLCC_RP_PAPER,
	MLCC_RP_MLX5,
	MLCC_RP_NS3,
	MLCC_RP_HPCC,
	MLCC_RP_RXE,
	MLCC_RP_VARIANTS,
};

#define MLCC_RP_VARIANT_NAMES { "paper", "mlx5", "ns3", "hpcc", "rxe" }

#define MLCC_RXE_NS	2000000		/* T, alpha's period and the CNPs' */

static __always_inline void mlcc_rp_param_paper(struct mlcc_rp_param *c, u32 mbps)
{
	c->ai = 40 * mbps;
	c->hai = 200 * mbps;	/* not in the paper; ns3's */
	c->min_rate = 10 * mbps;
	c->time_ns = 55000;
	c->bytes = 10000000;
	c->alpha_ns = 55000;
	c->g = MLCC_ONE / 256;
	c->threshold = 5;
	c->stages = MLCC_RP_STAGES_PAPER;
	c->flags = MLCC_RP_CLAMP;
}

static __always_inline void mlcc_rp_param_mlx5(struct mlcc_rp_param *c, u32 mbps)
{
	c->ai = 5 * mbps;
	c->hai = 50 * mbps;
	c->min_rate = mbps;
	c->time_ns = 300000;
	c->alpha_ns = MLCC_RP_NS_MIN;
	c->decrease_ns = 4000;
	c->g = 5 * MLCC_ONE / 1024;
	c->threshold = 1;
	c->stages = MLCC_RP_STAGES_PAPER;
	c->flags = MLCC_RP_CLAMP_TIME | MLCC_RP_ALPHA_ANEW | MLCC_RP_ALPHA_EVERY;
}

static __always_inline void mlcc_rp_param_ns3(struct mlcc_rp_param *c, u32 mbps)
{
	mlcc_rp_param_paper(c, mbps);
	c->time_ns = 60000;
	c->bytes = 300000000;
	c->stages = MLCC_RP_STAGES_NS3;
	c->flags = MLCC_RP_CLAMP | MLCC_RP_ALPHA_FIRST | MLCC_RP_SHRINK;
}

static __always_inline void mlcc_rp_param_hpcc(struct mlcc_rp_param *c, u32 mbps)
{
	/* R_AI and R_HAI as for 25 Gb/s; it scales them with the port's rate */
	c->ai = 5 * mbps;
	c->hai = 50 * mbps;
	c->min_rate = 100 * mbps;
	c->time_ns = 300000;
	c->alpha_ns = MLCC_RP_NS_MIN;
	c->decrease_ns = 4000;
	c->g = MLCC_ONE / 256;
	c->threshold = 1;
	c->stages = MLCC_RP_STAGES_TIME;
	c->flags = MLCC_RP_CLAMP_TIME | MLCC_RP_ALPHA_EVERY;
}

static __always_inline void mlcc_rp_param_rxe(struct mlcc_rp_param *c, u32 mbps)
{
	c->ai = mbps;
	c->hai = mbps;
	c->min_rate = mbps;
	c->time_ns = MLCC_RXE_NS;
	c->alpha_ns = MLCC_RXE_NS;
	c->g = MLCC_ONE / 64;
	c->alpha_init = MLCC_ONE - MLCC_ONE / 1024;
	c->threshold = 5;
	c->stages = MLCC_RP_STAGES_PAPER;
	c->flags = MLCC_RP_CLAMP | MLCC_RP_CLAMP_TIME | MLCC_RP_ALPHA_ANEW;
}

/* A variant's parameters. @line: the port's rate, @mbps: 1 Mb/s, both in the carrier's unit. */
static __always_inline void mlcc_rp_param_init(struct mlcc_rp_param *c,
					       enum mlcc_rp_variant variant, u32 line, u32 mbps)
{
	*c = (struct mlcc_rp_param) {
		.line = line, .alpha_init = MLCC_ONE, .decrease_max = MLCC_ONE / 2,
	};
	switch (variant) {
	case MLCC_RP_MLX5:
		mlcc_rp_param_mlx5(c, mbps);
		break;
	case MLCC_RP_NS3:
		mlcc_rp_param_ns3(c, mbps);
		break;
	case MLCC_RP_HPCC:
		mlcc_rp_param_hpcc(c, mbps);
		break;
	case MLCC_RP_RXE:
		mlcc_rp_param_rxe(c, mbps);
		break;
	default:
		mlcc_rp_param_paper(c, mbps);
	}
}

/* Of its NP, ns; 0 where the RP paces decreases itself: then each mark is answered. */
static __always_inline u32 mlcc_np_interval(enum mlcc_rp_variant variant,
					    const struct mlcc_rp_param *c)
{
	if (variant == MLCC_RP_RXE)
		return MLCC_RXE_NS;
	return c->decrease_ns ? 0 : MLCC_NP_INTERVAL_NS;
}

#endif /* MLCC_DCQCN_VARIANTS_H */
