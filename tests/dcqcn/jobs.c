// SPDX-License-Identifier: GPL-2.0
/*
 * Training jobs that share a RoCE link, simulated packet by packet with rdma/dcqcn/: the mean
 * slowdown of an iteration against the job alone on the link, after the first quarter of them.
 *
 *	jobs [-v VARIANT] [-r GBIT] [-t T_US] [-n ITERATIONS] [-s SEEDS] [-k KMIN,KMAX,PMAX]
 *	     [-p FLOOR,SLOPE,SHAPE,HOLD,RESTART]
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

#define MS		1e6
#define MBPS		1000		/* rates in kb/s */
#define PACKET		4096
#define DELAY		2000		/* ns */
#define STAGGER		(MS / 10)	/* between the starts of two jobs */
#define LENGTH(a)	(sizeof(a) / sizeof(*(a)))

struct work {
	double send, compute;		/* ms, alone on the link */
};

static const struct scenario {
	const char *name;
	struct work job[4];
	double noise;			/* relative, of the compute time */
	bool bulk;			/* beside a flow that never ends, under plain DCQCN */
} scenarios[] = {
	{ "alone", { { 48, 52 } }, .02, false },
	{ "2 x 48 %", { { 48, 52 }, { 48, 52 } }, .02, false },
	{ "3 x 32 %", { { 32, 68 }, { 32, 68 }, { 32, 68 } }, .02, false },
	{ "4 x 24 %", { { 24, 76 }, { 24, 76 }, { 24, 76 }, { 24, 76 } }, .02, false },
	{ "40+20+30", { { 40, 60 }, { 20, 80 }, { 30, 70 } }, .02, false },
	{ "noise 10", { { 32, 68 }, { 32, 68 }, { 32, 68 } }, .10, false },
	{ "100/120", { { 45, 55 }, { 46, 74 } }, .02, false },
	{ "2 x 65 %", { { 65, 35 }, { 65, 35 } }, .02, false },
	{ "bulk", { { 40, 60 } }, .02, true },
};

/* What the command line says. */
static struct {
	u32 variant, iterations, seeds;
	double gbit, time_us, kmin, kmax, pmax;
	struct mlcc_profile custom;
	bool has_custom;
} opt = { .variant = MLCC_RP_PAPER, .iterations = 24, .seeds = 2, .gbit = 50, .time_us = 125 };

/* Marks as HPCC's simulations do, which scale with the link. */
static void link_up(struct sim *s, u32 seed)
{
	*s = (struct sim) {
		.link = {
			.rate = opt.gbit / 8, .delay = DELAY,
			.kmin = opt.kmin ? opt.kmin : 100e3 * opt.gbit / 25,
			.kmax = opt.kmax ? opt.kmax : 400e3 * opt.gbit / 25,
			.pmax = opt.pmax ? opt.pmax : .2,
		},
		.packet = PACKET, .seed = seed,
	};
}

/* An RP that paces the CNPs itself is sent one for each mark. */
static void add_flow(struct sim *s, double start)
{
	struct mlcc_rp_param c;

	mlcc_rp_param_init(&c, opt.variant, opt.gbit * 1e3 * MBPS, MBPS);
	if (opt.time_us)
		c.time_ns = opt.time_us * 1e3;
	sim_add(s, &c, start)->interval = c.decrease_ns ? 0 : MLCC_NP_INTERVAL_NS;
}

static double slowdown(const struct sim_flow *f, const struct work *w)
{
	u32 first = f->done / 4;
	double sum = 0;

	for (u32 i = first; i < f->done; i++)
		sum += f->iterations[i];
	return sum / (f->done - first) / (w->send + w->compute) / MS;
}

/* @profile NULL: plain.  Returns the mean of the jobs' slowdowns; @bulk: the part of the link. */
static double run(const struct scenario *sc, const struct mlcc_profile *profile, u32 seed,
		  double *bulk)
{
	double sum = 0;
	struct sim s;
	u32 jobs;

	link_up(&s, seed);
	for (jobs = 0; jobs < LENGTH(sc->job) && sc->job[jobs].send; jobs++) {
		const struct work *w = &sc->job[jobs];

		add_flow(&s, jobs * STAGGER);
		sim_job(&s.flow[jobs], profile, w->send * MS * s.link.rate, w->compute * MS,
			sc->noise, opt.iterations);
	}
	if (sc->bulk)
		add_flow(&s, 0);
	sim_run(&s, sc->bulk ? opt.iterations * 200 * MS : INFINITY);
	for (u32 i = 0; i < jobs; i++) {
		sum += slowdown(&s.flow[i], &sc->job[i]);
		free(s.flow[i].iterations);
	}
	*bulk += s.flow[jobs].bytes / s.now / s.link.rate / opt.seeds;
	return sum / jobs;
}

static void row(const char *name, const struct mlcc_profile *profile)
{
	printf("%-12s", name);
	for (size_t i = 0; i < LENGTH(scenarios); i++) {
		double mean = 0, bulk = 0;

		for (u32 seed = 1; seed <= opt.seeds; seed++)
			mean += run(&scenarios[i], profile, seed, &bulk) / opt.seeds;
		printf("%10.3f", mean);
		if (scenarios[i].bulk)
			printf(" (%.2f)", bulk);
		fflush(stdout);
	}
	putchar('\n');
}

static void table(void)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = MLCC_PROFILE_NAMES;

	printf("%-12s", "");
	for (size_t i = 0; i < LENGTH(scenarios); i++)
		printf("%10s", scenarios[i].name);
	printf(" (its part)\n");
	row("plain", NULL);
	for (size_t i = 0; i < LENGTH(profiles); i++)
		row(names[i], &profiles[i]);
	if (opt.has_custom)
		row("custom", &opt.custom);
}

static bool parse_variant(const char *text)
{
	static const char *const names[] = MLCC_RP_VARIANT_NAMES;

	for (u32 v = 0; v < MLCC_RP_VARIANTS; v++) {
		if (!strcmp(text, names[v])) {
			opt.variant = v;
			return true;
		}
	}
	return false;
}

static bool parse_profile(const char *text)
{
	double floor, slope, hold;
	u32 shape, restart;

	if (sscanf(text, "%lf,%lf,%u,%lf,%u", &floor, &slope, &shape, &hold, &restart) != 5)
		return false;
	opt.custom = (struct mlcc_profile) {
		.floor = floor * MLCC_ONE, .slope = slope * MLCC_ONE, .shape = shape,
		.hold = hold * MLCC_ONE, .restart = restart,
	};
	opt.has_custom = true;
	return shape >= 1 && shape <= MLCC_SHAPE_MAX && hold >= 0 && hold <= 1;
}

static bool parse(int option)
{
	switch (option) {
	case 'v':
		return parse_variant(optarg);
	case 'r':
		return sscanf(optarg, "%lf", &opt.gbit) == 1 && opt.gbit >= 1 && opt.gbit <= 800;
	case 't':
		return sscanf(optarg, "%lf", &opt.time_us) == 1 && opt.time_us >= 1;
	case 'n':
		return sscanf(optarg, "%u", &opt.iterations) == 1 && opt.iterations >= 4;
	case 's':
		return sscanf(optarg, "%u", &opt.seeds) == 1 && opt.seeds;
	case 'k':
		return sscanf(optarg, "%lf,%lf,%lf", &opt.kmin, &opt.kmax, &opt.pmax) == 3;
	case 'p':
		return parse_profile(optarg);
	}
	return false;
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "v:r:t:n:s:k:p:")) != -1) {
		if (!parse(option)) {
			fprintf(stderr,
				"usage: jobs [-v paper|mlx5|ns3|hpcc] [-r GBIT] [-t T_US] [-n ITERATIONS]\n"
				"            [-s SEEDS] [-k KMIN,KMAX,PMAX] [-p FLOOR,SLOPE,SHAPE,HOLD,RESTART]\n");
			return 2;
		}
	}
	table();
	return 0;
}
