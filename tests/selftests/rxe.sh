#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Soft-RoCE with DCQCN: marks are answered with CNPs, which decrease the rate, time raises it, and
# connections share a link that marks. Then as flows of a job, and beside a driver without the patches.
# `tests/vm/vm run 7.2 --counted -- tests/selftests/rxe.sh`, after tests/vm/rxe and its --stock.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/rxe_common.sh
. "$(dirname "$0")/rxe_common.sh"
# shellcheck source=tests/selftests/mlccd_common.sh
. "$(dirname "$0")/mlccd_common.sh"

mlccd_fake=$repo/build/userspace/mlccd/mlccd-fake
tuner=$repo/build/userspace/mlcc-dcqcn/mlcc-dcqcn

# All of it, and then only the sender's half: what is not paced does not ask for marks.
nothing_changes_while_it_is_off()
{
	traffic 1
	slowwait - has_received in0 300000 || { cat "$out"/{in,out}*; return 1; }
	end_traffic 1
	knob np_enable 1 && knob np_enable 1 rxe_omega && traffic 1 || return
	slowwait - have_sent 1 300000 || { cat "$out"/{in,out}*; return 1; }
	end_traffic 1
	[ "$(counter rxe_omega np_ecn_marked_roce_packets)" = 0 ]
}

# udp_ports: from which two queue pairs of one process send to one peer, in a line
udp_ports()
{
	start in8 "$omega" recv --listen "$peer:7300" --job in8
	start out8 "$alpha" bulk --peer "$peer:7300" --flows 2 --job out8 --timeout-s 900
	slowwait - have_sent 2 100000 >&2 || { cat "$out"/{in,out}8* >&2; return 1; }
	ip netns exec "$omega" timeout 300 tcpdump -nn -i eth0 -c 400 src 10.2.0.1 and udp dst port 4791 \
		2>/dev/null | awk '{ split($3, a, "."); print a[5] }' | sort -nu | xargs
	end_pair 8 >&2
}

# As the first two labels have them: 0x4000, and 14877 more.
each_queue_pair_has_a_port()
{
	local verbs=$repo/build/userspace/ibverbs/libmlcc-ibverbs.so without with

	need command -v tcpdump && need test -e "$verbs" || return
	without=$(udp_ports) && with=$(LD_PRELOAD=$verbs udp_ports) || return
	echo "ports $without, with libmlcc-ibverbs $with"
	[ "$with" = "49153 64028" ]
}

# Rates of the QP, one look a line; without a process, which would take the CPU from the traffic.
watch_rate()
{
	local i rate

	for ((i = 0; i < 30; i++)); do
		{
			read -r _
			read -r _ _ rate _
		} </sys/kernel/debug/rxe/rxe_alpha/qps
		echo "$rate"
		sleep 0.02
	done
}

# A CNP may be on its way when its QP goes.
cnps_were_handled()
{
	local sent handled

	sent=$(counter rxe_omega np_cnp_sent)
	handled=$(counter rxe_alpha rp_cnp_handled)
	echo "marked $(counter rxe_omega np_ecn_marked_roce_packets), CNPs sent $sent, handled $handled"
	[ "$handled" -gt 0 ] && [ "$handled" -le "$sent" ] && [ $((handled * 2)) -ge "$sent" ]
}

marks_decrease_and_time_raises_the_rate()
{
	knob rp_max_rate 100 && knob rp_enable 1 && traffic 1
	slowwait - have_sent 1 300000 || { cat "$out"/{in,out}*; return 1; }
	watch_rate >"$out/rates"
	end_traffic 1
	echo "kb/s $(tr '\n' ' ' <"$out/rates")"
	cnps_were_handled && awk '
		$1 < 90000 { down = 1 }
		NR > 1 && $1 > last { up = 1 }
		{ last = $1 }
		END { exit !(down && up) }' "$out/rates"
}

# need COMMAND...: else the case is skipped
need()
{
	"$@" >/dev/null 2>&1 || { echo "this fails here: $*"; return "$KSFT_SKIP"; }
}

# read_bw NAME NAMESPACE DEVICE PORT [ADDRESS]: who has no ADDRESS is read from, for longer than needed
read_bw()
{
	local burst

	# shellcheck disable=SC2034  # start() runs it
	burst=$(command -v ib_read_bw) &&
		start "$1" "$2" --ib-dev "$3" --gid-index "$(gid_index "$3")" --port "$4" --events \
			--CPU-freq --noPeak --iters 1000000 --size 1048576 --tx-depth 16 "${@:5}"
}

# reads PORT BYTES: omega reads from alpha, as the source and the reader, and has got as much. The
# first connection of a reader is refused now and then.
reads()
{
	local tries

	read_bw source "$alpha" rxe_alpha "$1" && slowwait - is_listening "$1" "$alpha" >/dev/null || return
	for tries in 1 2 3; do
		read_bw reader "$omega" rxe_omega "$1" 10.2.0.1
		slowwait 20 have_sent 1 "$2" && return
		stop_named reader
		cat "$out"/{source,reader}*
	done
	echo "nothing was read in $tries tries"
	return 1
}

# kb/s that alpha's QP sends in two seconds
sent_rate()
{
	local before

	before=$(column sent)
	sleep 2
	echo $((($(column sent) - before) / 125 / 2))
}

returned_data_are_paced_and_marked()
{
	local handled marked rate slow

	need command -v ib_read_bw || return
	knob rp_max_rate 10 && knob rp_enable 1 && reads 7200 100000 || return
	slow=$(sent_rate)
	knob rp_max_rate 100 || return
	marked=$(counter rxe_omega np_ecn_marked_roce_packets)
	handled=$(counter rxe_alpha rp_cnp_handled)
	rate=$(sent_rate)
	marked=$(($(counter rxe_omega np_ecn_marked_roce_packets) - marked))
	handled=$(($(counter rxe_alpha rp_cnp_handled) - handled))
	echo "at 10 Mb/s $slow kb/s; at 100 $rate, $marked marked, $handled CNPs handled"
	stop_named reader
	stop_named source
	[ "$slow" -lt 12000 ] && [ "$slow" -gt 2000 ] && [ "$rate" -gt "$slow" ] &&
		[ "$rate" -lt $((RATE_MBIT * 1100)) ] && [ "$marked" -gt 0 ] && [ "$handled" -gt 0 ]
}

# The kernel destroys the QP of a process that is killed, and waits for the requests in its queue:
# of a megabyte each; one alone takes four seconds at this rate.
answering_does_not_hold_it()
{
	local since took

	need command -v ib_read_bw || return
	knob rp_max_rate 2 && knob rp_enable 1 && reads 7201 20000 || return
	stop_named reader
	since=$SECONDS
	stop_named source
	took=$((SECONDS - since))
	knob rp_max_rate 100
	echo "gone after $took s"
	[ "$took" -lt 4 ]
}

# By Jain's index.
two_connections_share()
{
	local index

	traffic 2
	slowwait - have_sent 2 500000 || { cat "$out"/{in,out}*; return 1; }
	column sent >"$out/before"
	sleep 3
	column sent | paste - "$out/before" | awk '{ print $1 - $2 }' >"$out/bytes"
	end_traffic 2
	index=$(awk '{ s += $1; q += $1 * $1 } END { if (q) printf "%.3f", s * s / NR / q }' "$out/bytes")
	echo "bytes $(tr '\n' ' ' <"$out/bytes")in 3 s, Jain's index $index"
	is_true "$index > 0.8"
}

# qps_of JOB: what mlccd shows of its queue pairs on rxe_alpha, "QPS SENT_BYTES PORT'S CNPS"
qps_of()
{
	ctl -j show "$1" | "$python" -c '
import json, sys
for use in json.load(sys.stdin)[0].get("rdma", []):
    if use["device"] == "rxe_alpha":
        print(use["qps"], use["sent_bytes"], use["port_counters"]["rp_cnp_handled"])'
}

shows_bytes()
{
	local qps sent rest

	read -r qps sent rest < <(qps_of 5) && [ "$qps" = 1 ] && [ "$sent" -ge 100000 ]
}

# A clock that counts leaps over all time in which nothing runs, as while a file comes from the host,
# and so past the ten seconds in which mlccd has to answer.
told_awake()
{
	local busy

	nice -n 19 bash -c 'while :; do :; done' {carrier_lock}>&- &
	busy=$!
	defer stop "$busy"
	told "$@"
	stop "$busy"
}

# The files that mlccd and doctor read are the driver's own here.
mlccd_shows_it()
{
	local status

	need "$mlccd" --version && start_daemon || return
	ctl set-job --id 5 --name bert && echo "tclass 0 5" >/sys/kernel/debug/rxe/rxe_alpha/jobs
	traffic 1
	slowwait - shows_bytes
	status=$?
	ctl show
	ctl doctor >"$out/doctor"
	end_traffic 1
	echo "tclass 0 0" >/sys/kernel/debug/rxe/rxe_alpha/jobs
	stop "$daemon"
	unload_mlccd
	grep -E "rdma|follow|roce" "$out/doctor"
	[ "$status" = 0 ] && grep -q "rxe_alpha (soft-RoCE with mlcc's patches): DCQCN is on" \
		"$out/doctor" && grep -q "rxe_omega.*DCQCN is off" "$out/doctor" &&
		grep -q "rxe_alpha port 1: .*rp_cnp_handled" "$out/doctor"
}

# rules_are TEXT: of rxe_alpha
rules_are()
{
	prints "$1" cat /sys/kernel/debug/rxe/rxe_alpha/jobs
}

# With a carrier that is only memory: emulated processors may be ones that the tagger refuses.
mlccd_says_whose_they_are()
{
	local cgroup=/sys/fs/cgroup/mlcc-rxe mlccd=$mlccd_fake status
	local -x MLCC_FAKE=$out/carrier

	need "$mlccd" --version && start_daemon && mkdir "$cgroup" && defer rmdir "$cgroup" || return
	ctl set-job --id 6 --cgroup mlcc-rxe || return
	rules_are "cgroup $(stat -c %i "$cgroup") 6" || { cat "$out/log"; return 1; }
	echo $$ >"$cgroup/cgroup.procs"
	traffic 1
	echo $$ >/sys/fs/cgroup/cgroup.procs
	slowwait - have_sent 1 100000
	status=$?
	column job >"$out/whose"
	end_traffic 1
	echo "jobs of its QPs: $(xargs <"$out/whose")"
	ctl del-job 6
	rules_are "" || status=1
	stop "$daemon"
	[ "$status" = 0 ] && [ "$(<"$out/whose")" = 6 ]
}

# Its sender rests while all is switched off, and the rule goes: with its next packet it is no flow of
# the job any more, which nothing of it may hold.
a_job_is_left_while_all_is_off()
{
	local rules=/sys/kernel/debug/rxe/rxe_alpha/jobs status

	load_jobs && phase_begins 100000000 && echo "tclass 0 5" >"$rules" || return
	traffic 1
	slowwait - progress_is '[0-9]+' || { cat "$out"/{in,out}*; return 1; }
	# shellcheck disable=SC2154  # start() sets it
	kill -STOP "$pid_out0"
	sleep 1
	echo "tclass 0 0" >"$rules"
	knob rp_enable 0 && knob np_enable 0 && knob np_enable 0 rxe_omega
	kill -CONT "$pid_out0"
	slowwait 20 prints 0 column job
	status=$?
	cat /sys/kernel/debug/rxe/rxe_alpha/qps
	end_traffic 1
	knob np_enable 1 rxe_omega && knob np_enable 1 && knob rp_enable 1 && return "$status"
}

# T goes from 2 ms to half of that within a phase; then it is put back.
follow_drives_the_device()
{
	local i follow least=2000

	need "$tuner" --help || return
	phase_begins 12000000 || return
	echo "tclass 0 5" >/sys/kernel/debug/rxe/rxe_alpha/jobs
	"$tuner" follow rxe_alpha 5 >"$out/follow" 2>&1 {carrier_lock}>&- &
	follow=$!
	defer stop "$follow"
	traffic 1
	for ((i = 0; i < 200 && least > 1250; i++)); do
		[ "$(<"$params/rp_time_reset")" -ge "$least" ] || least=$(<"$params/rp_time_reset")
		sleep 0.05
	done
	end_traffic 1
	stop "$follow"
	echo "tclass 0 0" >/sys/kernel/debug/rxe/rxe_alpha/jobs
	cat "$out/follow"
	echo "T down to $least us, then $(<"$params/rp_time_reset")"
	[ "$least" -le 1250 ] && [ "$least" -ge 1000 ] && [ "$(<"$params/rp_time_reset")" = 2000 ]
}

# The peer ignores marks and drops CNPs; nothing else may differ.
a_peer_without_the_patches()
{
	need test -e "$stock_ko" || return
	load_rxe "$stock_ko" && setup_host sigma 10.2.0.3 &&
		add_device rxe_sigma "$sigma" rxe_stock || return
	pair 8 "$alpha" "$sigma" 10.2.0.3:7100
	slowwait - has_received in8 300000 || { cat "$out"/{in,out}*; return 1; }
	end_pair 8
	pair 9 "$sigma" "$alpha" 10.2.0.1:7101
	slowwait - has_received in9 300000 || { cat "$out"/{in,out}*; return 1; }
	end_pair 9
}

main()
{
	ktap_start
	require_rxe
	require_rxe_namespaces
	require_free_carrier
	setup_out
	load_rxe "$rxe_ko" || ktap_fail_all "rdma_rxe with the patches is loaded"
	setup_fabric && add_device rxe_alpha "$alpha" && add_device rxe_omega "$omega" || exit 1
	each ktap_check parameters_are_checked
	each told nothing_changes_while_it_is_off
	each ktap_check rules_are_checked
	each told each_queue_pair_has_a_port marks_decrease_and_time_raises_the_rate \
		two_connections_share returned_data_are_paced_and_marked answering_does_not_hold_it \
		job_has_progress follow_drives_the_device goes_by_its_leader \
		a_job_is_left_while_all_is_off
	each told_awake mlccd_shows_it mlccd_says_whose_they_are
	each told a_peer_without_the_patches
	ktap_finish
}

main
