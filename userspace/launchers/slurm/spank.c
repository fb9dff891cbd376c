// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SPANK plugin: --mlcc-class and --mlcc-paths of srun, sbatch and salloc.
 *
 *	srun, sbatch, salloc	--> SPANK_MLCC_CLASS, _PATHS of the prolog: the job's, on all its nodes
 *	slurmstepd		--> MLCC_CLASS, MLCC_PATHS of the tasks, which mlcc-run and mlcc-mpi read
 *
 * What is wrong is refused where the user sees it.  Neither the prolog nor mlccd relies on that.
 */
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../include/mlcc/class.h"

SPANK_PLUGIN(mlcc, 1)

enum { CLASS, PATHS, COUNT };

static const char *const names[COUNT] = { "MLCC_CLASS", "MLCC_PATHS" };
static char values[COUNT][16];		/* "": not given */

static int take(int which, const char *arg, int remote)
{
	static const char *const classes[] = MLCC_CLASS_NAMES;
	int good = which == PATHS && strspn(arg, "0123456789") == strlen(arg) && *arg != '0' &&
		    strlen(arg) <= 3 && atoi(arg) >= 1 && atoi(arg) <= 128;

	for (int i = 0; which == CLASS && i < MLCC_CLASS_COUNT; i++)
		good |= !strcmp(arg, classes[i]);
	if (good)
		snprintf(values[which], sizeof(values[which]), "%s", arg);
	else
		slurm_error(which == CLASS ? "--mlcc-class: " MLCC_CLASS_ALLOWED :
			    "--mlcc-paths: a number from 1 to 128");
	return good ? ESPANK_SUCCESS : ESPANK_BAD_ARG;
}

static struct spank_option options[COUNT] = {
	{ "mlcc-class", "CLASS", "mlcc: what the traffic is for", 1, CLASS, take },
	{ "mlcc-paths", "N", "mlcc: NCCL's queue pairs or sockets of a connection", 1, PATHS, take },
};

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	spank_context_t where = spank_context();
	int err = ESPANK_SUCCESS;

	if (where == S_CTX_LOCAL || where == S_CTX_ALLOCATOR || where == S_CTX_REMOTE)
		for (int i = 0; i < COUNT && !err; i++)
			err = spank_option_register(sp, &options[i]);
	return err;
}

/* For each part of a heterogeneous job, after its options: Slurm gives it those of the one before, too. */
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	int err = ESPANK_SUCCESS;

	for (int i = 0; i < COUNT && !err; i++)
		if (*values[i])
			err = (spank_remote(sp) == 1 ? spank_setenv : spank_job_control_setenv)
				(sp, names[i], values[i], 1);
	return err;
}
