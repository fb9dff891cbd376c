// SPDX-License-Identifier: GPL-2.0
/*
 * Rings on a simulated link, ring.h: the mean slowdown of an iteration against the job alone, of
 * all iterations and without the first quarter, and how busy the links were.
 *
 *	ring [SEEDS]
 */
#include <stdio.h>

#include "ring.h"

#define LENGTH(a)	(sizeof(a) / sizeof(*(a)))

static const struct ring rings[] = RINGS;

static void row(const char *name, const struct mlcc_profile *profile, u32 seeds)
{
	printf("%-12s", name);
	for (size_t i = 0; i < LENGTH(rings); i++) {
		struct ring_result r = ring_run(&rings[i], profile, seeds);

		printf("  %6.3f %6.3f (%.2f)", r.all, r.late, r.busy);
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
	for (size_t i = 0; i < LENGTH(rings); i++)
		printf("  %-20s", rings[i].name);
	printf("  (all, late, busy)\n");
	row("plain", NULL, seeds);
	for (size_t i = 0; i < LENGTH(profiles); i++)
		row(names[i], &profiles[i], seeds);
	return 0;
}
