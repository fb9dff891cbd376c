#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# TaskProlog: tells each task the name of its job, for those that announce phases, and the other
# launchers that there is nothing left to do.
#
# For:      Slurm; see prolog.sh.
# Run by:   slurmstepd, as the job's user, before each task.  What it prints is read by Slurm:
#           "export NAME=VALUE" becomes part of the task's environment.
# Install:  install -D -m 755 task-prolog.sh /usr/local/lib/mlcc/task-prolog.sh

lib=$(dirname "$0")
# shellcheck source=userspace/launchers/slurm/mlcc-slurm.sh
. "$lib/mlcc-slurm.sh"

# tell REASON: on the task's stdout, as Slurm closes our stderr; the first task does it for all
tell()
{
	[ "${SLURM_PROCID:-0}" != 0 ] || echo "print mlcc-slurm: job $job: $*"
}

# Slurm may have given the job's cgroup another name than the prolog had thought of: then there is no
# step in that one.
in_job()
{
	[ ! -e "$state.why" ] || tell "$(head -n 1 "$state.why")"
	[ -e "$state" ] || return
	{ read -r cgroup; read -r paths; read -r dscp; } <"$state"
	for step in "$cgroup"/step_*; do
		[ ! -d "$step" ] || return 0
	done
	say "no step of it is in $cgroup: it runs without mlcc"
	tell "no step of it is in $cgroup: it runs without mlcc"
	return 1
}

value()
{
	echo "$shown" | sed -n "s/.*\"$1\": *\"\{0,1\}\([A-Za-z0-9._:@+-]*\).*/\1/p"
}

# Whether the step has the class that its option says, by itself or as its job does.
of_class()
{
	[ -n "${MLCC_CLASS-}" ] || return
	shown=$(timeout "$MLCC_TIMEOUT_S" mlcc-ctl -j show --self </dev/null 2>/dev/null)
	if [ "$(value class)" = "$MLCC_CLASS" ]; then
		name=$(value name) dscp=$(value dscp) ours=yes
	elif [ -n "$ours" ]; then
		tell "the step has its job's class: it may not have another"
	fi
}

ours=
paths=
dscp=
! in_job || ours=yes
of_class
if [ -n "$ours" ]; then
	echo "export MLCC_JOB_ID=$name"
	echo "export MLCC_JOB_SET=1"
	# four times that: below it are the two bits of ECN
	for tc in NCCL_IB_TC UCX_IB_TRAFFIC_CLASS; do
		[ -z "$dscp" ] || eval "[ -n \"\${$tc-}\" ]" || echo "export $tc=$((dscp * 4))"
	done
	own=${NCCL_IB_QPS_PER_CONNECTION-}${NCCL_IB_SPLIT_DATA_ON_QPS-}
	own=$own${NCCL_NSOCKS_PERTHREAD-}${NCCL_SOCKET_NTHREADS-}
	if [ -n "$paths" ] && [ -n "$own" ]; then
		say "what its environment says of NCCL's connections stays: no paths=$paths"
	elif [ -n "$paths" ]; then
		# what the loader can load it says nothing about
		[ -n "${NCCL_IBVERBS_LIB-}" ] || [ -n "$(LD_PRELOAD=libmlcc-ibverbs.so env true 2>&1)" ] ||
			echo "export NCCL_IBVERBS_LIB=libmlcc-ibverbs.so"
		# as mlcc-ctl run --paths has them; NCCL takes 64 sockets at most
		printf 'export %s\n' "NCCL_IB_QPS_PER_CONNECTION=$paths" NCCL_IB_SPLIT_DATA_ON_QPS=1 \
			"NCCL_NSOCKS_PERTHREAD=$((paths < 64 ? paths : 64))" NCCL_SOCKET_NTHREADS=1
	fi
fi
exit 0
