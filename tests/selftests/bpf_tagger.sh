#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tagger: what is in a job's cgroup gets the job's mark and mlcc, and gives both back.

# shellcheck disable=SC2119,SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"
# shellcheck source=tests/selftests/tagger_common.sh
. "$(dirname "$0")/tagger_common.sh"

# States of a pair; both ends of one are in the same cgroup and agree on ECN.
plain="reno 0x0 0x0 reno 0x0 0x0"
tagged7="mlcc 0x7 0x2 mlcc 0x7 0x2"

# Connections from before the tag have no ECN.
late7="mlcc_plain 0x7 0x0 mlcc_plain 0x7 0x0"

without_ecn=mlcc_plain

job_api()
{
	api "$@"
}

loads()
{
	api tagger load && [ -e "$tagger_pins/link" ] && api tagger load &&
		api_refuses 'mark mask 0xff' tagger load 0xff0000 &&
		api_refuses 'side by side' tagger load 0x5
}

wrong_tags_are_refused_and_change_nothing()
{
	local before

	api tag set "$outer" 5 || return
	before=$(api tag list)
	api_refuses 'job id 0' tag set "$outer" 0 &&
		api_refuses 'job id 65536' tag set "$outer" 65536 &&
		api_refuses 'job id' tag set "$outer" 18446744073709551616 &&
		api_refuses 'DSCP 64' tag set "$outer" 6 1 64 &&
		api_refuses 'priority classes' tag set "$outer" 6 9 &&
		api_refuses 'DSCP 64' tag set "$outer" 6 2 0 64 &&
		api_refuses 'no cgroup' tag set "$out" 6 &&
		api_refuses 'No such file' tag set "$outer/none" 6 &&
		api_refuses 'the root' tag set "$cgroups" 6 &&
		api_refuses 'has no tag' tag del 1 || return
	prints "$before" api tag list && api tag del "$outer" && prints "" api tag list
}

new_sockets_are_tagged()
{
	api tag set "$outer" 7 || return
	pair here "$outer" "$host" mark=0xab0003 && pair below "$inner" "$host" &&
		pair beside "$beside" "$host" || return
	# other bits of the mark stay
	is here "mlcc 0xab0007 0x2 mlcc 0xab0007 0x2" && is below "$tagged7" && is beside "$plain" || return
	prints "(4, 0)" api_json 'rows[0]["tagged"], rows[0]["refused"]' tag list || return
	api tag set "$outer" 8 && is below "mlcc 0x8 0x2 mlcc 0x8 0x2" || return
	api tag del "$outer" && is here "reno 0xab0003 0x0 reno 0xab0003 0x0" && is below "$plain" && is beside "$plain"
}

# flows_are N N: of jobs 7 and 9, which the list may lack
flows_are()
{
	prints "($1, $2)" api_json "tuple(sum(r['flows'] for r in rows if r['id'] == id) for id in (7, 9))" job list
}

# Further down than is looked at from the socket's cgroup upwards; the directories are ours to remove.
no_depth_of_cgroups_leads_out_of_a_job()
{
	local deep=$inner/d status=0

	for _ in {1..39}; do
		deep+=/d
	done
	mkdir -p "$deep" && api tag set "$outer" 7 && pair far "$deep" "$host" &&
		is far "$tagged7" || status=1
	api tag del "$outer" && is far "$plain" || status=1
	echo "$pair_pid_far" >"$outer/cgroup.procs"
	(cd "$inner" && rmdir -p "${deep#"$inner/"}") || status=1
	return "$status"
}

the_nearest_job_counts()
{
	api tag set "$outer" 7 && api tag set "$inner" 9 || return
	pair out "$outer" "$host" && pair in "$inner" "$host" || return
	is out "$tagged7" && is in "mlcc 0x9 0x2 mlcc 0x9 0x2" && flows_are 2 2 &&
		api tag del "$inner" && is in "$tagged7" && is out "$tagged7" && flows_are 4 0 || return
	api tag set "$inner" 9 && is in "mlcc 0x9 0x2 mlcc 0x9 0x2" && is out "$tagged7" &&
		api tag del "$outer" && is out "$plain" && is in "mlcc 0x9 0x2 mlcc 0x9 0x2" &&
		api tag del "$inner" && is in "$plain"
}

every_network_namespace_counts()
{
	api tag set "$beside" 1 || return
	pair a "$outer" "$host" && pair b "$inner" "$pod" && is b "$plain" || return
	api tag set "$outer" 7 && is a "$late7" && is b "$late7" || return
	api tag del "$beside" && is b "$late7" &&
		api tag del "$outer" && is a "$plain" && is b "$plain"
}

# The sockets stay in the cgroup they were made in.
a_cgroup_that_is_gone_is_deleted_by_its_id()
{
	local id pid

	mkdir "$outer/gone" && id=$(stat -c %i "$outer/gone") || return
	pair moved "$outer/gone" "$host" && api tag set "$outer/gone" 7 && is moved "$late7" ||
		return
	pid=pair_pid_moved
	echo "${!pid}" >"$beside/cgroup.procs" && rmdir "$outer/gone" || return
	is moved "$late7" && api_refuses 'has no tag' tag del 1 && api tag del "$id" &&
		is moved "$plain"
}

established()
{
	bpftool -j map dump pinned "$out_bpf/established" |
		json 'd[0]["formatted"]["value"] if "formatted" in d[0] else int(d[0]["value"][0], 16)'
}

programs_of_others_go_on()
{
	local how

	clang -O2 -g -target bpf -idirafter "/usr/include/$(uname -m)-linux-gnu" \
		-c "$here/other_sockops.bpf.c" -o "$out/other.o" || return
	mkdir "$out_bpf" || return
	bpftool prog load "$out/other.o" "$out_bpf/prog" pinmaps "$out_bpf" || return
	# exclusive, as without any flag; and beside others
	for how in "" multi; do
		# shellcheck disable=SC2086  # a word or none
		bpftool cgroup attach "$outer" sock_ops pinned "$out_bpf/prog" $how || return
		api tag set "$outer" 7 && pair with "$outer" "$host" && is with "$tagged7" || return
		bpftool cgroup detach "$outer" sock_ops pinned "$out_bpf/prog" || return
		api tag del "$outer" && is with "$plain" || return
	done
	prints 4 established
}

without_mlcc_a_socket_stays_as_it_is()
{
	"$mlcc_bpf" unload && slowwait - cc_gone && api tag set "$outer" 7 || return
	pair none "$outer" "$host" mark=0x30002 tos=0x28 &&
		is none "reno 0x30002 0x28 reno 0x30002 0x28" || return
	prints "(0, 2)" api_json 'rows[0]["tagged"], rows[0]["refused"]' tag list || return
	slowwait - "$mlcc_bpf" load && api tag set "$outer" 7 &&
		is none "mlcc_plain 0x30007 0x28 mlcc_plain 0x30007 0x28" &&
		api tag del "$outer" && is none "reno 0x30002 0x28 reno 0x30002 0x28"
}

survives_kill()
{
	local n pid

	pair long "$outer" "$host" || return
	for ((n = 0; n < 20; n++)); do
		"$out/api" churn forever "$outer" 7 {carrier_lock}>&- &
		pid=$!
		sleep "0.0$((RANDOM % 90 + 10))"
		kill -9 "$pid" && wait "$pid" 2>/dev/null
		ask long send 10000 >/dev/null || { echo "the flow stands"; return 1; }
		api tag del "$outer" 2>/dev/null
		api job del 7 2>/dev/null
		is long "$plain" || return
	done
	api tag set "$outer" 7 && is long "$late7" && api tag del "$outer" && is long "$plain"
}

unloads()
{
	pair last "$outer" "$host" && api tag set "$outer" 7 && api tag set "$inner" 8 &&
		pair inside "$inner" "$host" && is last "$late7" || return
	api tagger unload && is last "$plain" && is inside "$plain" && [ ! -e "$tagger_pins" ] ||
		return
	api_refuses 'not loaded' tag list && api_refuses 'not loaded' tagger unload &&
		prints 0 api_json "sum(r['flows'] for r in rows if r['id'] in (7, 8))" job list
}

# One class is the job's, whatever its progress; it may become another, or one by progress.
a_job_has_one_dscp()
{
	job_api job set 7 fixed "" 1000000 || return
	pair old "$outer" "$host" tos=0x28 || return
	api tag set "$outer" 7 1 46 && pair new "$inner" "$host" tos=0x28 || return
	dscp_is new 46 && ecn_is new 2 && dscp_is old 46 || return
	job_api phase start 7 1000000 && ask new send 500000 && dscp_is new 46 || return
	api tag set "$outer" 7 1 0 && dscp_is new 0 && dscp_is old 0 || return
	api tag set "$outer" 7 4 10 20 30 40 && pair later "$inner" "$host" || return
	ask later send 1000 && slowwait - dscp_is later 10 || return
	api tag set "$outer" 7 1 46 && ask later send 1000 && dscp_is later 46 || return
	api tag set "$outer" 7 && dscp_is new 10 && dscp_is old 10 && dscp_is later 0 || return
	api tag set "$outer" 7 1 46 && dscp_is new 46 || return
	api tag del "$outer" && is old "reno 0x0 0x28 reno 0x0 0x28" &&
		is new "reno 0x0 0x28 reno 0x0 0x28" && job_api job del 7
}

# skips LIST NAME...: with that list these pairs are left alone
skips()
{
	local list=$1 name
	shift

	api tag skip "$outer" 7 "$list" || return
	for name in "$@"; do
		is "$name" "reno 0x0 0x0 reno 0x0 0x0" || { echo "with $list"; return 1; }
	done
}

# takes LIST NAME...: with that list these are the job's
takes()
{
	local list=$1 name
	shift

	api tag skip "$outer" 7 "$list" || return
	for name in "$@"; do
		is "$name" "mlcc 0x7 0x0 mlcc 0x7 0x0" || is "$name" "mlcc_plain 0x7 0x0 mlcc_plain 0x7 0x0" ||
			{ echo "with $list"; return 1; }
	done
}

# Sockets that are there follow the list, and new ones are looked at by it.
skipped_connections_are_left_alone()
{
	local word

	api tag skip "$outer" 7 lo && pair four "$inner" "$host" &&
		pair six "$inner" "$host" address=::1 && skips lo four six || return
	takes none four six && takes "1-1023, 10.0.0.0/8, fd00::/8" four six || return
	skips 1024-65535 four six && skips 127.0.0.0/8,::/0 four six || return
	skips 126.0.0.0/7,::1 four six && takes 127.0.0.2,fe80::/10 four six || return
	skips 2049,127.0.0.1,::1 four six && pair late "$inner" "$host" && skips 2049,127.0.0.1 late || return
	takes 2049,127.0.0.2 four six late || return
	for word in 0 65536 9-8 a 127.0.0.1/33 ::1/129 1.2.3 "lo," 2049- -1 "$(seq -s , 9)"; do
		api_refuses skip tag skip "$outer" 7 "$word" || return
		takes 2049,127.0.0.2 four || return
	done
	api tag del "$outer" && is four "reno 0x0 0x0 reno 0x0 0x0"
}

# What a case that failed has left would make others fail.
check()
{
	local id

	ktap_check "$@"
	for id in $(api_json '" ".join(str(r["cgroup"]) for r in rows)' tag list 2>/dev/null); do
		api tag del "$id"
	done
	for id in $(api_json '" ".join(str(r["id"]) for r in rows if r["name"])' job list); do
		api job del "$id"
	done
}

main()
{
	ktap_start
	require_bpf
	require_command bpftool clang ip sysctl
	setup_out
	require_api
	[ ! -e "$tagger_pins" ] || ktap_skip_all "a tagger is loaded already, and not by this test"
	setup_ns host pod && setup_cgroup outer "mlcc-test-$$" &&
		setup_cgroup inner "mlcc-test-$$/below" &&
		setup_cgroup beside "mlcc-test-$$-beside" && load || exit 1
	for ns in "$host" "$pod"; do
		ip netns exec "$ns" sysctl -qw net.ipv4.tcp_congestion_control=reno || exit 1
	done
	defer unload_tagger
	out_bpf=${pins%/*}/mlcc-test-$$
	defer rm -rf "$out_bpf"
	each check loads wrong_tags_are_refused_and_change_nothing new_sockets_are_tagged \
		sockets_are_tagged_and_restored another_jobs_flow_is_that_again the_nearest_job_counts \
		no_depth_of_cgroups_leads_out_of_a_job every_network_namespace_counts \
		a_cgroup_that_is_gone_is_deleted_by_its_id programs_of_others_go_on \
		without_mlcc_a_socket_stays_as_it_is progress_picks_the_dscp a_job_has_one_dscp \
		skipped_connections_are_left_alone survives_kill unloads
	ktap_finish
}

main
