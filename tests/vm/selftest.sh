#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of `vm run` with real guests: how they may end, and the clock that counts. All else is tried
# by every selftest that runs in one.
#
#   selftest.sh [KERNEL...]           default: every kernel that has been fetched
#
# Needs root. Takes about a minute of processor time per kernel: it boots six guests.

# shellcheck disable=SC2317  # main calls the cases by name

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/selftests/lib/lib.sh
. "$here/../selftests/lib/lib.sh"

vm()
{
	"$here/vm" "$@"
}

# in_guest STATUS PATTERN COMMAND...: the command ends so, and the last line matches.
in_guest()
{
	local want_status=$1 pattern=$2 output status
	shift 2

	output=$(vm run "$kernel" "${options[@]}" -- "$@" </dev/null 2>&1)
	status=$?
	# shellcheck disable=SC2053  # a pattern it is
	[ "$status" -eq "$want_status" ] && [[ ${output##*$'\n'} == $pattern ]] && return
	printf 'status %s, wanted %s; printed:\n%s\n' "$status" "$want_status" "$output"
	return 1
}

status_and_output_come_back()
{
	in_guest 7 "$kernel.*" sh -c 'echo err >&2; uname -r; exit 7'
}

timeout_stops_the_guest()
{
	local options=(--timeout 25)

	in_guest 124 '*stopped after 25 s' sleep 600
}

complaints_of_the_kernel_are_found()
{
	in_guest 70 '*the kernel complained*status was 0' sh -c 'echo "WARNING: test" >/dev/kmsg'
}

a_panic_is_shown()
{
	in_guest 70 '*the command did not end' sh -c 'echo c >/proc/sysrq-trigger'
}

a_vanished_guest_is_noticed()
{
	in_guest 71 '*without an exit status' sh -c 'echo o >/proc/sysrq-trigger; sleep 60'
}

# Two seconds are two seconds by both clocks of the guest, on however busy a machine.
a_counted_clock_is_consistent()
{
	local options=(--timeout 300 --counted)

	in_guest 0 'consistent' python3 -c '
import time
a, b = time.monotonic(), time.time()
time.sleep(2)
a, b = time.monotonic() - a, time.time() - b
print("consistent" if 1.99 < a < 2.2 and abs(a - b) < 0.1 else (a, b))'
}

# Those of Debian: debug kernels are slow, and have no clock that counts.
fetched_kernels()
{
	local dir

	for dir in "$cache"/*/VERSION; do
		[ ! -e "$dir" ] || [ -e "${dir%/*}/objects" ] || basename "${dir%/*}"
	done
}

main()
{
	local cache=${MLCC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mlcc} kernel name
	local options=(--timeout 300)
	local kernels=("$@")
	local cases=(
		status_and_output_come_back
		timeout_stops_the_guest
		complaints_of_the_kernel_are_found
		a_panic_is_shown
		a_vanished_guest_is_noticed
		a_counted_clock_is_consistent
	)

	ktap_start
	require_root
	require_command qemu-system-x86_64 unshare
	[ $# -gt 0 ] || mapfile -t kernels < <(fetched_kernels)
	[ "${#kernels[@]}" -gt 0 ] || ktap_skip_all "no kernel is fetched: vm fetch all"
	ktap_plan $((${#kernels[@]} * ${#cases[@]}))
	for kernel in "${kernels[@]}"; do
		for name in "${cases[@]}"; do
			ktap_check "$kernel ${name//_/ }" "$name"
		done
	done
	ktap_finish
}

main "$@"
