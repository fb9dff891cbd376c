#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mlcc-ctl measure: a job with and without mlcc in turns, beside another one, over the BPF carrier.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"
# shellcheck source=tests/selftests/mlccd_common.sh
. "$(dirname "$0")/mlccd_common.sh"

# trains NAME BYTES PORT: computes for 100 ms, sends, and again, in a job of its own
trains()
{
	local group

	setup_cgroup group "mlcc-measure-$1-$$" && receive "in_$1" "$3" &&
		ctl set-job --cgroup "${group##*/}" --name "$1" >/dev/null || return
	in_cgroup "$group" "$sender" "$burst" job --bytes "$2" --compute-ms 100 --iterations 0 \
		--peer "10.1.2.2:$3" >/dev/null 2>"$out/$1" {carrier_lock}>&- &
	defer stop "$!"
}

measure()
{
	exec "$repo/build/userspace/mlcc-ctl/mlcc-ctl" --socket "$out/run/mlccd.sock" -j measure "$@" {carrier_lock}>&-
}

# class_is CLASS: of bert, as the carrier has it
class_is()
{
	local id

	id=$(ctl -j show bert | json "d[0]['id']") &&
		"$mlcc_bpf" show | json "[j['class'] for j in d if j['id'] == $id] == ['$1']" | grep -q True
}

is_measured()
{
	ctl -j show bert | json "d[0].get('measured', False)" | grep -q True
}

is_neutral()
{
	class_is latency && is_measured
}

# As soon as there may be one, of all jobs.  Which one it is depends on the machine.
there_is_a_verdict()
{
	local pid status

	measure --all --alternate 1s >"$out/measured" 2>&1 &
	pid=$!
	slowwait 60 more_than 5 grep -c '"pair"' "$out/measured" || { cat "$out/measured"; return 1; }
	kill -INT "$pid" 2>/dev/null
	wait "$pid"
	status=$?
	tail -n 1 "$out/measured" | tee "$out/verdict"
	json "(6 <= d['pairs'] <= 24 and 0.2 < d['ratio'] < 5 and d['low'] <= d['ratio'] <= d['high'] and
		d['verdict'] == ('helps' if d['low'] > 1 else 'harms' if d['high'] < 1 else 'cannot tell') and
		('harms' == d['verdict']) == ($status == 1) and d['jobs'] == 2 and
		sorted(o['name'].split('-')[2] for o in d['others']) == ['bert', 'gpt'])" <"$out/verdict" | grep -q True &&
		class_is training && ! is_measured
}

# interrupted SIGNAL: while the job is neutral
interrupted()
{
	local pid

	measure bert --alternate 3s >"$out/measured" 2>&1 &
	pid=$!
	slowwait - is_neutral || { cat "$out/measured"; return 1; }
	kill "-$1" "$pid"
	wait "$pid"
	slowwait - class_is training && ! is_measured
}

it_ends_with_who_measures()
{
	interrupted KILL && interrupted INT && tail -n 1 "$out/measured" |
		json "d['verdict'] == 'cannot tell' and 'ratio' not in d" | grep -q True
}

what_cannot_be_measured_is_refused()
{
	ctl set-job --id 77 --name mark >/dev/null || return
	refused 1 "no cgroup" ctl measure mark && refused 1 "no job" ctl measure nobody &&
		refused 2 "one JOB" ctl measure && refused 2 "--alternate" ctl measure bert --alternate 1ms
}

main()
{
	require_carrier
	require_command nsenter
	require_cgroup2
	setup_out
	# shellcheck disable=SC2034  # start_daemon's
	mlccd=$repo/build/userspace/mlccd/mlccd
	setup_link 300kb || ktap_skip_all "no namespaces, or no tbf"
	load_carrier
	start_daemon && defer stop "$daemon" && defer unload_mlccd || exit 1
	trains bert 2500000 5000 && trains gpt 2500000 5001 || exit 1
	ktap_start
	each ktap_check what_cannot_be_measured_is_refused
	each told it_ends_with_who_measures there_is_a_verdict
	ktap_finish
}

main
