// SPDX-License-Identifier: GPL-2.0
/*
 * What mlcc-lab's verbs scenarios measure over soft-RoCE, simulated packet by packet: jobs of two
 * workers whose ring all-reduce takes a link in each direction.  A worker's rate goes by its own
 * progress, and an iteration ends when both have sent all.
 *
 *	worker ---- link 1 ---> worker		all jobs' first workers on one side,
 *	       <--- link 2 ----			their second ones on the other
 *
 * Prints the mean slowdown of an iteration against the job alone, of all iterations and without
 * the first quarter, and how busy the links were.
 *
 *	ring [SEEDS]
 */
#include <stdio.h>

#include "sim.h"

#define MS		1e6
#define MBIT		60
#define PACKET		1058		/* of 1 KB, with its headers */
#define DELAY		(0.3 * MS)	/* of emulated hosts, one way */
#define TIMER		2000000		/* ns: T, alpha's period and the CNPs' */
#define SEND		284		/* ms, alone */
#define NOISE		.02
#define STAGGER		(MS / 10)
#define JOBS_MAX	3
#define ITERATIONS	20
#define LENGTH(a)	(sizeof(a) / sizeof(*(a)))

static const struct scenario {
	const char *name;
	u32 jobs;
	double compute;			/* ms */
} scenarios[] = {
	{ "verbs-two", 2, 300 },
	{ "verbs-three", 3, 610 },
	{ "verbs-incompatible", 2, 150 },
};

struct result {
	double all, late, busy;
};

static void link_up(struct sim *s, u32 seed)
{
	*s = (struct sim) {
		.link = {
			.rate = MBIT / 8e3, .delay = DELAY, .kmin = 15e3, .kmax = 60e3, .pmax = .1,
			.weight = 1. / 32,	/* what tc makes of the lab's burst */
		},
		.packet = PACKET, .seed = seed,
	};
}

/* As the driver's defaults, and what the lab sets. */
static struct mlcc_rp_param soft_roce(void)
{
	return (struct mlcc_rp_param) {
		.line = MBIT * 1000, .min_rate = 1000, .ai = 1000, .hai = 1000,
		.time_ns = TIMER, .alpha_ns = TIMER, .g = MLCC_ONE / 64,
		.alpha_init = MLCC_ONE - MLCC_ONE / 1024, .cut_max = MLCC_ONE / 2, .threshold = 5,
		.flags = MLCC_RP_CLAMP | MLCC_RP_CLAMP_TIME | MLCC_RP_ALPHA_ANEW,
	};
}

static void add_job(struct sim links[2], u32 job, const struct scenario *sc,
		    const struct mlcc_profile *profile)
{
	struct mlcc_rp_param c = soft_roce();

	for (u32 i = 0; i < 2; i++) {
		struct sim_flow *f = sim_add(&links[i], &c, job * STAGGER);

		f->interval = TIMER;
		f->peer = &links[!i].flow[job];
		sim_job(f, profile, SEND * MS * links[i].link.rate, sc->compute * MS, NOISE,
			ITERATIONS);
	}
}

static void add_up(const struct sim links[2], const struct scenario *sc, struct result *r)
{
	double alone = (SEND + sc->compute) * MS;

	for (u32 j = 0; j < sc->jobs; j++) {
		const struct sim_flow *f = &links[0].flow[j];

		for (u32 i = 0; i < ITERATIONS; i++) {
			double slowdown = f->iterations[i] / alone;

			r->all += slowdown / ITERATIONS / sc->jobs;
			if (i >= ITERATIONS / 4)
				r->late += slowdown / (ITERATIONS - ITERATIONS / 4) / sc->jobs;
		}
	}
	for (u32 i = 0; i < 2; i++)
		r->busy += links[i].link.busy / links[i].link.rate / links[i].now / 2;
}

/* @profile NULL: plain DCQCN. */
static void row(const char *name, const struct mlcc_profile *profile, u32 seeds)
{
	printf("%-12s", name);
	for (size_t i = 0; i < LENGTH(scenarios); i++) {
		struct result r = { };

		for (u32 seed = 1; seed <= seeds; seed++) {
			static struct sim links[2];

			link_up(&links[0], seed);
			link_up(&links[1], seed + seeds);
			for (u32 j = 0; j < scenarios[i].jobs; j++)
				add_job(links, j, &scenarios[i], profile);
			sim_run_links(links, 2, INFINITY);
			add_up(links, &scenarios[i], &r);
			for (u32 j = 0; j < 2 * scenarios[i].jobs; j++)
				free(links[j & 1].flow[j / 2].iterations);
		}
		printf("  %6.3f %6.3f (%.2f)", r.all / seeds, r.late / seeds, r.busy / seeds);
		fflush(stdout);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = MLCC_PROFILE_NAMES;
	u32 seeds = 10;

	if (argc > 2 || (argc == 2 && (sscanf(argv[1], "%u", &seeds) != 1 || !seeds))) {
		fprintf(stderr, "usage: ring [SEEDS]\n");
		return 2;
	}
	printf("%-12s", "");
	for (size_t i = 0; i < LENGTH(scenarios); i++)
		printf("  %-20s", scenarios[i].name);
	printf("  (all, late, busy)\n");
	row("plain", NULL, seeds);
	for (size_t i = 0; i < LENGTH(profiles); i++)
		row(names[i], &profiles[i], seeds);
	return 0;
}
