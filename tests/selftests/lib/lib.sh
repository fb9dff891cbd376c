# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the selftests share: undo, waiting, network namespaces, requirements.
#
#   . "$(dirname "$0")/lib/lib.sh"
#
# Every setup step registers how to undo it at once, in the next line:
#
#   ip link add name red0 type dummy
#   defer ip link del red0
#
# Undo runs in reverse order when the script ends, however it ends.

lib_dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/selftests/lib/ktap.sh
. "$lib_dir/ktap.sh"

# A machine under emulation is slow; a test that waits is right to wait longer there: minutes.
: "${WAIT_TIMEOUT:=${KSFT_MACHINE_SLOW:+$((60 * KSFT_MACHINE_SLOW))}}"
: "${WAIT_TIMEOUT:=10}"

### Undo

lib_deferred=()

# defer COMMAND...: the words are kept as they are now, so quote as for a direct call.
defer()
{
	local command

	printf -v command '%q ' "$@"
	lib_deferred+=("$command")
}

# Run and forget all registered steps. A step that fails is reported, and the others still run.
undo()
{
	local i command

	for ((i = ${#lib_deferred[@]} - 1; i >= 0; i--)); do
		command=${lib_deferred[i]}
		unset "lib_deferred[i]"
		eval "$command" || ktap_note "undo failed with status $?: $command"
	done
}

lib_on_exit()
{
	local status=$?

	# A second Ctrl-C must not leave namespaces behind.
	trap '' INT TERM HUP
	# Nor should bash report each background process that undo kills.
	disown -a
	undo
	exit "$status"
}

trap lib_on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

### Waiting

# slowwait SECONDS COMMAND...: ten times a second, until the command succeeds; prints what it printed
# last. SECONDS may be - for the default. A clock that counts instructions leaps while nothing runs:
# there it is tried as often as that all the same.
slowwait()
{
	local seconds=${1/#-/$WAIT_TIMEOUT} start=$SECONDS least output
	shift

	least=${MLCC_COUNTED:+$((seconds * 10))}
	until output=$("$@"); do
		if [ $((SECONDS - start)) -gt "$seconds" ] && [ "$((least--))" -le 0 ]; then
			printf '%s' "$output"
			return 1
		fi
		sleep 0.1
	done
	printf '%s' "$output"
}

# prints TEXT COMMAND...: just that, or it is said what it does print
prints()
{
	local said

	said=$("${@:2}") && [ "$said" = "$1" ] && return
	echo "${*:2}: '$said', wanted '$1'"
	return 1
}

# more_than N COMMAND...: is what it prints
more_than()
{
	[ "$("${@:2}")" -gt "$1" ]
}

### Network namespaces

# setup_ns NAME...: sets each variable NAME to a namespace of its own, with lo up.
setup_ns()
{
	local lib_name lib_ns

	for lib_name in "$@"; do
		printf -v lib_ns '%s-%04x%04x' "${lib_name//_/-}" "$RANDOM" "$RANDOM"
		ip netns add "$lib_ns" || return
		defer lib_del_ns "$lib_ns"
		printf -v "$lib_name" '%s' "$lib_ns"
		ip -n "$lib_ns" link set dev lo up || return
	done
}

# Processes that outlive their test would keep the namespace and its devices.
lib_del_ns()
{
	local pids

	pids=$(ip netns pids "$1" 2>/dev/null)
	# shellcheck disable=SC2086  # a list of numbers
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null
	ip netns del "$1"
}

# setup_veth NS_A DEV_A NS_B DEV_B: a cable between two namespaces, both ends up.
setup_veth()
{
	ip link add name "$2" netns "$1" type veth peer name "$4" netns "$3" &&
		ip -n "$1" link set dev "$2" up &&
		ip -n "$3" link set dev "$4" up
}

### Requirements: what is missing skips the test, with the reason

require_root()
{
	[ "$(id -u)" -eq 0 ] || ktap_skip_all "needs root"
}

# Where the cgroup v2 hierarchy is mounted; nothing if it is not.
cgroup2_mount()
{
	awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts
}

# Sets cgroups to where that is.
require_cgroup2()
{
	cgroups=$(cgroup2_mount)
	[ -n "$cgroups" ] || ktap_skip_all "no cgroup2 file system is mounted"
}

require_command()
{
	local command

	for command in "$@"; do
		type -P "$command" >/dev/null || ktap_skip_all "needs the command $command"
	done
}

require_module()
{
	local module

	for module in "$@"; do
		modprobe -q "$module" 2>/dev/null || [ -d "/sys/module/$module" ] ||
			ktap_skip_all "needs the kernel module $module"
	done
}

# require_kernel 6.4: that version, or a later one.
require_kernel()
{
	local running

	running=$(uname -r)
	printf '%s\n%s\n' "$1" "${running%%-*}" | sort --check=quiet --version-sort ||
		ktap_skip_all "needs Linux $1, this is $running"
}
