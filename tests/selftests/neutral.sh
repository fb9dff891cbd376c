#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is no job gains nothing, and what has no phases has no progress.
#
#   neutral.sh module|bpf

# shellcheck disable=SC2154,SC2317,SC2119,SC2120  # the cases are called by name; what is included sets variables

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/${1:?module or bpf}_common.sh"

COMPETING=4	# flows of each kind

# compete WORDS...: flows of mlcc with WORDS against flows of cubic, the default base; sets share to the ratio of bytes.
compete()
{
	local at base mine theirs

	receive mine 5001 --cc cubic && receive theirs 5002 --cc cubic || return
	at=$(($("$python" -c 'import time; print(time.monotonic_ns())') + 1000000000))
	start a "$sender" bulk --peer 10.1.2.2:5001 --flows "$COMPETING" --at "$at" --cc "$cc" "$@"
	start b "$sender" bulk --peer 10.1.2.2:5002 --flows "$COMPETING" --at "$at" --cc cubic
	# slow start, then eight seconds of the link: some thirty loss cycles of each flow
	slowwait 120 both_received 25000000 || return
	mine=$(received mine) theirs=$(received theirs)
	base=$((mine + theirs))
	slowwait 120 both_received $((base + 200000000)) || return
	mine=$(($(received mine) - mine)) theirs=$(($(received theirs) - theirs))
	for base in a b mine theirs; do
		stop_named "$base"
	done
	share=$("$python" -c "print(round($mine / $theirs, 3))")
	echo "$mine bytes against $theirs of cubic: $share"
}

# Retried once: two groups of flows can be lucky or not.
unmarked_is_like_cubic()
{
	local try

	for try in 1 2; do
		compete || { cat "$out"/*.err; return 1; }
		is_true "0.5 < $share < 2" && return
		echo "try $try: outside of 0.5 .. 2"
	done
	return 1
}

# of_job NAME: its value in the job that sends
of_job()
{
	column "$1" | sort -n | tail -n 1
}

# learnt BYTES: within a quarter
learnt()
{
	is_true "abs($(of_job d_phase) - $1) * 4 < $1"
}

# Without this the case below would pass with a tracker that never learns.
a_periodic_job_is_learnt()
{
	receive periodic 5011 --cc reno || return
	start job "$sender" job --peer 10.1.2.2:5011 --bytes 500000 --compute-ms 100 \
		--iterations 0 --noise 0.02 --seed 1 --cc "$cc" --mark 21
	slowwait 60 learnt 500000 || { api job list; cat "$out"/*.err; return 1; }
	stop_named job
	stop_named periodic
}

# Messages of one size at random times, ever longer apart and ever shorter.  In this draw progress is
# known at about a fifth of the looks, and fewer looks see fewer of them; a job that is learnt has it
# at nearly all.  How many bytes in the mean: tests/unit/test_tracker.c.
aperiodic_traffic_stays_neutral()
{
	local known=0 looks=0 done=0 gap phases=0

	receive random 5012 --cc reno || return
	start job "$sender" job --peer 10.1.2.2:5012 --bytes 500000 --compute-ms 150 \
		--iterations 0 --noise 1 --seed 2 --cc "$cc" --mark 22
	slowwait 60 has_iterated job 5 || { cat "$out"/*.err; return 1; }
	while [ "$done" -lt 60 ]; do
		gap=$done
		done=$(iterations job)
		[ "$done" -gt "$gap" ] || { sleep 0.05; continue; }
		looks=$((looks + 1))
		[ "$(of_job d_phase)" -gt 0 ] && known=$((known + 1))
	done
	phases=$(of_job phases)
	stop_named job
	stop_named random
	echo "$done messages, $phases phases, progress known in $known of $looks looks"
	[ "$phases" -ge 10 ] && [ $((known * 2)) -le "$looks" ]
}

main()
{
	ktap_start
	require_carrier
	setup_out
	load_carrier
	set_jobs 21 22 || ktap_fail_all "jobs are set"
	setup_link 400kb || exit 1
	each told unmarked_is_like_cubic a_periodic_job_is_learnt aperiodic_traffic_stays_neutral
	ktap_finish
}

main
