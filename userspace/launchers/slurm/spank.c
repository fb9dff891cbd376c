// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SPANK plugin: --mlcc-class and --mlcc-paths of srun, sbatch and salloc, else MLCC_CLASS, MLCC_PATHS.
 *
 *	srun, sbatch, salloc	--> SPANK_MLCC_CLASS, _PATHS of the prolog: the job's, on all its nodes
 *	slurmstepd		--> MLCC_CLASS, MLCC_PATHS of the tasks, which mlcc-run and mlcc-mpi read
 *				--> "PROLOG --step", if plugstack.conf names it: a step's own class
 *
 * What is wrong is refused where the user sees it.  Neither the prolog nor mlccd relies on that.
 */
#include <slurm/spank.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../../../include/mlcc/class.h"

SPANK_PLUGIN(mlcc, 1)

enum { CLASS, PATHS, COUNT };

static const char *const names[COUNT] = { "MLCC_CLASS", "MLCC_PATHS" };
static char values[COUNT][16];		/* "": not given */

static int is_good(int which, const char *arg)
{
	static const char *const classes[] = MLCC_CLASS_NAMES;
	int good = which == PATHS && strspn(arg, "0123456789") == strlen(arg) && *arg != '0' &&
		    strlen(arg) <= 3 && atoi(arg) >= 1 && atoi(arg) <= 128;

	for (int i = 0; which == CLASS && i < MLCC_CLASS_COUNT; i++)
		good |= !strcmp(arg, classes[i]);
	return good;
}

static int take(int which, const char *arg, int remote)
{
	int good = is_good(which, arg);

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

/* Of the environment, unless an option was given: nothing is refused because of it. */
static void take_env(spank_t sp, int which)
{
	char value[sizeof(values[which])] = "";
	const char *local = getenv(names[which]);

	if (spank_remote(sp) == 1)
		spank_getenv(sp, names[which], value, sizeof(value));
	else if (local)
		snprintf(value, sizeof(value), "%s", local);
	if (!*values[which] && is_good(which, value))
		strcpy(values[which], value);
}

/* For each part of a heterogeneous job, after its options: Slurm gives it those of the one before, too. */
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	int err = ESPANK_SUCCESS;

	for (int i = 0; i < COUNT && !err; i++) {
		take_env(sp, i);
		if (*values[i])
			err = (spank_remote(sp) == 1 ? spank_setenv : spank_job_control_setenv)
				(sp, names[i], values[i], 1);
	}
	return err;
}

/* Once on each node, as root, before the step's tasks run.  The script has a time limit, and says what fails. */
int slurm_spank_task_post_fork(spank_t sp, int ac, char **av)
{
	static int done;
	char class[40], job[40], uid[40];
	char *env[] = { class, job, uid, NULL };
	uint32_t id;
	uid_t user;
	pid_t pid;

	if (done++ || !ac || !*values[CLASS] || spank_get_item(sp, S_JOB_ID, &id) ||
	    spank_get_item(sp, S_JOB_UID, &user))
		return ESPANK_SUCCESS;
	snprintf(class, sizeof(class), "SPANK_MLCC_CLASS=%s", values[CLASS]);
	snprintf(job, sizeof(job), "SLURM_JOB_ID=%u", id);
	snprintf(uid, sizeof(uid), "SLURM_JOB_UID=%u", user);
	if (posix_spawn(&pid, av[0], NULL, NULL, (char *[]){ av[0], "--step", NULL }, env))
		slurm_error("mlcc: %s cannot be run", av[0]);
	else
		waitpid(pid, NULL, 0);
	return ESPANK_SUCCESS;
}
