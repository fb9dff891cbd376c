#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The control plane of the BPF carrier, through libmlcc: jobs, announced phases, profiles.

# shellcheck disable=SC2119,SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"

# All that there is of jobs and profiles.
state()
{
	bpftool map dump pinned "$pins/rules"
	api profile list
}

long_name=$(printf 'n%.0s' {1..64})

wrong_words_are_refused_and_change_nothing()
{
	local before

	api job set 5 five mltcp 12345 || return
	before=$(state)
	api_refuses 'job id 0' job set 0 a "" 0 &&
		api_refuses 'job id 65536' job set 65536 a "" 0 &&
		api_refuses 'job id 65536' job del 65536 &&
		api_refuses 'job id' phase start 0 1 &&
		api_refuses 'job id' job set 18446744073709551616 a "" 0 &&
		api_refuses 'job name' job set 5 $'a\nb' "" 0 &&
		api_refuses 'job name' job set 5 $'a\x1b[31m' "" 0 &&
		api_refuses 'job name' job set 5 'a b' "" 0 &&
		api_refuses 'job name' job set 5 $'\xc3\xa4' "" 0 &&
		api_refuses 'job name' job set 5 "$long_name" "" 0 &&
		api_refuses "no profile 'nonsense'" job set 5 five nonsense 1 &&
		api_refuses 'training, latency or background' job class 5 bulk &&
		api_refuses 'training, latency or background' job class 5 xxxxxxxxxxxxxxxxx &&
		api_refuses 'profile' job set 5 five "$long_name" 1 &&
		api_refuses 'phase bytes' job set 5 five "" 281474976710656 &&
		api_refuses 'phase bytes' job set 5 five "" 18446744073709551616 &&
		api_refuses 'phase bytes' job set 5 five "" -1 &&
		api_refuses 'phase bytes' phase start 5 281474976710656 &&
		api_refuses 'no job' phase start 6 1000 &&
		api_refuses 'no job' phase end 6 || return
	prints "$before" state && api job set 5 "${long_name:1}" "" 281474976710655 && api job del 5
}

wrong_profiles_are_refused_and_change_nothing()
{
	local before words

	before=$(state)
	for words in "none 16384 1 1 1 reno base" "mltcp 0 1 1 1 reno base" \
		"mltcp 2097153 1 1 1 reno base" "mltcp 65536 4294967295 1 1 reno base" \
		"mltcp 65536 1 65536 1 reno base" "mltcp 65536 1 1 0 reno base" \
		"mltcp 65536 1 1 5 reno base" "mltcp 65536 1 1 1 vegas base" \
		"mltcp 65536 1 1 1 reno nowhere"; do
		# shellcheck disable=SC2086  # words
		api_refuses '' profile set $words default || return
	done
	prints "$before" state
}

profile_of()
{
	"$mlcc_bpf" show | json "next((j['profile'] for j in d if j['id'] == $1 and j['flows']), None)"
}

# api_profiles WORD [OPTION]: the lines that have it
api_profiles()
{
	api profile list | grep "${@:2}" -- "$1"
}

profiles_change_and_one_is_the_default()
{
	local line="hotnets22 70000 65536 100 2 cubic queue"

	prints 1 api_profiles default -c || return
	api job set 31 none "" 0 && api job set 32 own interleave 0 || return
	pair none "$cgroups" "$host" cc=mlcc mark=31 &&
		pair own "$cgroups" "$host" cc=mlcc mark=32 && prints interleave profile_of 31 || return
	# shellcheck disable=SC2086  # words
	api profile set $line default || return
	prints "$line default" api_profiles hotnets22 && ask none send 10000 && ask own send 10000 || return
	prints hotnets22 profile_of 31 && prints interleave profile_of 32 &&
		api profile set interleave 16384 524288 57344 2 reno queue default &&
		prints "$line" api_profiles hotnets22
}

flows_that_come_later_know()
{
	api job set 8 early "" 0 && api phase start 8 700000 || return
	pair later "$cgroups" "$host" cc=mlcc mark=8 && ask later send 70000 || return
	job_is 8 'r["phases"] == 1 and r["d_phase"] == 700000 and not r["neutral"]'
}

every_namespace_is_told()
{
	api job set 9 many "" 0 && pair a "$cgroups" "$host" cc=mlcc mark=9 &&
		pair b "$cgroups" "$pod" cc=mlcc mark=9 || return
	# the second one replaces the first, as nothing is sent between
	job_is 9 'r["flows"] == 4' && api phase start 9 1000 && api phase start 9 1000 &&
		slots_are "[1, 1]" "sorted(j['phase'] for j in d if j['id'] == 9)"
}

bytes_of()
{
	"$mlcc_bpf" show | json "sum(j['bytes'] for j in d if j['id'] == $1)"
}

# The job's bytes are counted by its flows: a flow that counts no more is of no job.
delete_makes_a_running_flow_neutral()
{
	local bytes before

	receive sink 5001 && api job set 12 doomed "" 0 || return
	start bulk "$sender" bulk --peer 10.1.2.2:5001 --cc "$cc" --mark 12
	slowwait - has_grown sink 0 && api phase start 12 281474976710655 &&
		job_is 12 'not r["neutral"] and r["flows"] == 1' || return

	api job del 12 || return
	bytes=$(bytes_of 12) before=$(received sink)
	api_refuses 'no job 12' job get 12 && slowwait - has_grown sink "$before" || return
	prints "$bytes" bytes_of 12 && cc_in_use 5001 "${cc}_plain" || return

	api job set 12 again "" 0 && slowwait - more_than 0 bytes_of 12 && job_is 12 'r["flows"] == 1' ||
		return
	api job del 12 && stop_named bulk || return
	# with the last flow the bar goes, too
	start next "$sender" bulk --peer 10.1.2.2:5001 --cc "$cc" --mark 12
	slowwait - more_than "$bytes" bytes_of 12 2>/dev/null || slowwait - more_than 0 bytes_of 12 || return
	job_is 12 'r["flows"] == 1 and r["name"] == ""' && stop_named next
}

another_layout_is_refused()
{
	local words=(0xff 0xff 0 0  0 0 0 0  0 0 0 0  0 0 0 0  99 0 0 0  0 0 0 0)

	bpftool map update pinned "$pins/settings" key 0 0 0 0 value "${words[@]}" || return
	api_refuses 'map layout 99' job list
}

no_carrier_is_no_crash()
{
	"$mlcc_bpf" unload && api_refuses 'not loaded' job list
}

main()
{
	ktap_start
	require_bpf
	require_command bpftool ip tc ethtool ss
	setup_out
	require_api
	setup_ns host pod && setup_link 30kb && load || exit 1
	each ktap_check jobs_are_set_read_and_deleted wrong_words_are_refused_and_change_nothing \
		wrong_profiles_are_refused_and_change_nothing profiles_change_and_one_is_the_default \
		announcements_stand_until_the_hint_is_changed flows_that_come_later_know \
		every_namespace_is_told
	each told delete_makes_a_running_flow_neutral losses_and_marks_are_counted
	each ktap_check another_layout_is_refused no_carrier_is_no_crash
	ktap_finish
}

main
