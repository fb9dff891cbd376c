// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "control.h"
#include "patience.h"
#include "pins.h"

#define TRIES	1000	/* while flows begin a phase of the job */
#define HOLD_MS	5000	/* until who has the directory is taken for stuck */

const char *mlcc_old_name(char name[MLCC_OLD_NAME], unsigned int n)
{
	snprintf(name, MLCC_OLD_NAME, "old%u", n % MLCC_OLD_MAX + 1);
	return name;
}

/* Not for as long as it takes: who asks may be a daemon that has others waiting. */
int mlcc_control_hold(int dir, char *error)
{
	const char *what = "somebody is changing the carrier: try again";
	int err = mlcc_lock_wait(dir, LOCK_SH, HOLD_MS);

	if (!err && faccessat(dir, MLCC_PART_NEW, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!err)
		what = "an upgrade was cut short: 'mlcc-bpf upgrade', then try again";
	flock(dir, LOCK_UN);
	snprintf(error, MLCC_ERROR_LEN, "%s", what);
	return -EAGAIN;
}

int mlcc_control_run(int fd, const struct mlcc_ctl *ctl)
{
	struct mlcc_ctl mine = *ctl;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &mine, .ctx_size_in = sizeof(mine));
	int err = -EAGAIN;

	for (int n = 0; n < TRIES && err == -EAGAIN; n++) {
		if (n)
			sched_yield();
		err = bpf_prog_test_run_opts(fd, &opts);
		if (!err)
			err = (int)opts.retval;
	}
	return err;
}

int mlcc_control_run_old(int fd, const struct mlcc_ctl *ctl)
{
	struct mlcc_ctl again = *ctl;
	int err;

	if (again.op == MLCC_CTL_NEW)
		again.op = MLCC_CTL_SET;
	err = mlcc_control_run(fd, &again);
	return err == -ENOENT ? 0 : err;
}
