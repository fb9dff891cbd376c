// SPDX-License-Identifier: GPL-2.0
/*
 * Training jobs that share a RoCE link, simulated packet by packet with rdma/dcqcn/: the mean
 * slowdown of an iteration against the job alone on the link, after the first quarter of them, and
 * of how many a second mlcc-dcqcn follow would have written; with the 95 % interval over seeds.
 *
 *	jobs [-v VARIANT] [-r GBIT] [-t T_US] [-n ITERATIONS] [-s SEEDS] [-k KMIN,KMAX,PMAX]
 *	     [-p FLOOR,SLOPE,SHAPE,HOLD,RESTART] [-l LONGER] [-o OVER_US]
 *
 * OVER_US: by round trips instead of marks, a probe each 100 us.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"
#include "../../userspace/mlcc-dcqcn/drive.h"

#define MS		1e6
#define MBPS		1000		/* rates in kb/s */
#define PACKET		4096
#define DELAY		2000		/* ns */
#define PROBE		100000		/* ns, the firmware's default */
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
	double gbit, time_us, kmin, kmax, pmax, longer, over_us;
	struct mlcc_profile custom;
	bool has_custom;
} opt = {
	.variant = MLCC_RP_PAPER, .iterations = 24, .seeds = 2, .gbit = 50, .time_us = 125,
	.longer = 1,
};

/* What makes one row another. */
struct way {
	const char *name;
	const struct mlcc_profile *profile;	/* NULL: plain */
	enum way_by { BY_RP, BY_AI, BY_TIME } by;	/* what the profile drives */
};

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
	struct sim_flow *f;

	mlcc_rp_param_init(&c, opt.variant, opt.gbit * 1e3 * MBPS, MBPS);
	if (opt.time_us)
		c.time_ns = opt.time_us * 1e3;
	f = sim_add(s, &c, start);
	f->interval = mlcc_np_interval(opt.variant, &c);
	f->rtt_over = opt.over_us * 1e3;
	f->probe_ns = PROBE;
}

/* mlcc-dcqcn follow at the flow's NIC, whose port no other flow uses. */
struct follow {
	struct drive drive;
	const struct mlcc_profile *profile;
	u32 *knob;			/* of the flow's parameters */
	u32 unit;			/* of the drive's values, in the knob's */
	double cadence, next;		/* ns */
	u32 is, written, ends[2];
	u64 writes;
};

static void write_gain(struct follow *w, u32 gain)
{
	if (!drive_moves(&w->drive, w->is, w->written, gain, w->ends))
		return;
	w->is = drive_value(&w->drive, gain);
	w->written = gain;
	*w->knob = w->is * w->unit;
	w->writes++;
}

/* The look that was due last; while the job computed there was one that saw no phase. */
static void follow(struct sim_flow *f, u32 p)
{
	struct follow *w = f->follow_arg;
	double now = f->sim->now;

	if (now < w->next)
		return;
	if (now > w->next + w->cadence)
		write_gain(w, MLCC_ONE);
	write_gain(w, p == MLCC_NEUTRAL ? MLCC_ONE : mlcc_grow(w->profile, p));
	w->next += w->cadence * (1 + floor((now - w->next) / w->cadence));
}

/* With mlcc-dcqcn's defaults. */
static void follow_init(struct follow *w, struct sim_flow *f, const struct way *way)
{
	bool time = way->by == BY_TIME;

	*w = (struct follow) {
		.drive = {
			.divide = time, .cap = 2 * MLCC_ONE, .min = 1, .max = UINT32_MAX,
			.hysteresis = MLCC_ONE / 4,
		},
		.profile = way->profile, .knob = time ? &f->param.time_ns : &f->param.ai,
		.unit = time ? 1000 : MBPS, .cadence = 10 * MS, .written = MLCC_ONE,
	};
	w->is = *w->knob / w->unit;
	w->drive.base = w->is;
	drive_range(&w->drive, w->profile, &w->ends[0], &w->ends[1]);
	f->follow = follow;
	f->follow_arg = w;
}

static double slowdown(const struct sim_flow *f, const struct work *w)
{
	u32 first = f->done / 4;
	double sum = 0;

	for (u32 i = first; i < f->done; i++)
		sum += f->iterations[i];
	return sum / (f->done - first) / (w->send + w->compute) / MS / opt.longer;
}

struct sum {
	double of, of_squares, writes, bulk;
};

/* Adds the mean of the jobs' slowdowns. */
static void run(const struct scenario *sc, const struct way *way, u32 seed, struct sum *sum)
{
	struct follow follows[LENGTH(sc->job)];
	double mean = 0;
	struct sim s;
	u32 jobs;

	link_up(&s, seed);
	for (jobs = 0; jobs < LENGTH(sc->job) && sc->job[jobs].send; jobs++) {
		const struct work *w = &sc->job[jobs];
		struct sim_flow *f = &s.flow[jobs];

		add_flow(&s, jobs * STAGGER);
		sim_job(f, way->by ? NULL : way->profile, w->send * MS * opt.longer * s.link.rate,
			w->compute * MS * opt.longer, sc->noise, opt.iterations);
		if (way->by)
			follow_init(&follows[jobs], f, way);
	}
	if (sc->bulk)
		add_flow(&s, 0);
	sim_run(&s, sc->bulk ? opt.iterations * 200 * MS * opt.longer : INFINITY);
	for (u32 i = 0; i < jobs; i++) {
		mean += slowdown(&s.flow[i], &sc->job[i]) / jobs;
		sum->writes += way->by ? follows[i].writes / s.now * 1e9 / jobs : 0;
		free(s.flow[i].iterations);
	}
	sum->of += mean;
	sum->of_squares += mean * mean;
	sum->bulk += s.flow[jobs].bytes / s.now / s.link.rate;
}

static void row(const struct way *way)
{
	double writes = 0;

	printf("%-12s", way->name);
	for (size_t i = 0; i < LENGTH(scenarios); i++) {
		struct sum sum = { };

		for (u32 seed = 1; seed <= opt.seeds; seed++)
			run(&scenarios[i], way, seed, &sum);
		printf("%10.3f", sum.of / opt.seeds);
		if (opt.seeds > 2)
			printf(" +-%.3f", sim_interval(sum.of, sum.of_squares, opt.seeds));
		if (scenarios[i].bulk)
			printf(" (%.2f)", sum.bulk / opt.seeds);
		writes = fmax(writes, sum.writes / opt.seeds);
		fflush(stdout);
	}
	if (way->by)
		printf(" %.0f writes/s", writes);
	putchar('\n');
}

static void table(void)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = MLCC_PROFILE_NAMES;

	printf("%-12s", "");
	for (size_t i = 0; i < LENGTH(scenarios); i++)
		printf("%*s", opt.seeds > 2 ? 18 : 10, scenarios[i].name);
	printf(" (its part)\n");
	row(&(struct way) { .name = "plain" });
	for (size_t i = 0; i < LENGTH(profiles); i++)
		row(&(struct way) { names[i], &profiles[i], BY_RP });
	row(&(struct way) { "follow ai", &profiles[MLCC_PROFILE_HOTNETS22], BY_AI });
	row(&(struct way) { "follow time", &profiles[MLCC_PROFILE_HOTNETS22], BY_TIME });
	if (opt.has_custom)
		row(&(struct way) { "custom", &opt.custom, BY_RP });
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
	case 'l':
		return sscanf(optarg, "%lf", &opt.longer) == 1 && opt.longer > 0;
	case 'o':
		return sscanf(optarg, "%lf", &opt.over_us) == 1 && opt.over_us > 0;
	}
	return false;
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "v:r:t:n:s:k:p:l:o:")) != -1) {
		if (!parse(option)) {
			fprintf(stderr,
				"usage: jobs [-v paper|mlx5|ns3|hpcc] [-r GBIT] [-t T_US] [-n ITERATIONS]\n"
				"            [-s SEEDS] [-k KMIN,KMAX,PMAX] [-p FLOOR,SLOPE,SHAPE,HOLD,RESTART]\n"
				"            [-l LONGER] [-o OVER_US]\n");
			return 2;
		}
	}
	table();
	return 0;
}
