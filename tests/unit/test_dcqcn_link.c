// SPDX-License-Identifier: GPL-2.0
/* Flows of rdma/dcqcn/ on one simulated link (tests/dcqcn/sim.h): what a congestion control has to do. */
#include "../dcqcn/sim.h"
#include "tap.h"

#define MBPS	1000U			/* rates in kb/s */
#define PACKET	1000.0
#define MS	1e6

/* The paper's marking. */
static void link_up(struct sim *s, double gbit)
{
	*s = (struct sim) {
		.link = {
			.rate = gbit / 8, .delay = 1000, .kmin = 5e3, .kmax = 200e3,
			.pmax = .01,
		},
		.packet = PACKET, .seed = 1,
	};
}

static double jain(const struct sim *s)
{
	double sum = 0, squares = 0;

	for (u32 i = 0; i < s->flows; i++) {
		sum += s->flow[i].bytes;
		squares += s->flow[i].bytes * s->flow[i].bytes;
	}
	return sum * sum / squares / s->flows;
}

/* Plain DCQCN shares a link among equal flows, and fills it, and keeps the queue short. */
TEST(equal_flows_share)
{
	struct dcqcn_param c;

	dcqcn_param_init(&c, DCQCN_PAPER, 40000 * MBPS, MBPS);
	for (u32 flows = 2; flows <= 4; flows += 2) {
		struct sim s;

		link_up(&s, 40);
		for (u32 i = 0; i < flows; i++)
			sim_add(&s, &c, i * 500);
		sim_run(&s, 400 * MS);
		CHECK(jain(&s) >= .95, "%u flows: Jain %.3f", flows, jain(&s));
		CHECK(s.link.busy >= .9 * s.link.rate * s.now, "%u flows: %.0f %% busy", flows,
		      100 * s.link.busy / s.link.rate / s.now);
		CHECK(s.link.queue_sum / s.link.packets < s.link.kmax / 2, "%u flows: queue %.0f",
		      flows, s.link.queue_sum / s.link.packets);
	}
}

/* Mean iteration of two jobs that fit, in terms of what it takes alone. */
static double two_jobs(const struct mlcc_profile *profile)
{
	struct dcqcn_param c;
	double sum = 0;
	struct sim s;

	link_up(&s, 40);
	s.packet = 4096;
	dcqcn_param_init(&c, DCQCN_PAPER, 40000 * MBPS, MBPS);
	for (u32 i = 0; i < 2; i++) {
		sim_add(&s, &c, i * MS / 10);
		sim_job(&s.flow[i], profile, 9 * MS * s.link.rate, 11 * MS, .02, 40);
	}
	sim_run(&s, INFINITY);
	for (u32 i = 0; i < 2; i++) {
		for (u32 n = 10; n < 40; n++)
			sum += s.flow[i].iterations[n] / 60 / (20 * MS);
		free(s.flow[i].iterations);
	}
	return sum;
}

TEST(jobs_that_fit_take_turns)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	double plain = two_jobs(NULL), ours = two_jobs(&profiles[MLCC_PROFILE_INTERLEAVE]);

	printf("# plain %.3f, interleave %.3f\n", plain, ours);
	CHECK(ours < 1.05, "%.3f of isolated", ours);
	CHECK(plain > 1.2 * ours, "plain DCQCN %.3f, with the rule %.3f", plain, ours);
}

TAP_MAIN
