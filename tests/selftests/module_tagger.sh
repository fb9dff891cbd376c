#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tagger beside the kernel module: sockets of a job's cgroup follow it, and the module's progress
# picks the DSCP. What is the tagger's own matter is in bpf_tagger.sh.

# shellcheck disable=SC2034,SC2154,SC2317  # main calls the cases by name; setup_* set variables, some are used there

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"
# shellcheck source=tests/selftests/tagger_common.sh
. "$(dirname "$0")/tagger_common.sh"

without_ecn=mlcc

# The module has a table of jobs in each network namespace.
job_api()
{
	nsenter "--net=/run/netns/$host" "$driver" "$@"
}

# Jobs are seen in the namespace where they are set.
of_user()
{
	local pid=pair_pid_$1

	nsenter --preserve-credentials --user --net -t "${!pid}" "$driver" job set "$2" "" "" 0 , job list |
		json "[(r['flows'], bool(r['hinted']), r['bytes'] >= 40000)
			for r in rows if r['id'] == $2 and r['flows']]"
}

# Whoever may mark sockets does not move a flow that there is.
the_mark_is_read_once()
{
	job_api job set 7 one "" 0 , job set 8 other "" 0 &&
		pair once "$outer" "$host" cc=mlcc mark=7 && jobs_have "[(7, 2), (8, 0)]" &&
		ask once mark 8 && ask once send 100000 && jobs_have "[(7, 2), (8, 0)]" &&
		job_api job del 7 , job del 8
}

main()
{
	ktap_start
	require_carrier
	[ -r /sys/kernel/btf/vmlinux ] || ktap_skip_all "this kernel has no BTF"
	require_command sysctl
	setup_out
	require_api
	[ ! -e "$tagger_pins" ] || ktap_skip_all "a tagger is loaded already, and not by this test"
	modprobe tcp_mlcc || ktap_fail_all "tcp_mlcc is loaded"
	defer unload_quietly
	setup_ns host && setup_cgroup outer "mlcc-test-$$" &&
		setup_cgroup inner "mlcc-test-$$/below" || exit 1
	job=$outer
	ip netns exec "$host" sysctl -qw net.ipv4.tcp_congestion_control=reno || exit 1
	require_tagger
	each ktap_check sockets_are_tagged_and_restored another_jobs_flow_is_that_again \
		the_mark_is_read_once
	jobs_are_their_owners
	ktap_check "progress picks the DSCP" progress_picks_the_dscp
	ktap_finish
}

main
