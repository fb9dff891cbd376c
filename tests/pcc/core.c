// SPDX-License-Identifier: GPL-2.0
/*
 * Events for the reaction point alone, without tracker and slot: what does rdma/dcqcn/ itself cost?
 * Events come a few microseconds apart, every 64th after a silence.  "run" counts the instructions.
 */
#include "../../include/mlcc/profiles.h"
#include "../../rdma/dcqcn/job.h"
#include "../dcqcn/variants.h"
#include "../unit/random.h"
#include "bare.h"

#ifndef EVENTS
#define EVENTS	2000
#endif
#define LINE	100000000U	/* 100 Gb/s in kb/s */

static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;

static MLCC_OUTLINE void core_sent(struct mlcc_rp *rp, const struct mlcc_rp_param *c, u32 p,
				   u32 now, u32 bytes)
{
	struct mlcc_rp_gain gain = mlcc_rp_gain(profiles, p, MLCC_RP_OWN_LINE);

	mlcc_rp_sent(rp, c, &gain, now, bytes);
}

static MLCC_OUTLINE void core_cnp(struct mlcc_rp *rp, const struct mlcc_rp_param *c, u32 p,
				  u32 now)
{
	struct mlcc_rp_gain gain = mlcc_rp_gain(profiles, p, MLCC_RP_OWN_LINE);

	mlcc_rp_cnp(rp, c, &gain, now);
}

int main(void)
{
	struct mlcc_rp_param c;
	u64 seed = 1;
	struct mlcc_rp rp;
	u32 now = 0;

	mlcc_rp_param_init(&c, MLCC_RP_PAPER, LINE, LINE / 40000);
	mlcc_rp_init(&rp, &c, now);
	for (u32 i = 1; i <= EVENTS; i++) {
		u64 r = random_u64(&seed);

		now += i % 64 ? r & 0x3fff : (r & 0xffffffff) >> (r >> 60);
		if (r >> 32 & 15)
			core_sent(&rp, &c, r >> 48, now, r >> 40 & 0xffff);
		else
			core_cnp(&rp, &c, r >> 48, now);
	}
	return rp.rc == 0;
}
