// SPDX-License-Identifier: GPL-2.0
/*
 * Flows of rdma/dcqcn/ on one simulated link (tests/dcqcn/sim.h): against the fluid model of DCQCN,
 * and for what a congestion control has to do.
 *
 * The fluid model (Zhu et al., SIGCOMM '15, section 5), at rest, for packets that are marked with
 * probability p; R in packets per second, tau 50 us, tau' = K, A = R_T - R_C:
 *
 *	alpha = 1 - (1-p)^(tau' R)		c = 1 - (1-p)^(tau R)
 *	b(x) = 1 / ((1-p)^-x - 1)
 *	R alpha c / tau  =  A R p (b(B) + b(T R))
 *	A c / tau        =  R_AI R p ((1-p)^(F B) b(B) + (1-p)^(F T R) b(T R))
 */
#include "../dcqcn/sim.h"
#include "tap.h"

#define MBPS	1000U			/* rates in kb/s */
#define PACKET	1000.0
#define MS	1e6
#define TAU	50e-6

/* What the second equation lacks of the first, at @r packets per second. */
static double fluid_excess(const struct mlcc_rp_param *c, double p, double r)
{
	double keep = log1p(-p), t = c->time_ns * 1e-9, b = c->bytes / PACKET;
	double alpha = -expm1(keep * c->alpha_ns * 1e-9 * r), cnp = -expm1(keep * TAU * r);
	double by_bytes = 1 / expm1(-keep * b), by_time = 1 / expm1(-keep * t * r);
	double gap = alpha * cnp / (TAU * p * (by_bytes + by_time));
	double ai = c->ai * 1e3 / 8 / PACKET;

	return gap * cnp / TAU - ai * r * p * (exp(keep * c->threshold * b) * by_bytes +
					       exp(keep * c->threshold * t * r) * by_time);
}

/* Where it lacks nothing. */
static double fluid_rate(const struct mlcc_rp_param *c, double p)
{
	double low = 1, high = 1e9;

	for (u32 i = 0; i < 100; i++) {
		double mid = sqrt(low * high);

		if (fluid_excess(c, p, mid) > 0)
			high = mid;
		else
			low = mid;
	}
	return low;
}

/* How many times as fast as a flow under @a is one under @b, if both fill the line? */
static double fluid_ratio(const struct mlcc_rp_param *a, const struct mlcc_rp_param *b)
{
	double low = 1e-8, high = 0.5, line = a->line * 1e3 / 8 / PACKET;

	for (u32 i = 0; i < 100; i++) {
		double mid = sqrt(low * high);

		if (fluid_rate(a, mid) + fluid_rate(b, mid) > line)
			low = mid;
		else
			high = mid;
	}
	return fluid_rate(b, low) / fluid_rate(a, low);
}

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

/* The same, of two flows that are simulated. */
static double simulated_ratio(const struct mlcc_rp_param *a, const struct mlcc_rp_param *b)
{
	struct sim s;
	double before[2];

	link_up(&s, a->line / 1e6);
	sim_add(&s, a, 0);
	sim_add(&s, b, 500);
	sim_run(&s, 50 * MS);
	before[0] = s.flow[0].bytes;
	before[1] = s.flow[1].bytes;
	sim_run(&s, 450 * MS);
	return (s.flow[1].bytes - before[1]) / (s.flow[0].bytes - before[0]);
}

/*
 * The rule's two handles.  R_AI does about what the fluid model says, T more: a T that is halved
 * brings back what a decrease has taken in half the time, too, of which the model knows little.
 */
TEST(shares_follow_the_fluid_model)
{
	static const struct {
		const char *name;
		double ai, time, fluid, least, most;
	} cases[] = {
		{ "R_AI x 2", 2, 1, 1.17, 1.08, 1.28 },
		{ "R_AI x 4", 4, 1, 1.35, 1.20, 1.60 },
		{ "T / 2", 1, .5, 1.51, 1.50, 2.00 },
	};
	struct mlcc_rp_param a, b;

	mlcc_rp_param_init(&a, MLCC_RP_PAPER, 40000 * MBPS, MBPS);
	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double fluid, simulated;

		b = a;
		b.ai *= cases[i].ai;
		b.time_ns *= cases[i].time;
		fluid = fluid_ratio(&a, &b);
		simulated = simulated_ratio(&a, &b);
		printf("# %s: fluid %.3f, simulated %.3f\n", cases[i].name, fluid, simulated);
		CHECK(fabs(fluid - cases[i].fluid) < .01, "%s: fluid %.3f", cases[i].name, fluid);
		CHECK(simulated > cases[i].least && simulated < cases[i].most,
		      "%s: simulated %.3f", cases[i].name, simulated);
	}
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
	struct mlcc_rp_param c;

	mlcc_rp_param_init(&c, MLCC_RP_PAPER, 40000 * MBPS, MBPS);
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
	struct mlcc_rp_param c;
	double sum = 0;
	struct sim s;

	link_up(&s, 40);
	s.packet = 4096;
	mlcc_rp_param_init(&c, MLCC_RP_PAPER, 40000 * MBPS, MBPS);
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
