// SPDX-License-Identifier: GPL-2.0
/*
 * play VERSION PHASES: trains, as far as the plugin and a real mlccd can tell. Each phase sends
 * 2 MB, in real time, 30 ms after the last. MLCC_PLUGIN, MLCC_SOCKET, MLCC_JOB as ever.
 * Prints the mask that the plugin asked for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "case.h"

int main(int argc, char **argv)
{
	struct comm c;

	if (argc != 3) {
		fprintf(stderr, "usage: play VERSION PHASES\n");
		return 2;
	}
	clock_real();
	nccl_load(atoi(argv[1]));
	c = nccl_init(77, 2, 2);
	printf("mask %d\n", nccl_mask);
	for (int i = atoi(argv[2]); i > 0; i--) {
		play_coll(&c, &allreduce, 1000000);
		usleep(30000);
	}
	nccl_finalize(&c);
	return 0;
}
