#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is to take little: what is no job gains nothing, a job that waits is paced, and other classes
# take what theirs may. That what has no phases has no progress is in tests/unit/test_tracker.c.
#
#   neutral.sh module|bpf

# shellcheck disable=SC2154,SC2317,SC2119,SC2120  # the cases are called by name; what is included sets variables

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/${1:?module or bpf}_common.sh"

COMPETING=4	# flows of each kind
JOB=31

# share_is NAME SECONDS LEAST MOST: bytes of mine over all, of the link's next ones
share_is()
{
	local mine theirs share

	mine=$(received mine) theirs=$(received theirs)
	slowwait 120 both_received $((mine + theirs + $2 * 25000000)) || return
	mine=$(($(received mine) - mine)) theirs=$(($(received theirs) - theirs))
	share=$("$python" -c "print(round($mine / ($mine + $theirs), 3))")
	echo "$1: $share of the link, wanted $3 to $4"
	is_true "$3 <= $share <= $4"
}

# As share_is for a second, after two in which the window grows, or the queue is given back.
share_comes_to()
{
	share_is "at first" 2 0 1 && share_is "$1" 1 "$2" "$3"
}

# Beside cubic, the default base: a third to two thirds, after slow start, in some thirty loss cycles of
# each flow. Retried once: two groups of flows can be lucky or not.
unmarked_is_like_cubic()
{
	local try name at status

	for try in 1 2; do
		receive mine 5001 --cc cubic && receive theirs 5002 --cc cubic || return
		at=$(($("$python" -c 'import time; print(time.monotonic_ns())') + 1000000000))
		start a "$sender" bulk --peer 10.1.2.2:5001 --flows "$COMPETING" --at "$at" --cc "$cc"
		start b "$sender" bulk --peer 10.1.2.2:5002 --flows "$COMPETING" --at "$at" --cc cubic
		slowwait 120 both_received 25000000 || { cat "$out"/*.err; return 1; }
		share_is "try $try" 8 0.333 0.667
		status=$?
		for name in a b mine theirs; do
			stop_named "$name"
		done
		[ "$status" -ne 0 ] || break
	done
	return "$status"
}

# paced PORT: some flow has less than 1.8 segments a round trip; TCP's own least rate is for 2.4
paced()
{
	ip netns exec "$sender" ss -Htin "dport = :$1" | tr ' ' '\n' | awk -F '[:/]' '
		$1 == "rtt" { ms = $2 } $1 == "mss" { mss = $2 } previous == "pacing_rate" {
			some = some || ($1 + 0) * ms / 8000 < 1.8 * mss
		} { previous = $1 } END { exit !some }'
}

# Its ten segments, and what they grow by in half a second, are less than the two each that TCP has in
# flight at least.  It waits for two seconds.
a_job_of_many_flows_that_waits_is_paced()
{
	local name

	receive mine 5015 --cc reno && receive theirs 5016 --cc cubic || return
	start job "$sender" job --peer 10.1.2.2:5015 --flows 32 --bytes 2000000 --compute-ms 1000 \
		--iterations 0 --noise 0.02 --seed 1 --cc "$cc" --mark 23
	slowwait 60 more_than 4 grep -c '"iteration_ms"' "$out/job" || { api job list; cat "$out"/*.err; return 1; }
	start other "$sender" bulk --peer 10.1.2.2:5016 --cc cubic
	slowwait 15 paced 5015 || { ip netns exec "$sender" ss -Htin "dport = :5015"; return 1; }
	for name in job other mine theirs; do
		stop_named "$name"
	done
}

# The flow is one and the same all the time: alone, beside cubic, and while its job changes.
a_background_flow_takes_what_is_left()
{
	api job class "$JOB" background || return
	receive mine 5021 --cc cubic && receive theirs 5022 --cc cubic || return
	start job "$sender" bulk --peer 10.1.2.2:5021 --cc "$cc" --mark "$JOB"
	slowwait 60 has_received mine 20000000 || { cat "$out"/*.err; return 1; }
	start other "$sender" bulk --peer 10.1.2.2:5022 --cc cubic
	slowwait 60 has_received theirs 10000000 || { cat "$out"/*.err; return 1; }
	share_is "beside cubic" 1 0.0001 0.1
}

a_running_flow_follows_its_job()
{
	api job class "$JOB" latency && share_comes_to latency 0.2 0.9 || return
	api job class "$JOB" background && share_comes_to "background again" 0 0.1 || return
	api job del "$JOB" && share_comes_to deleted 0.2 0.9 || return
	api job class "$JOB" background && share_comes_to "set anew" 0 0.1 || return
	stop_named other
	stop_named job
}

# Round trips of a few microseconds, and two segments are a window.
it_does_not_stall_over_loopback()
{
	local i

	api job class "$JOB" background || return
	pair loop "$cgroups" "$sender" cc="$cc" mark="$JOB" || return
	for ((i = 0; i < 20; i++)); do
		[ "$(ask loop send 500000)" = "done" ] || { echo "message $i does not arrive"; return 1; }
	done
	[ "$(ask loop send 20000000)" = "done" ]
}

main()
{
	ktap_start
	require_carrier
	require_api
	setup_out
	load_carrier
	set_jobs 23 || ktap_fail_all "jobs are set"
	setup_link 400kb || exit 1
	each told unmarked_is_like_cubic a_job_of_many_flows_that_waits_is_paced a_background_flow_takes_what_is_left \
		a_running_flow_follows_its_job it_does_not_stall_over_loopback
	ktap_finish
}

main
