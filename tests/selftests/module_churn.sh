#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel module while everything changes at once: 200 flows of 20 jobs in four pairs of network
# namespaces, whose jobs are set and deleted, and whose namespaces go. What goes wrong here the kernel
# says, if it has been built to (`make check-debug`).
#
#   sender 0 ══ tbf ══ receiver 0       the same addresses in each pair: 10.9.0.1, 10.9.0.2
#   sender 1 ══ losses ══ receiver 1
#   sender 2 ══ marks ══ receiver 2
#   sender 3 ══ fq ══ receiver 3

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; setup_out sets out

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"

readonly pairs=4 jobs=5 flows=10 churn_s=8
# Jobs compute for as long as leaves an emulated machine time for what is done to them.
readonly compute_ms=${KSFT_MACHINE_SLOW:+2000}
senders=()
receivers=()

### Four pairs

drop_ns()
{
	[ ! -e "/run/netns/$1" ] || lib_del_ns "$1"
}

# setup_mortal NAME: as setup_ns, of a namespace that the test may delete itself
setup_mortal()
{
	ip netns add "$1" || return
	defer drop_ns "$1"
	ip -n "$1" link set dev lo up &&
		ip netns exec "$1" sysctl -qw net.ipv4.tcp_orphan_retries=1 \
			net.ipv4.tcp_retries2=3 net.ipv4.tcp_ecn=1
}

# shape PAIR NAMESPACE: its queue, which is the bottleneck
shape()
{
	case $1 in
	0) tc -n "$2" qdisc add dev eth0 root tbf rate 40mbit burst 16kb limit 100kb ;;
	1) tc -n "$2" qdisc add dev eth0 root netem delay 2ms loss 1% limit 200 ;;
	2) tc -n "$2" qdisc add dev eth0 root handle 1: tbf rate 40mbit burst 16kb limit 200kb &&
		tc -n "$2" qdisc add dev eth0 parent 1:1 handle 2: red limit 200000 min 8000 \
			max 24000 avpkt 1500 burst 8 probability 1 bandwidth 40mbit ecn ;;
	3) tc -n "$2" qdisc add dev eth0 root fq ;;
	esac
}

setup_pair()
{
	local sender receiver

	printf -v sender 'sender%s-%04x' "$1" "$RANDOM"
	printf -v receiver 'receiver%s-%04x' "$1" "$RANDOM"
	senders+=("$sender")
	receivers+=("$receiver")
	setup_mortal "$sender" && setup_mortal "$receiver" &&
		setup_veth "$sender" eth0 "$receiver" eth0 &&
		ip -n "$sender" addr add 10.9.0.1/24 dev eth0 &&
		ip -n "$receiver" addr add 10.9.0.2/24 dev eth0 &&
		shape "$1" "$sender"
}

setup_pairs()
{
	local pair

	for ((pair = 0; pair < pairs; pair++)); do
		setup_pair "$pair" || return
	done
}

### Their flows

# send PAIR: its jobs' flows, without an end
send()
{
	local job

	for ((job = 1; job <= jobs; job++)); do
		start "job$1_$job" "${senders[$1]}" job --peer 10.9.0.2:5001 --flows "$flows" \
			--bytes 100000 --compute-ms "${compute_ms:-100}" --noise 0.1 --seed "$job" --iterations 0 \
			--timeout-s 600 --cc "$cc" --mark "$job"
	done
}

# Of all namespaces, as long as none has a job of its own.
total_flows()
{
	column flows | awk '{ sum += $1 } END { print sum + 0 }'
}

# jobs_are_the_hosts PAIR...: whatever has been set and deleted here and there
jobs_are_the_hosts()
{
	local pair job

	for ((job = 1; job <= jobs; job++)); do
		for pair in "$@"; do
			ip netns exec "${senders[pair]}" "$driver" job del "$job" 2>/dev/null
		done
		set_jobs "$job" || return
	done
}

flows_are()
{
	[ "$(total_flows)" -eq "$1" ]
}

all_flows_come_up()
{
	local pair

	for ((pair = 0; pair < pairs; pair++)); do
		start "recv$pair" "${receivers[pair]}" recv --listen 10.9.0.2:5001 --cc "$cc" \
			--sample-ms 200 --timeout-s 600
		slowwait - is_listening 5001 "${receivers[pair]}" || return
		send "$pair"
	done
	slowwait - flows_are $((pairs * jobs * flows)) && grow 0 1 2 3 && return
	echo "flows: $(total_flows)"
	api job list
	cat "$out"/*.err
	return 1
}

# grow PAIR...: what they have received does
grow()
{
	local pair

	for pair in "$@"; do
		slowwait - has_received "recv$pair" $(($(received "recv$pair") + 1)) ||
			{ echo "pair $pair stands"; return 1; }
	done
}

### What happens to them

# in_background NAME COMMAND...
in_background()
{
	local name=$1
	shift

	"$@" >"$out/$name" 2>&1 {carrier_lock}>&- &
	printf -v "pid_$name" '%s' "$!"
	defer stop "$!"
}

# write_jobs [NAMESPACE]: by libmlcc, until told to stop; nobody waits for anybody here, so refusals are
# in order, and a module that goes takes its family and its files along.
write_jobs()
{
	local job i in=()

	[ $# -eq 0 ] || in=(ip netns exec "$1")
	for ((i = 0; ; i++)); do
		job=$((RANDOM % jobs + 1))
		"${in[@]}" "$driver" job set "$job" "" "" $((i * 1000)) , phase start "$job" 50000 , \
			job set "$job" "" mltcp 0 , phase end "$job" , job list
		"${in[@]}" "$driver" job del "$job" , \
			profile set hotnets22 65536 65536 0 $((i % 4 + 1)) reno base , job new "$job" again "" 0
		echo ff >"$parameters/mark_mask"
	done >/dev/null 2>&1
}

read_jobs()
{
	while :; do
		api job list , profile list >/dev/null 2>&1
		cat "$parameters"/* >/dev/null 2>&1
		ip netns exec "$1" ss -tin >/dev/null 2>&1
	done
}

# The events go with the module.
trace()
{
	local enable=/sys/kernel/tracing/events/mlcc/enable

	[ ! -e "$enable" ] || echo 1 >"$enable"
}

jobs_change_while_their_flows_send()
{
	local pair

	trace
	in_background host write_jobs
	in_background reader read_jobs "${senders[2]}"
	for ((pair = 0; pair < pairs; pair++)); do
		in_background "writer$pair" write_jobs "${senders[pair]}"
	done
	sleep "$churn_s"
	for pair in host reader writer{0..3}; do
		stop_named "$pair"
	done
	jobs_are_the_hosts 0 1 2 3 && flows_are $((pairs * jobs * flows)) && grow 0 1 2 3
}

# kill_all NAMESPACE: its processes
kill_all()
{
	local pids

	mapfile -t pids < <(ip netns pids "$1")
	[ "${#pids[@]}" -eq 0 ] || kill -9 "${pids[@]}"
}

# A namespace goes with the last of its sockets: of pair 0 they have more to send, those of pair 1
# have lost their peers, those of pair 2 are closed by force, and their cable is cut.
namespaces_go_while_their_flows_send()
{
	local namespace

	in_background host write_jobs
	in_background writer3 write_jobs "${senders[3]}"
	in_background reader read_jobs "${senders[3]}"
	kill_all "${senders[0]}" && ip netns del "${senders[0]}"
	kill_all "${receivers[1]}" && ip netns del "${receivers[1]}"
	kill_all "${senders[1]}" && ip netns del "${senders[1]}"
	ip netns exec "${senders[2]}" ss -tK "dport = :5001" >/dev/null 2>&1
	ip -n "${senders[2]}" link del eth0
	kill_all "${senders[2]}" && ip netns del "${senders[2]}"
	for namespace in "${receivers[0]}" "${receivers[2]}"; do
		kill_all "$namespace" && ip netns del "$namespace"
	done
	sleep "$churn_s"
	stop_named host
	stop_named writer3
	stop_named reader
	jobs_are_the_hosts 3 && slowwait - flows_are $((jobs * flows)) && grow 3 && return
	echo "flows: $(total_flows)"
	api job list
	return 1
}

it_goes_with_the_last_flow()
{
	local job

	for ((job = 1; job <= jobs; job++)); do
		stop_named "job3_$job"
	done
	stop_named recv3
	slowwait - rmmod tcp_mlcc && cc_gone
}

### A module that comes and goes

# Sockets ask for it all the time, and root's load it.
ask_again_and_again()
{
	while :; do
		ip netns exec "${senders[3]}" "$burst" job --peer 10.9.0.2:5001 --flows "$flows" \
			--bytes 100000 --compute-ms 1 --iterations 2 --timeout-s 60 --cc "$cc" --mark 1
	done
}

it_comes_and_goes()
{
	local i

	start recv3 "${receivers[3]}" recv --listen 10.9.0.2:5001 --timeout-s 600
	in_background asker ask_again_and_again
	in_background writer write_jobs
	in_background reader read_jobs "${senders[3]}"
	for ((i = 0; i < 10; i++)); do
		modprobe tcp_mlcc
		slowwait - rmmod tcp_mlcc >/dev/null 2>&1 || { echo "round $i: it stays"; return 1; }
	done
	stop_named asker
	kill_all "${senders[3]}"
	stop_named writer
	stop_named reader
	stop_named recv3
	unload_quietly && cc_gone && [ ! -e /sys/module/tcp_mlcc ]
}

main()
{
	ktap_start
	require_carrier
	setup_out
	defer unload_quietly
	modprobe tcp_mlcc || ktap_fail_all "tcp_mlcc is loaded"
	jobs_are_the_hosts || ktap_fail_all "jobs are set"
	setup_pairs || exit 1
	each told all_flows_come_up jobs_change_while_their_flows_send namespaces_go_while_their_flows_send \
		it_goes_with_the_last_flow it_comes_and_goes
	ktap_finish
}

main
