#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The control plane of the kernel module, through libmlcc. What is wrong the library refuses before
# it asks a carrier (bpf_control.sh), and the module for itself (module_netlink.sh).

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"

profiles_change_and_one_is_the_default()
{
	local line="hotnets22 70000 65536 100 2 cubic queue" before after

	before=$(api profile list)
	# shellcheck disable=SC2086  # words
	after=$(api profile set $line default , profile list)
	# shellcheck disable=SC2086  # words
	[ "$(api profile set ${before%%default*} default , profile set hotnets22 65536 65536 0 1 \
		reno base , profile list)" = "$before" ] && [ "$(grep default <<<"$after")" = "$line default" ] &&
		return
	printf 'before:\n%s\nafter:\n%s\n' "$before" "$after"
	return 1
}

# A flow of job 7 sends 500,000 bytes; when all are acknowledged, it runs the command.
flow='
import fcntl, socket, subprocess, sys, time
l = socket.create_server(("127.0.0.1", 0))
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, 36, 7)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"mlcc")
s.connect(l.getsockname())
r = l.accept()[0]
for _ in range(50):
    s.sendall(bytes(10000))
    r.recv(10000, socket.MSG_WAITALL)
while any(fcntl.ioctl(s, 0x5411, bytes(4))):
    time.sleep(0.01)
subprocess.run(sys.argv[1:], check=True)
'

an_announcement_holds_for_a_flow_that_comes_later()
{
	api job set 7 hinted "" 0 , phase start 7 1000000 || return
	"$python" -c "$flow" "$driver" job get 7 >"$out/job" && cat "$out/job" &&
		json "(lambda r: (r['phases'], r['d_phase'], r['d_sent'], r['bytes'], r['flows'],
			r['hinted'], r['neutral'], r['progress'], r['gain'] > 65536))(rows[0]) == (
			1, 1000000, 500000, 500000, 1, 1, 0, 32767, True)" <"$out/job" |
		grep -q True || return
	api phase end 7 , job del 7
}

without_the_module_nothing_is_done()
{
	slowwait - rmmod tcp_mlcc && api_refuses 'not loaded' job list
}

# mlccd asks at each request, and what the kernel runs may take seconds.
nothing_is_run_to_look_for_the_module()
{
	local before

	before=$(</proc/sys/kernel/modprobe)
	printf '#!/bin/sh\necho "$@" >>%s\n' "$out/was_run" >"$out/modprobe"
	chmod +x "$out/modprobe"
	echo "$out/modprobe" >/proc/sys/kernel/modprobe
	api_refuses 'not loaded' job list
	# what is run for a protocol that there is none of: the file works
	ip -n "$host" link add type no-such-kind 2>/dev/null
	echo "$before" >/proc/sys/kernel/modprobe
	grep -q no-such-kind "$out/was_run" && ! grep mlcc "$out/was_run"
}

main()
{
	ktap_start
	require_carrier
	setup_out
	require_api
	setup_ns host || exit 1
	modprobe tcp_mlcc || ktap_fail_all "tcp_mlcc is loaded"
	defer unload_quietly
	ktap_check "jobs are set, read and deleted" jobs_are_set_read_and_deleted
	ktap_check "profiles change, and one is the default" profiles_change_and_one_is_the_default
	ktap_check "an announcement holds for a flow that comes later" \
		an_announcement_holds_for_a_flow_that_comes_later
	ktap_check "announcements stand until the hint is changed" \
		announcements_stand_until_the_hint_is_changed
	ktap_check "without the module nothing is done" without_the_module_nothing_is_done
	ktap_check "nothing is run to look for the module" nothing_is_run_to_look_for_the_module
	ktap_finish
}

main
