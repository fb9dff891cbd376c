#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What flows of jobs do that do not train.
#
#   classes.sh module|bpf

# shellcheck disable=SC2154,SC2317,SC2119,SC2120  # the cases are called by name; what is included sets variables

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/${1:?module or bpf}_common.sh"

JOB=31

# share_of_job SECONDS: bytes of the job's flow over all, of the link's next ones
share_of_job()
{
	local mine theirs

	mine=$(received mine) theirs=$(received theirs)
	slowwait 120 both_received $((mine + theirs + $1 * 25000000)) || return
	mine=$(($(received mine) - mine)) theirs=$(($(received theirs) - theirs))
	"$python" -c "print(round($mine / ($mine + $theirs), 3))"
}

share_is()
{
	local share

	share=$(share_of_job 1) || return
	is_true "$2 <= $share <= $3" || { echo "$1: $share of the link, wanted $2 to $3"; return 1; }
}

# As share_is, after two seconds in which the window grows, or the queue is given back.
share_comes_to()
{
	share_of_job 2 >/dev/null && share_is "$@"
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
	share_is "beside cubic" 0.0001 0.1
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

unknown_classes_are_refused()
{
	local said

	api job class "$JOB" latency || return
	for said in bulk trainingx xxxxxxxxxxxxxxxxx; do
		said=$(api job class "$JOB" "$said" 2>&1) && { echo "was taken"; return 1; }
		[[ $said == *"training, latency or background"* ]] || { echo "said: $said"; return 1; }
	done
	api job set "$JOB" "" "" 0 && api job class "$JOB" latency || return
	[[ $(api job get "$JOB") == *'"class":"latency"'* ]]
}

# Round trips of a few microseconds, and two segments are a window.
it_does_not_stall_over_loopback()
{
	local i

	api job class "$JOB" background || return
	pair loop "$cgroups" "$sender" --cc "$cc" --mark "$JOB" || return
	for ((i = 0; i < 20; i++)); do
		[ "$(ask loop send 500000)" = sent ] || { echo "message $i does not arrive"; return 1; }
	done
	[ "$(ask loop send 20000000)" = sent ]
}

main()
{
	ktap_start
	require_carrier
	require_api
	setup_out
	load_carrier
	setup_link 400kb || exit 1
	each told a_background_flow_takes_what_is_left a_running_flow_follows_its_job \
		unknown_classes_are_refused it_does_not_stall_over_loopback
	ktap_finish
}

main
