#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel module: its life, its parameters, and jobs through libmlcc (what is wrong the library
# refuses before it asks a carrier: bpf_control.sh; the module for itself: module_netlink.sh). Runs in
# a virtual machine, through `tests/selftests/run vm KERNEL module.sh`, or where modules may be loaded.

# shellcheck disable=SC2317  # main calls the cases by name

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"

### Life

# Congestion controls that nobody asked for are a way to lose friends.  Jobs and profiles are netlink's,
# and nobody else's.
loads()
{
	modprobe tcp_mlcc && cc_available && [ "$(sysctl -n net.ipv4.tcp_congestion_control)" != "$cc" ] &&
		[[ " $(sysctl -n net.ipv4.tcp_allowed_congestion_control) " != *" $cc "* ]] &&
		[ "$(echo "$parameters"/*)" = "$parameters/mark_mask $parameters/profile" ]
}

unloads_and_loads_again_and_again()
{
	local i

	for ((i = 0; i < 20; i++)); do
		rmmod tcp_mlcc && cc_gone && modprobe tcp_mlcc || return
	done
	rmmod tcp_mlcc
}

# said PATTERN: the module has said so since `dmesg -C`
said()
{
	dmesg | grep 'tcp_mlcc: ' | grep -q -- "$1"
}

# load_refused WORD PATTERN
load_refused()
{
	dmesg -C
	if modprobe tcp_mlcc "$1" 2>/dev/null; then
		echo "$1: loaded nevertheless"
		rmmod tcp_mlcc
		return 1
	fi
	said "$2" || { echo "$1: no reason in the log"; dmesg; return 1; }
	[ ! -d /sys/module/tcp_mlcc ]
}

wrong_parameters_refuse_the_load()
{
	load_refused profile=nonsense "profile 'nonsense'" &&
		load_refused mark_mask=0 "mark_mask '0'" &&
		load_refused mark_mask=ff0ff 'next to each other'
}

parameters_hold_at_load()
{
	modprobe tcp_mlcc profile=mltcp mark_mask=ff00 || return
	[ "$(<"$parameters/profile")" = mltcp ] && [ "$(<"$parameters/mark_mask")" = 0xff00 ] &&
		api profile list | grep '^mltcp .* default$' || return
	# the profile of jobs that name none is changed by netlink from now on
	! echo interleave 2>/dev/null >"$parameters/profile" || { echo "profile was taken"; return 1; }
	# shellcheck disable=SC2046  # words
	api profile set $(api profile list | grep '^hotnets22') default &&
		[ "$(<"$parameters/profile")" = hotnets22 ] && rmmod tcp_mlcc
}

# mask_refused TEXT PATTERN: not written, explained, and nothing has changed
mask_refused()
{
	local before

	before=$(cat "$parameters"/*)
	dmesg -C
	! echo "$1" 2>/dev/null >"$parameters/mark_mask" || { echo "mark_mask: '$1' was taken"; return 1; }
	said "$2" || { dmesg; return 1; }
	[ "$(cat "$parameters"/*)" = "$before" ] || { cat "$parameters"/*; return 1; }
}

wrong_parameters_change_nothing()
{
	echo ff0 >"$parameters/mark_mask" && [ "$(<"$parameters/mark_mask")" = 0xff0 ] || return
	mask_refused 0 'mark_mask' && mask_refused 5 'next to each other'
}

### Flows

# ss knows three layouts of what a congestion control says; the module uses that of bbr.
progress_shows()
{
	ip netns exec "$sender" ss -Htin "dport = :5001" | grep -E 'bbr:\(.*cwnd_gain:(0\.[0-9]+|1)'
}

stays_while_a_flow_runs()
{
	local before

	set_jobs 7 && receive bulk 5001 --cc reno || return
	start flow "$sender" job --peer 10.1.2.2:5001 --bytes 500000 --compute-ms 50 \
		--iterations 0 --noise 0.02 --seed 1 --cc "$cc" --mark 7
	slowwait - has_grown bulk 0 || { cat "$out"/*.err; return 1; }
	cc_in_use 5001 "$cc" || return
	if rmmod tcp_mlcc 2>"$out/rmmod"; then
		echo "unloaded under a flow"
		return 1
	fi
	grep -i 'in use' "$out/rmmod" || { cat "$out/rmmod"; return 1; }
	cc_available || { echo "unregistered though refused"; return 1; }
	before=$(received bulk)
	slowwait - has_grown bulk "$before" || { echo "the flow stands"; return 1; }
	[ "$(column id)" = 7 ] || { api job list; return 1; }
}

ss_shows_progress()
{
	slowwait - progress_shows || { ip netns exec "$sender" ss -tin; return 1; }
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

goes_after_the_flow()
{
	stop_named flow
	stop_named bulk
	slowwait - rmmod tcp_mlcc && cc_gone && modprobe tcp_mlcc && cc_available
}

main()
{
	ktap_start
	require_carrier
	setup_out
	defer unload_quietly
	each ktap_check loads wrong_parameters_change_nothing unloads_and_loads_again_and_again \
		wrong_parameters_refuse_the_load parameters_hold_at_load
	modprobe tcp_mlcc || ktap_fail_all "tcp_mlcc is loaded"
	require_api
	setup_ns host && setup_link 400kb || exit 1
	each ktap_check jobs_are_set_read_and_deleted announcements_stand_until_the_hint_is_changed
	each told losses_and_marks_are_counted stays_while_a_flow_runs ss_shows_progress goes_after_the_flow
	each ktap_check without_the_module_nothing_is_done nothing_is_run_to_look_for_the_module
	ktap_finish
}

main
