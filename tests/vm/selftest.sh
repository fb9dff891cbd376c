#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of `vm run` and `vm build` with real guests.
#
#   selftest.sh [KERNEL...]           default: every kernel that has been fetched
#
# Needs root. Takes about 80 s of processor time per kernel: it boots nine guests.

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

the_guest_has_what_tests_need()
{
	# shellcheck disable=SC2016  # the guest expands it
	in_guest 0 complete bash -ec '
		[ "$PWD" = "$1" ]
		[ "$(stat -f -c %T /sys/fs/cgroup /sys/fs/bpf)" = "cgroup2fs
bpf_fs" ]
		for module in sch_fq sch_fq_codel sch_prio sch_tbf sch_htb tcp_dctcp; do
			modprobe $module
		done
		ip netns add a
		ip netns add b
		ip link add v0 netns a type veth peer name v1 netns b
		ip netns exec a tc qdisc add dev v0 root netem delay 1ms
		ip netns exec b tc qdisc add dev v1 root red limit 400000 min 30000 max 90000 \
			avpkt 1000 burst 55 ecn bandwidth 1gbit
		echo out >/dev/stdout
		echo err >/dev/stderr
		touch /etc/mlcc-vm-selftest
		echo complete' bash "$PWD" &&
		[ ! -e /etc/mlcc-vm-selftest ]
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

the_repository_is_writable()
{
	local file=$here/.selftest.$$

	in_guest 0 '*' touch "$file" && rm "$file"
}

hello_world()
{
	mkdir -p "$1/hello"
	cat >"$1/Kbuild" <<-'EOF'
		obj-m := mlcc_hello.o
		mlcc_hello-y := hello/main.o
	EOF
	cat >"$1/hello/main.c" <<-'EOF'
		// SPDX-License-Identifier: GPL-2.0
		#include <linux/module.h>

		static int __init hello_init(void)
		{
			return 0;
		}
		module_init(hello_init);

		static void __exit hello_exit(void)
		{
		}
		module_exit(hello_exit);

		MODULE_DESCRIPTION("Test of vm build");
		MODULE_LICENSE("GPL");
	EOF
}

a_module_is_built_checked_and_loaded()
{
	hello_world "$tree"
	vm build "$kernel" --tree "$tree" KCFLAGS=-Werror &&
		vm sparse "$kernel" --tree "$tree" &&
		options+=(--tree "$tree") &&
		in_guest 0 'mlcc_hello*' sh -c 'modprobe mlcc_hello && lsmod | grep ^mlcc_hello'
}

# The link to the newest modules is put back: it may be somebody's work.
setup_tree()
{
	local kernel newest key

	tree=$(mktemp -d)
	defer rm -r "$tree"
	key=${tree##*/}-$(printf '%s' "$tree" | sha256sum | cut -c1-8)
	for kernel in "${kernels[@]}"; do
		defer rm -rf "$cache/$kernel/build/$key"-{build,sparse,modules}
		newest=$(readlink "$cache/$kernel/modules") || continue
		defer ln -sfn "$newest" "$cache/$kernel/modules"
	done
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
	local cache=${MLCC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mlcc} kernel name tree
	local options=(--timeout 300)
	local kernels=("$@")
	local cases=(
		status_and_output_come_back
		timeout_stops_the_guest
		complaints_of_the_kernel_are_found
		a_panic_is_shown
		a_vanished_guest_is_noticed
		the_guest_has_what_tests_need
		a_counted_clock_is_consistent
		the_repository_is_writable
		a_module_is_built_checked_and_loaded
	)

	ktap_start
	require_root
	require_command qemu-system-x86_64 unshare
	[ $# -gt 0 ] || mapfile -t kernels < <(fetched_kernels)
	[ "${#kernels[@]}" -gt 0 ] || ktap_skip_all "no kernel is fetched: vm fetch all"
	setup_tree
	ktap_plan $((${#kernels[@]} * ${#cases[@]}))
	for kernel in "${kernels[@]}"; do
		for name in "${cases[@]}"; do
			ktap_check "$kernel ${name//_/ }" "$name"
		done
	done
	ktap_finish
}

main "$@"
