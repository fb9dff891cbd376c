# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh disable=SC2034  # the scripts use what is set here
#
# What Prolog, Epilog and TaskProlog share.  Sourced, not run.
#
# For:      Slurm with the cgroup/v2 plugin.
# Install:  beside the scripts: install -D -m 644 mlcc-slurm.sh /usr/local/lib/mlcc/mlcc-slurm.sh
#
# A site's own values stand in mlcc-slurm.conf beside it, a shell script that belongs to root:
#   MLCC_ALL=1              every job is an mlcc job, not only those that ask for it
#   MLCC_STRICT=1           a failure of mlcc fails the prolog: Slurm drains the node, requeues the job
#   MLCC_TIMEOUT_S          how long mlcc-ctl may take (10); well below PrologEpilogTimeout
#   MLCC_SCOPE=PATH         the cgroup that holds the jobs', where it is not found by itself
#   MLCC_STATE=PATH         a file for each job that was set (/run/mlcc-slurm)
#   PATH                    Slurm gives these scripts none

set -u

MLCC_ALL=0
MLCC_STRICT=0
MLCC_TIMEOUT_S=10
MLCC_SCOPE=
MLCC_STATE=/run/mlcc-slurm
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=/dev/null disable=SC2154  # where the script lies
[ ! -r "$lib/mlcc-slurm.conf" ] || . "$lib/mlcc-slurm.conf"
export PATH
umask 022

say()
{
	logger -t mlcc-slurm -- "job $job: $*" 2>/dev/null
	echo "mlcc-slurm: job $job: $*" >&2
}

# Slurm's number, and nothing else, becomes part of paths and names.
job=${SLURM_JOB_ID:-}
case $job in
'' | *[!0-9]*)
	job='?'
	say "no SLURM_JOB_ID: not run by Slurm"
	exit 0
	;;
esac
name=slurm-$job
state=$MLCC_STATE/$job
