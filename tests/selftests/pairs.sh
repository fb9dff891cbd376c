# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154  # what is set there is used here
# Cgroups, and connections in them to look at. Who includes this has included common.sh.

# setup_cgroup VARIABLE PATH: below the root; sets the variable to its whole path
setup_cgroup()
{
	printf -v "$1" '%s' "$cgroups/$2"
	mkdir "${!1}" && defer lib_del_cgroup "${!1}"
}

lib_del_cgroup()
{
	local tries

	for ((tries = 0; tries < 50; tries++)); do
		# in a trap a bare "return" has the status from before it
		rmdir "$1" 2>/dev/null && return 0
		xargs -r -n 1 kill -9 <"$1/cgroup.procs" 2>/dev/null
		sleep 0.1
	done
	return 1
}

# in_cgroup PATH NAMESPACE COMMAND...: takes the place of the shell; in no other namespace if that is
# empty.  Not "ip netns exec": it hides the cgroups.
in_cgroup()
{
	echo "$BASHPID" >"$1/cgroup.procs" && exec ${2:+nsenter "--net=/run/netns/$2"} "${@:3}"
}

# talk_to NAME COMMAND...: as long as this (sub)shell
talk_to()
{
	local name=$1 pipes to from
	shift

	pipes=$(mktemp -d -p "$out") && mkfifo "$pipes/to" "$pipes/from" || return
	("$@") <"$pipes/to" >"$pipes/from" {carrier_lock}>&- &
	exec {to}>"$pipes/to" {from}<"$pipes/from"
	printf -v "pair_to_$name" '%s' "$to"
	printf -v "pair_from_$name" '%s' "$from"
	printf -v "pair_pid_$name" '%s' "$!"
}

# pair NAME CGROUP NAMESPACE [cc=CC] [mark=MARK] [tos=TOS] [address=ADDRESS]: one connection of marked.py
pair()
{
	local cc='' mark=0 tos=0 address=127.0.0.1

	[ $# -eq 3 ] || local "${@:4}"
	talk_to "$1" in_cgroup "$2" "$3" "$python" "$here/marked.py" "$address" "$cc" "$mark" "$tos" &&
		ask "$1" show >/dev/null
}

# ask NAME WORDS...: what the pair answers
ask()
{
	local to=pair_to_$1 from=pair_from_$1 answer
	shift

	echo "$*" >&"${!to}" && read -r -t 60 answer <&"${!from}" && echo "$answer"
}

# is NAME WORDS...: the pair's state, all of it
is()
{
	prints "${*:2}" ask "$1" show
}

# marked_by NAME COMMAND...: connections of marked.py, by way of a command
marked_by()
{
	# by a descriptor: other users may not come through the checkout's folders
	talk_to "$1" exec "${@:2}" "$python" /dev/fd/9 9<"$here/marked.py"
}

# marked NAME [NAMESPACE]
marked()
{
	marked_by "$1" ${2:+ip netns exec "$2"}
}

# A command follows, in user and network namespaces of its own.
in_own=(unshare -Urn sh -c 'ip link set lo up && exec "$@"' sh)

require_user_namespaces()
{
	unshare -Urn true 2>/dev/null || { echo "no user namespaces"; return "$KSFT_SKIP"; }
}

# tagged_by NAME: in the cgroup $job, and in namespaces of a user
tagged_by()
{
	# shellcheck disable=SC2016  # it is for that shell
	marked_by "$1" sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$job" "${in_own[@]}"
}
