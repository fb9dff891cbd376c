#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Epilog: a job has ended on this node; takes away what the prolog has set.
#
# For:      Slurm; see prolog.sh.
# Run by:   slurmd, as root, once for each job on each of its nodes.
# Install:  install -D -m 755 epilog.sh /usr/local/lib/mlcc/epilog.sh
#
# Always succeeds, MLCC_STRICT or not: mlccd ends a job by itself once its cgroup is gone, and a
# failing epilog would drain the node.

lib=$(dirname "$0")
# shellcheck source=userspace/launchers/slurm/mlcc-slurm.sh
. "$lib/mlcc-slurm.sh"

rm -f "$state.why"
[ -e "$state" ] || exit 0
timeout --kill-after=1 "$MLCC_TIMEOUT_S" mlcc-ctl del-job "$name" </dev/null >/dev/null ||
	say "mlcc-ctl del-job ended with $?: the job ends when its cgroup does"
# slurmstepd has removed it, unless the job never had a step here
rmdir "$(head -n 1 "$state")" 2>/dev/null
rm -f "$state"
exit 0
