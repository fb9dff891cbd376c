// SPDX-License-Identifier: GPL-2.0
/*
 * Networks drawn at random, simulated packet by packet: jobs under rdma/dcqcn/ with a profile,
 * against the same jobs under plain DCQCN.  Documentation/decisions.md has the protocol.
 *
 *	suite [-d DRAW] [-s SEEDS] [-t MS]
 *
 * A draw is a list of cells; a cell has a link (rate, T, parameters, where PFC begins), and jobs
 * (how many, from how many hosts, with how many flows of each, periods, noise).  All hosts send
 * through the link; a host's flows leave by one port, a packet of each in turn.  For each cell: the
 * mean slowdown of an iteration, plain and with the profile, after the first third; how many times
 * the latter is faster, with the 95 % interval over seeds that are the same for both.
 *
 * Hosts of a job tell their leader what they have sent every MS (1) milliseconds, and go by its answer
 * from the next time on (lead.h).  With 0 MS nobody tells.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIM_FLOWS	512

#include "sim.h"

#define MS		1e6
#define MBPS		1000		/* rates in kb/s */
#define PACKET		4096
#define DELAY		2000		/* ns */
#define JOBS		16
#define PERIOD		(40 * MS)
#define STAGGER		(MS / 10)	/* between the starts of two jobs */
#define WORSE		1.02		/* more than that is worse than plain */
#define LENGTH(a)	(sizeof(a) / sizeof(*(a)))
#define PICK(s, a)	((a)[random_u64(s) % LENGTH(a)])

struct cell {
	double gbit, time_us, load, noise, pause_us;
	u32 variant, jobs, hosts, flows;
	double period[JOBS];		/* of PERIOD */
	bool fits;			/* the jobs' phases can be apart */
};

enum class {
	ONE, FEW, MANY, HOSTS_8, HOSTS_64,
	CLASSES
};

#define CELLS		48
#define ITERATIONS	30

static struct {
	u32 draw, seeds;
	double tell_ms;
} opt = { .draw = 1, .seeds = 5, .tell_ms = 1 };

static struct cell draw(u64 *s)
{
	static const double gbits[] = { 25, 50, 100, 200, 400 }, times[] = { 55, 125, 300 };
	static const double loads[] = { .6, .8, .95, 1.3 }, noises[] = { .02, .09 };
	static const double pauses[] = { 0, 0, 200, 50 };
	static const u32 jobs[] = { 2, 3, 4, 8, 16 }, flows[] = { 1, 4, 8, 32 };
	static const u32 hosts[] = { 1, 1, 1, 8, 64 };
	struct cell c = {
		.gbit = PICK(s, gbits), .time_us = PICK(s, times), .load = PICK(s, loads),
		.noise = PICK(s, noises), .pause_us = PICK(s, pauses),
		.variant = random_u64(s) & 1 ? DCQCN_MLX5 : DCQCN_PAPER,
		.jobs = PICK(s, jobs), .hosts = PICK(s, hosts), .flows = PICK(s, flows),
	};
	bool unequal = random_u64(s) % 3 == 0;

	/* a host of an incast has one flow, and there is room for so many */
	if (c.hosts > 1)
		c.flows = 1;
	while (c.jobs * c.hosts * c.flows > SIM_FLOWS)
		c.jobs /= 2;
	for (u32 i = 0; i < JOBS; i++)
		c.period[i] = unequal ? .7 + .7 * (random_u64(s) % 1000) / 1000 : 1;
	c.fits = !unequal && c.load < 1;
	return c;
}

static void link_up(struct sim *s, const struct cell *c, u32 seed)
{
	*s = (struct sim) {
		.link = {
			.rate = c->gbit / 8, .delay = DELAY, .pmax = .2,
			/* as HPCC's simulations: they scale with the link */
			.kmin = 100e3 * c->gbit / 25, .kmax = 400e3 * c->gbit / 25,
			.pause = c->pause_us * 1000 * c->gbit / 8,
		},
		.packet = PACKET, .seed = seed, .tell = opt.tell_ms * MS, .tick = opt.tell_ms * MS,
	};
}

/* The job's flows: each host's one after the other, all of them a ring. */
static void add_job(struct sim *s, const struct cell *c, u32 job,
		    const struct mlcc_profile *profile)
{
	static struct mlcc_job leaders[JOBS];
	u32 first = s->flows, flows = c->hosts * c->flows;
	double send = c->load / c->jobs, period = c->period[job] * PERIOD;
	struct dcqcn_param param;
	struct sim_flow *host;

	dcqcn_param_init(&param, c->variant, c->gbit * 1e3 * MBPS, MBPS);
	param.time_ns = c->time_us * 1e3;
	leaders[job] = (struct mlcc_job) { };
	for (u32 i = 0; i < flows; i++) {
		struct sim_flow *f = sim_add(s, &param, job * STAGGER);

		f->interval = mlcc_np_interval(c->variant, &param);
		sim_job(f, profile, send * period * s->link.rate / flows, (1 - send) * period,
			c->noise, ITERATIONS);
		host = &s->flow[first + i / c->flows * c->flows];
		f->job = &host->own;
		f->led = c->hosts > 1;
		f->host.leader = f->led && opt.tell_ms ? &leaders[job] : NULL;
		f->port = c->flows > 1 ? &host->port_own : NULL;
		if (flows > 1)
			f->peer = &s->flow[first + (i + 1) % flows];
	}
}

/* The mean of the jobs' mean slowdowns. */
static double run(const struct cell *c, const struct mlcc_profile *profile, u32 seed)
{
	static struct sim s;
	u32 flows = c->hosts * c->flows, first = ITERATIONS / 3;
	double sum = 0;

	link_up(&s, c, seed);
	for (u32 job = 0; job < c->jobs; job++)
		add_job(&s, c, job, profile);
	sim_run(&s, INFINITY);
	for (u32 i = 0; i < s.flows; i++) {
		struct sim_flow *f = &s.flow[i];
		double alone = c->period[i / flows] * PERIOD * (ITERATIONS - first);

		for (u32 n = first; n < ITERATIONS; n++)
			sum += f->iterations[n] / alone / s.flows;
		free(f->iterations);
	}
	return sum;
}

static enum class class_of(const struct cell *c)
{
	if (c->hosts > 1)
		return c->hosts == 8 ? HOSTS_8 : HOSTS_64;
	return c->flows == 1 ? ONE : c->flows < 32 ? FEW : MANY;
}

struct verdict {
	u32 worse, cannot_tell, cells[CLASSES];
	double log_ratio[CLASSES], least;
};

static void judge(struct verdict *v, const struct cell *c, double ratio, double pm)
{
	v->worse += ratio + pm < 1 / WORSE;
	v->cannot_tell += ratio + pm >= 1 / WORSE && ratio - pm < 1 / WORSE;
	v->cells[class_of(c)]++;
	v->log_ratio[class_of(c)] += log(ratio);
	v->least = fmin(v->least, ratio);
}

static void row(u32 number, const struct cell *c, const struct mlcc_profile *profile,
		struct verdict *v)
{
	static const char *const names[] = DCQCN_VARIANT_NAMES;
	double plain = 0, ours = 0, sum = 0, squares = 0, ratio, pm;

	printf("%3u %4.0fG %-5s T%-3.0f %2u x %2u x %-2u load %-4.2f %-7s noise %.2f pause %3.0fus ",
	       number, c->gbit, names[c->variant], c->time_us, c->jobs, c->hosts, c->flows, c->load,
	       c->fits ? "fits" : c->load > 1 ? "too much" : "unequal", c->noise, c->pause_us);
	fflush(stdout);
	for (u32 seed = 1; seed <= opt.seeds; seed++) {
		double a = run(c, NULL, seed), b = run(c, profile, seed);

		plain += a / opt.seeds;
		ours += b / opt.seeds;
		sum += a / b;
		squares += a / b * a / b;
	}
	ratio = sum / opt.seeds;
	pm = sim_interval(sum, squares, opt.seeds);
	printf("%6.3f %6.3f  x %.3f +- %.3f%s\n", plain, ours, ratio, pm,
	       ratio + pm < 1 / WORSE ? " worse" : "");
	fflush(stdout);
	judge(v, c, ratio, pm);
}

static bool parse(int option)
{
	switch (option) {
	case 'd':
		return sscanf(optarg, "%u", &opt.draw) == 1;
	case 't':
		return sscanf(optarg, "%lf", &opt.tell_ms) == 1 && opt.tell_ms >= 0;
	case 's':
		return sscanf(optarg, "%u", &opt.seeds) == 1 && opt.seeds > 1;
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = { "1 flow", "4, 8", "32", "8 hosts", "64 hosts" };
	struct verdict v = { .least = INFINITY };
	int option;
	u64 seed;

	while ((option = getopt(argc, argv, "d:s:t:")) != -1) {
		if (!parse(option)) {
			fprintf(stderr, "usage: suite [-d DRAW] [-s SEEDS] [-t MS]\n");
			return 2;
		}
	}
	seed = opt.draw;
	for (u32 i = 0; i < CELLS; i++) {
		struct cell c = draw(&seed);

		row(i, &c, &profiles[MLCC_PROFILE_INTERLEAVE], &v);
	}
	for (u32 i = 0; i < CLASSES; i++)
		if (v.cells[i])
			printf("%-8s %2u cells, geometric mean %.3f\n", names[i], v.cells[i],
			       exp(v.log_ratio[i] / v.cells[i]));
	printf("%u worse than plain, %u cannot tell, least %.3f\n", v.worse, v.cannot_tell, v.least);
	return 0;
}
