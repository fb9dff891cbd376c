/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What mlcc-lab's verbs scenarios measure over soft-RoCE, simulated packet by packet: jobs of two
 * workers whose ring all-reduce takes a link in each direction.  A worker's rate goes by its own
 * progress, and an iteration ends when both have sent all.  ACKs wait in the queue of the other
 * direction, CNPs do not.
 *
 *	worker ---- link 1 ---> worker		all jobs' first workers on one side,
 *	       <--- link 2 ----			their second ones on the other
 */
#ifndef MLCC_DCQCN_RING_H
#define MLCC_DCQCN_RING_H

#include "sim.h"

#define RING_MS		1e6
#define RING_MBIT	60
#define RING_TIMER	2000000		/* ns: T, alpha's period and the CNPs' */
#define RING_SEND	284		/* ms, alone */
#define RING_WINDOW	128		/* packets, of rxe */
#define RING_ITERATIONS	20
#define RING_EARLY	5		/* of them, in which jobs learn and slide apart */

struct ring {
	const char *name;
	u32 jobs;
	double compute;			/* ms */
};

#define RINGS {								\
	{ "verbs-two", 2, 300 },					\
	{ "verbs-three", 3, 610 },					\
	{ "verbs-incompatible", 2, 150 },				\
}

/* Means over jobs and iterations, in those of a job alone. */
struct ring_result {
	double all, late;		/* late: without the early ones */
	double busy;			/* part of the time that a link was */
};

/* The driver's defaults; the lab sets the line only. */
static inline struct mlcc_rp_param ring_param(void)
{
	return (struct mlcc_rp_param) {
		.line = RING_MBIT * 1000, .min_rate = 1000, .ai = 1000, .hai = 1000,
		.time_ns = RING_TIMER, .alpha_ns = RING_TIMER, .g = MLCC_ONE / 64,
		.alpha_init = MLCC_ONE - MLCC_ONE / 1024, .decrease_max = MLCC_ONE / 2,
		.threshold = 5,
		.flags = MLCC_RP_CLAMP | MLCC_RP_CLAMP_TIME | MLCC_RP_ALPHA_ANEW,
	};
}

static inline void ring_link_up(struct sim *s, u32 seed)
{
	*s = (struct sim) {
		.link = {
			.rate = RING_MBIT / 8e3, .kmin = 15e3, .kmax = 60e3, .pmax = .1,
			.delay = .3 * RING_MS,	/* of emulated hosts, one way */
			.weight = 1. / 32,	/* what tc makes of the lab's burst */
		},
		.packet = 1058,			/* of 1 KB, with its headers */
		.seed = seed,
	};
}

static inline void ring_add(struct sim links[2], u32 job, const struct ring *ring,
			    const struct mlcc_profile *profile)
{
	struct mlcc_rp_param c = ring_param();

	for (u32 i = 0; i < 2; i++) {
		struct sim_flow *f = sim_add(&links[i], &c, job * RING_MS / 10);

		f->interval = RING_TIMER;
		f->window = RING_WINDOW;
		f->peer = &links[!i].flow[job];
		sim_job(f, profile, RING_SEND * RING_MS * links[i].link.rate,
			ring->compute * RING_MS, .02, RING_ITERATIONS);
	}
}

static inline void ring_add_up(struct sim links[2], const struct ring *ring, double part,
			       struct ring_result *r)
{
	double alone = (RING_SEND + ring->compute) * RING_MS;

	for (u32 j = 0; j < ring->jobs; j++) {
		const double *took = links[0].flow[j].iterations;

		for (u32 i = 0; i < RING_ITERATIONS; i++) {
			double slowdown = took[i] / alone * part / ring->jobs;

			r->all += slowdown / RING_ITERATIONS;
			if (i >= RING_EARLY)
				r->late += slowdown / (RING_ITERATIONS - RING_EARLY);
		}
	}
	for (u32 i = 0; i < 2; i++)
		r->busy += links[i].link.busy / links[i].link.rate / links[i].now * part / 2;
}

/* The mean of @seeds runs.  @profile NULL: plain DCQCN. */
static inline struct ring_result ring_run(const struct ring *ring,
					  const struct mlcc_profile *profile, u32 seeds)
{
	static struct sim links[2];
	struct ring_result r = { };

	for (u32 seed = 1; seed <= seeds; seed++) {
		ring_link_up(&links[0], seed);
		ring_link_up(&links[1], seed + seeds);
		links[0].back = &links[1];
		links[1].back = &links[0];
		for (u32 j = 0; j < ring->jobs; j++)
			ring_add(links, j, ring, profile);
		sim_run_links(links, 2, INFINITY);
		ring_add_up(links, ring, 1. / seeds, &r);
		for (u32 j = 0; j < 2 * ring->jobs; j++)
			free(links[j & 1].flow[j / 2].iterations);
	}
	return r;
}

#endif /* MLCC_DCQCN_RING_H */
