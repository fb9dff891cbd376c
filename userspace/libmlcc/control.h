/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Telling a job something, whichever version of the carrier its flows began with.
 *
 * An upgrade leaves running flows with the programs and maps they have.  As long as there are such
 * flows, the pins of that version are in a part of the pin directory, "old1" and so on, under the
 * names that the carrier's own have.  So whoever changes a job has all of them do it, and holds the
 * directory meanwhile: an upgrade waits, and none is told what the next one does not take over.
 */
#ifndef MLCC_CONTROL_H
#define MLCC_CONTROL_H

#include "../../bpf/mlcc_bpf.h"

#define MLCC_OLD_MAX	8		/* versions that still have flows */
#define MLCC_OLD_NAME	8
#define MLCC_PART_NEW	"new"		/* the pins of a version that is to take the place */

/* Name of the part of the one that is @n-th, from 0 on. */
const char *mlcc_old_name(char name[MLCC_OLD_NAME], unsigned int n);

/*
 * Keeps upgrades away until flock(@dir, LOCK_UN) or until @dir is closed.  -EAGAIN, with a line in
 * @error: one does not come to its end.
 */
int mlcc_control_hold(int dir, char *error);

/*
 * Has the program @fd do @ctl, again while flows begin a phase of the job.  Returns 0, or a
 * negative error number.
 */
int mlcc_control_run(int fd, const struct mlcc_ctl *ctl);

/*
 * Likewise that of an older version, after the present one has done it: that it does not know the
 * job is no error.
 */
int mlcc_control_run_old(int fd, const struct mlcc_ctl *ctl);

#endif /* MLCC_CONTROL_H */
