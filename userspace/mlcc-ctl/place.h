/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A cgroup for this process, and for the command that it becomes.
 *
 * Another process, the keeper, stays outside.  When this one has ended it kills what is left in the
 * cgroup, deletes the job and removes the cgroup.
 */
#ifndef MLCC_CTL_PLACE_H
#define MLCC_CTL_PLACE_H

#include <limits.h>
#include <stddef.h>

struct place {
	char path[2 * PATH_MAX + 64];
	char *job;		/* whose id it is: seen by the keeper, too */
};

#define PLACE_JOB_LEN	16

/* Makes the cgroup, starts the keeper and enters.  0, or a negative error number and why not. */
int place_make(struct place *p, char *error, size_t size);

/*
 * Asks the user's systemd for a scope that is delegated, and waits until this process is in it.
 * Only out of a login session: what a batch system has started stays where that has put it.
 */
int scope_ask(void);

/* From /proc/PROCESS/cgroup; NULL: not of version 2. */
const char *cgroup_of(const char *process);

#endif /* MLCC_CTL_PLACE_H */
