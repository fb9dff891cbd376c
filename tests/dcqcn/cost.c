// SPDX-License-Identifier: GPL-2.0
/*
 * What an event of rdma/dcqcn/ costs on this host, ns: packets, CNPs, and both as they come.
 */
#include <stdio.h>
#include <time.h>

#include "../../include/mlcc/profiles.h"
#include "../../rdma/dcqcn/job.h"
#include "../unit/random.h"
#include "variants.h"

#define EVENTS	4096
#define ROUNDS	2000
#define REPEATS	5
#define LINE	100000000U	/* 100 Gb/s in kb/s */

struct event {
	u32 after, bytes, p;
	bool cnp;
};

static struct event events[EVENTS];

/* @cnps: CNPs of 16 events. */
static void make_events(u32 cnps)
{
	u64 seed = 1;

	for (u32 i = 0; i < EVENTS; i++) {
		u64 r = random_u64(&seed);

		events[i] = (struct event) {
			.after = r & 0xfff, .bytes = 4096, .p = r >> 48,
			.cnp = (r >> 32 & 15) < cnps,
		};
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* ns an event */
static double measure(const struct mlcc_rp_param *c, const struct mlcc_profile *profile)
{
	double begun = seconds();
	struct mlcc_rp rp;
	u32 now = 0;

	mlcc_rp_init(&rp, c, now);
	for (u32 round = 0; round < ROUNDS; round++) {
		for (const struct event *e = events; e < events + EVENTS; e++) {
			u32 p = profile ? e->p : MLCC_NEUTRAL;
			struct mlcc_rp_gain gain = mlcc_rp_gain(profile, p, MLCC_RP_OWN_LINE);

			now += e->after;
			if (e->cnp)
				mlcc_rp_cnp(&rp, c, &gain, now);
			else
				mlcc_rp_sent(&rp, c, &gain, now, e->bytes);
			/* a carrier reads the rate each time */
			__asm__ volatile("" : : "r"(mlcc_rp_rate(&rp)));
		}
	}
	return (seconds() - begun) / ROUNDS / EVENTS * 1e9;
}

/* The least of some measurements: what else the host does only adds to it. */
static double least(const struct mlcc_rp_param *c, const struct mlcc_profile *profile)
{
	double best = measure(c, profile);

	for (u32 i = 1; i < REPEATS; i++) {
		double again = measure(c, profile);

		best = again < best ? again : best;
	}
	return best;
}

int main(void)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	static const struct { const char *name; u32 cnps; } mixes[] = {
		{ "packets", 0 }, { "CNPs", 16 }, { "a CNP in 16", 1 },
	};
	struct mlcc_rp_param c;

	mlcc_rp_param_init(&c, MLCC_RP_PAPER, LINE, LINE / 40000);
	printf("%-12s%10s%12s   ns an event\n", "", "plain", "interleave");
	for (u32 i = 0; i < sizeof(mixes) / sizeof(*mixes); i++) {
		make_events(mixes[i].cnps);
		printf("%-12s%10.1f%12.1f\n", mixes[i].name, least(&c, NULL),
		       least(&c, &profiles[MLCC_PROFILE_INTERLEAVE]));
	}
	return 0;
}
