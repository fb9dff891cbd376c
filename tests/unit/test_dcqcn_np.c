// SPDX-License-Identifier: GPL-2.0
/*
 * The notification points of rdma/dcqcn/: when a mark is answered with a CNP.
 */
#include <string.h>

#include "../../rdma/dcqcn/np.h"
#include "../../rdma/dcqcn/tmdml.h"
#include "random.h"
#include "tap.h"

#define US		1000U
#define INTERVAL	(50 * US)
#define PACKET		1024U

static const struct mlcc_tmdml_param param = {
	.interval = INTERVAL, .every = MLCC_TMDML_EVERY, .spare = MLCC_TMDML_SPARE,
};

/* The first mark, and however dense they are and wherever the stamp wraps one in an interval. */
TEST(cnps_are_paced)
{
	for (u64 start = 0; start < 1ULL << 32; start += 99999999) {
		struct mlcc_np np = { 0 };
		u32 cnps = 0, now = start - 500 * US;

		CHECK(mlcc_np_marked(&np, INTERVAL, now), "the first at %u", now);
		for (u32 ns = 0; ns < 1000 * US; ns += 100)
			cnps += mlcc_np_marked(&np, INTERVAL, now + ns);
		CHECK(cnps == 1000 * US / INTERVAL - 1, "%u CNPs in 1 ms from %u on", cnps, now);
	}
}

/* Marks that two CPUs bring out of order are not two. */
TEST(a_mark_from_before_is_not_answered)
{
	struct mlcc_np np = { 0 };

	mlcc_np_marked(&np, INTERVAL, 100 * US);
	CHECK(!mlcc_np_marked(&np, INTERVAL, 100 * US - 1), "1 ns before the last");
	CHECK(!mlcc_np_marked(&np, INTERVAL, 101 * US), "the interval has begun anew");
	CHECK(mlcc_np_marked(&np, INTERVAL, 100 * US + INTERVAL), "after the interval");
}

/* Two flows of a job: @slow of every 16 packets are the second's.  Counts their CNPs. */
static void two_flows(struct mlcc_tmdml_group *g, struct mlcc_tmdml_flow f[2],
		      const struct mlcc_tmdml_param *c, u32 packets, u32 slow, u64 *now_us,
		      u32 cnps[2])
{
	for (u32 i = 0; i < packets; i++) {
		u32 who = i % 16 < slow;

		*now_us += 10;
		mlcc_tmdml_arrived(g, &f[who], c, PACKET, *now_us);
		cnps[who] += mlcc_tmdml_marked(g, &f[who], c, *now_us * 1000);
	}
}

TEST(a_flow_behind_is_spared)
{
	struct mlcc_tmdml_flow f[2] = { 0 };
	struct mlcc_tmdml_group g = { 0 };
	u32 cnps[2] = { 0 }, plain[2] = { 0 }, least;
	struct mlcc_tmdml_param none = param;
	u64 now = 1000000;

	two_flows(&g, f, &param, 16000, 4, &now, cnps);
	CHECK(f[1].received * 3 == f[0].received, "it has had %ju of %ju bytes", f[1].received,
	      f[0].received);
	none.spare = 0;
	g = (struct mlcc_tmdml_group) { 0 };
	memset(f, 0, sizeof(f));
	two_flows(&g, f, &none, 16000, 4, &now, plain);
	CHECK(cnps[0] == plain[0], "the flow ahead: %u, not %u", cnps[0], plain[0]);
	/* the limit: one in "spare" + 1, and those before the first average was known */
	least = plain[1] / (param.spare + 1);
	CHECK(cnps[1] >= least && cnps[1] <= least + 3, "the flow behind: %u of %u", cnps[1],
	      plain[1]);
}

/* What a flow had in the last phase does not count in the next one. */
TEST(phases_begin_anew)
{
	struct mlcc_tmdml_flow f[2] = { 0 };
	struct mlcc_tmdml_group g = { 0 };
	u32 cnps[2] = { 0 };
	u64 now = 1000000;

	for (u32 phase = 0; phase < 4; phase++) {
		u32 slow = phase ? 0 : 1;

		two_flows(&g, f, &param, 1600, slow ? 4 : 12, &now, cnps);
		CHECK(f[0].received + f[1].received == 1600 * PACKET, "phase %u: %ju bytes", phase,
		      f[0].received + f[1].received);
		CHECK(g.job.flows == 2, "phase %u: %u flows", phase, g.job.flows);
		CHECK(mlcc_tmdml_behind(&g, &f[slow]), "phase %u: not behind", phase);
		CHECK(!mlcc_tmdml_behind(&g, &f[!slow]), "phase %u: behind", phase);
		now += 50000;
	}
}

TAP_MAIN
