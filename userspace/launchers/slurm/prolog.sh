#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Prolog: tells mlccd of a job that is about to start on this node.
#
# For:      Slurm with the cgroup/v2 plugin.  In slurm.conf:
#             Prolog=/usr/local/lib/mlcc/prolog.sh
#             Epilog=/usr/local/lib/mlcc/epilog.sh
#             TaskProlog=/usr/local/lib/mlcc/task-prolog.sh
#             PrologFlags=Alloc
# Run by:   slurmd, as root, once for each job on each of its nodes.
# Install:  install -D -m 755 prolog.sh /usr/local/lib/mlcc/prolog.sh (and mlcc-slurm.sh, which says
#           what a site may set)
#
# A user asks for it with "--comment=mlcc", or "--comment=mlcc:class=background,paths=N"; the others are
# profile=NAME and phase-bytes=N.  Options of the plugin (spank.c) go first.  mlccd.conf has the limits.
# For a step whose options say a class the plugin runs "prolog.sh --step".
# What a comment says wrongly is the user's error, and no reason to drain a node, MLCC_STRICT or not.
#
# slurmstepd makes the job's cgroup after the prolog, and takes one that is there already.  So this
# makes it, and every step and task of the job is in it from its first socket on.

lib=$(dirname "$0")
# shellcheck source=userspace/launchers/slurm/mlcc-slurm.sh
. "$lib/mlcc-slurm.sh"

class=
profile=
phase_bytes=
paths=

is_word()
{
	case $1 in
	'' | *[!a-z0-9]*) return 1 ;;
	esac
}

# One "key=value" of the comment.
take()
{
	case $1 in
	class=*)
		class=${1#*=}
		is_word "$class" && return 0
		;;
	profile=*)
		profile=${1#*=}
		is_word "$profile" && return 0
		;;
	phase-bytes=*)
		phase_bytes=${1#*=}
		# with a unit or without; whether it is too much mlcc-ctl says
		case $phase_bytes in
		*[!0-9A-Za-z.\ ]*) return 1 ;;
		esac
		echo "$phase_bytes" |
			grep -Eqx '[1-9][0-9]{0,14}(\.[0-9]+)? ?([kKmMgGtT]i?)?B?' && return 0
		;;
	paths=*)
		paths=${1#*=}
		case $paths in
		[1-9] | [1-9][0-9] | 1[01][0-9] | 12[0-8]) return 0 ;;
		esac
		;;
	esac
	return 1
}

# 0: asked for, 1: not, 2: wrongly
read_comment()
{
	comment=${SLURM_JOB_COMMENT:-}
	# what is taken last counts
	options=${SPANK_MLCC_CLASS:+class=$SPANK_MLCC_CLASS,}${SPANK_MLCC_PATHS:+paths=$SPANK_MLCC_PATHS,}
	case $comment in
	mlcc | mlcc:) rest=$options ;;
	mlcc:*) rest=${comment#mlcc:},$options ;;
	*) [ -n "$options" ] || [ "$MLCC_ALL" = 1 ] || return; rest=$options ;;
	esac
	while [ -n "$rest" ]; do
		take "${rest%%,*}" || return 2
		rest=${rest#*,}
	done
}

# slurmstepd.scope, or one for each of several slurmd on a host
find_scope()
{
	[ -z "$MLCC_SCOPE" ] || { echo "$MLCC_SCOPE"; return; }
	while read -r _ mount type _; do
		[ "$type" = cgroup2 ] || continue
		for scope in "$mount/system.slice/${SLURMD_NODENAME:-}_slurmstepd.scope" \
			"$mount/system.slice/slurmstepd.scope"; do
			[ ! -d "$scope" ] || { echo "$scope"; return; }
		done
	done </proc/self/mounts
	return 1
}

# Whether slurmd names cgroups by SLUID: from 26.05 on, unless it is told not to.  Where it does not
# say which release it is, the variable decides, which is there from 25.11 on.
by_sluid()
{
	case ${SLURM_JOB_SLUID:-} in
	s[A-Z0-9]*) ;;
	*) return 1 ;;
	esac
	case ${SLURM_JOB_SLUID#s} in
	*[!A-Z0-9]*) return 1 ;;
	esac
	case $(timeout 2 slurmd -V 2>/dev/null </dev/null) in
	# "slurm-wlm" where Debian has built it; an older one is not the one that has set the variable
	slurm*" 25.11."* | slurm*" 26.0"[0-4].*) return 1 ;;
	esac
	for conf in "${SLURM_CONF:-/etc/slurm/slurm.conf}" /run/slurm/conf/slurm.conf; do
		! grep -Eqi '^[[:space:]]*CgroupJobIdPaths[[:space:]]*=[[:space:]]*(yes|true)' \
			"${conf%/*}/cgroup.conf" 2>/dev/null || return 1
	done
}

# What slurmstepd will call the job's, or has: another prolog, or a step, may have come before.
find_cgroup()
{
	for found in "${SLURM_JOB_SLUID:-job_$job}" "job_$job"; do
		case $found in
		*[!A-Za-z0-9_]*) continue ;;
		esac
		[ ! -d "$scope/$found" ] || { echo "$scope/$found"; return; }
	done
	if by_sluid; then
		echo "$scope/$SLURM_JOB_SLUID"
	else
		echo "$scope/job_$job"
	fi
}

set_job()
{
	set -- --limited --name "$name" --cgroup "$1"
	# its ranks may announce its phases
	case ${SLURM_JOB_UID:-0} in
	0 | *[!0-9]*) ;;
	*) set -- "$@" --owner "$SLURM_JOB_UID" ;;
	esac
	[ -z "$class" ] || set -- "$@" --class "$class"
	[ -z "$profile" ] || set -- "$@" --profile "$profile"
	[ -z "$phase_bytes" ] || set -- "$@" --phase-bytes "$phase_bytes"
	timeout --kill-after=1 "$MLCC_TIMEOUT_S" mlcc-ctl set-job "$@" </dev/null
}

# A step whose class is another than its job's is a job of its own, below it, until its cgroup goes.
set_step()
{
	class=${SPANK_MLCC_CLASS:-}
	cgroup=$(sed -n 's|^0::/\(.*/step_[^/]*\).*|\1|p' /proc/self/cgroup)
	now=$(timeout "$MLCC_TIMEOUT_S" mlcc-ctl -j show "$name" </dev/null 2>/dev/null |
		sed -n 's/.*"class": *"\([a-z]*\)".*/\1/p')
	[ -n "$cgroup" ] && is_word "$class" && [ "$class" != "$now" ] || return
	name=$name.${cgroup##*/step_}
	said=$(set_job "$cgroup" 2>&1 >/dev/null) ||
		say "mlcc-ctl set-job of a step ended with $?${said:+ ($said)}: it is as its job is"
}

# without REASON: the task prolog tells the user
without()
{
	say "$*: the job runs without mlcc"
	{ mkdir -p "$MLCC_STATE" && echo "$*: the job runs without mlcc" >"$state.why"; } 2>/dev/null
	exit 0
}

# fail REASON: what was made goes
fail()
{
	rmdir "$cgroup" 2>/dev/null
	rm -f "$state"
	[ "$MLCC_STRICT" = 1 ] || without "$*"
	say "$*: fails, as MLCC_STRICT is 1"
	exit 1
}

[ "${1-}" != --step ] || { set_step; exit 0; }
cgroup=
read_comment
case $? in
1) exit 0 ;;
2) without "its comment asks for what is not allowed" ;;
esac
scope=$(find_scope) || fail "no slurmstepd.scope in a cgroup2 file system (cgroup/v2 plugin?)"
cgroup=$(find_cgroup)
[ -d "$cgroup" ] || mkdir "$cgroup" || fail "cannot make $cgroup"
# written first, so that the epilog knows of whatever there may be
{ mkdir -p "$MLCC_STATE" && printf '%s\n' "$cgroup" "$paths" >"$state"; } || fail "cannot write $state"
said=$(set_job "$cgroup" 2>&1 >/dev/null)
status=$?
if [ "$status" -eq 0 ]; then
	[ -z "$said" ] || say "$said"
	# for its tasks: of RDMA's packets the program says it
	[ -z "$class" ] || timeout "$MLCC_TIMEOUT_S" mlcc-ctl -j show "$name" </dev/null 2>/dev/null |
		sed -n 's/.*"dscp": *\([0-9]\{1,2\}\)[^0-9].*/\1/p' >>"$state"
	exit 0
fi
# not a word that is wrong, and not one that users may not have
[ "$status" -gt 2 ] || [ -z "$class$profile$phase_bytes" ] || MLCC_STRICT=0
fail "mlcc-ctl set-job ended with $status${said:+ ($said)}"
