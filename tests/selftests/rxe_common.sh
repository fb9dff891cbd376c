# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # what is set here or there is used there or here
#
# What the tests of soft-RoCE share: two hosts with a device each, and a bottleneck that marks.
#
#   alpha ── switch ══ htb 30 Mb/s, red with ecn ══ omega
#   10.2.0.1, rxe_alpha                             10.2.0.2, rxe_omega

# shellcheck source=tests/selftests/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

: "${RATE_MBIT:=30}" "${KMIN:=15000}" "${KMAX:=60000}"

running=$(uname -r | grep -oE '^[0-9]+\.[0-9]+')
rxe_ko=$repo/build/rxe/$running/rdma_rxe.ko
stock_ko=$repo/build/rxe/$running/rdma_rxe_stock.ko
burst=$repo/tests/lab/mlcc-burst-verbs
params=/sys/kernel/debug/rxe/rxe_alpha/cc_params
peer=10.2.0.2

require_rxe()
{
	require_root
	require_command rdma ip tc modprobe insmod rmmod awk
	[ -e "$rxe_ko" ] || ktap_skip_all "needs rdma_rxe with the patches: tests/vm/rxe $running"
	[ -x "$burst" ] || ktap_skip_all "needs mlcc-burst-verbs: libibverbs-dev, make -C tests/lab"
	[ ! -d /sys/module/rdma_rxe ] || ktap_skip_all "rdma_rxe is loaded, and not by this test"
	require_module ib_uverbs udp_tunnel ip6_udp_tunnel
}

# Elsewhere the driver takes packets only in the first one.
require_rxe_namespaces()
{
	require_kernel 7.2
	require_module bridge sch_htb sch_red
}

# load_rxe FILE
load_rxe()
{
	insmod "$1" || return
	defer rmmod "$(basename "$1" .ko)"
}

# setup_switch NAME
setup_switch()
{
	setup_ns "$1" && ip -n "${!1}" link add name br0 type bridge &&
		ip -n "${!1}" link set dev br0 up
}

# setup_host NAME ADDRESS [SWITCH]: a namespace with a cable to the switch
setup_host()
{
	local at=${3:-switch}

	setup_ns "$1" && setup_veth "${!1}" eth0 "${!at}" "$1" &&
		ip -n "${!at}" link set dev "$1" master br0 &&
		ip -n "${!1}" addr add "$2/24" dev eth0
}

# mark_towards PORT [SWITCH [MBIT]]
# RED looks at an average; a burst this small makes it follow the queue closely.
mark_towards()
{
	local at=${2:-switch} rate=${3:-$RATE_MBIT}mbit burst=$(((2 * KMIN + KMAX) / 3000 + 1))

	tc -n "${!at}" qdisc add dev "$1" root handle 1: htb default 10 &&
		tc -n "${!at}" class add dev "$1" parent 1: classid 1:10 htb \
			rate "$rate" burst 4000 cburst 4000 quantum 3000 &&
		tc -n "${!at}" qdisc add dev "$1" parent 1:10 handle 10: red limit 1000000 \
			min "$KMIN" max "$KMAX" avpkt 1000 burst "$burst" \
			bandwidth "$rate" probability 0.1 ecn
}

setup_fabric()
{
	setup_switch switch && setup_host alpha 10.2.0.1 && setup_host omega 10.2.0.2 &&
		mark_towards omega
}

# add_device NAME NAMESPACE [TYPE]: on its eth0, once it has its address as a GID
add_device()
{
	ip netns exec "$2" rdma link add "$1" type "${3:-rxe}" netdev eth0 || return
	defer del_device "$1" "$2"
	slowwait - gid_index "$1" >/dev/null
}

# A driver that is unloaded takes the devices of both with it: to the core they are one driver.
del_device()
{
	[ ! -e "/sys/class/infiniband/$1" ] || ip netns exec "$2" rdma link del "$1"
}

# gid_index DEVICE: of its IPv4 address
gid_index()
{
	local gid

	gid=$(grep -ls "ffff:0a02" "/sys/class/infiniband/$1/ports/1/gids/"*) && echo "${gid##*/}"
}

# knob NAME VALUE [DEVICE]
knob()
{
	echo "$2" 2>/dev/null >"/sys/kernel/debug/rxe/${3:-rxe_alpha}/cc_params/$1"
}

# counter DEVICE NAME
counter()
{
	rdma statistic show link "$1/1" |
		awk -v name="$2" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }'
}

# column NAME [DEVICE]: of the device's QPs that have sent anything, one a line
column()
{
	awk -v name="$1" '
		NR == 1 { for (i = 2; i <= NF; i++) if ($i == name) at = i - 1; next }
		$7 > 4096 { print $at }' "/sys/kernel/debug/rxe/${2:-rxe_alpha}/qps"
}

# pair ID FROM TO ADDRESS: a connection; a counted clock runs ahead while a file comes from the host
pair()
{
	start "in$1" "$3" recv --listen "$4" --job "in$1" --sample-ms 100
	start "out$1" "$2" bulk --peer "$4" --job "out$1" --timeout-s 900
}

end_pair()
{
	stop_named "out$1"
	stop_named "in$1"
}

# traffic COUNT: so many RC connections from alpha to omega, each of a process of its own
traffic()
{
	local i

	for ((i = 0; i < $1; i++)); do
		pair "$i" "$alpha" "$omega" "$peer:$((7000 + i))"
	done
}

end_traffic()
{
	local i

	for ((i = 0; i < $1; i++)); do
		end_pair "$i"
	done
}

# have_sent COUNT BYTES: so many QPs, so much each
have_sent()
{
	column sent | awk -v count="$1" -v least="$2" '$1 >= least { n++ } END { exit n < count }'
}

refused()
{
	! knob "$1" "$2" || { echo "$1: $2 was taken"; return 1; }
}

parameters_are_checked()
{
	local before

	before=$(cat "$params"/*)
	refused rp_ai_rate 0 && refused rp_ai_rate x && refused rp_ai_rate -1 &&
		refused rp_threshold 32 && refused rp_gd 10 && refused np_cnp_dscp 64 &&
		refused rp_min_rate 20000 && [ "$(cat "$params"/*)" = "$before" ] || return
	knob rp_ai_rate 0x2 && [ "$(<"$params/rp_ai_rate")" = 2 ] && knob rp_ai_rate 1
}

rules_are_checked()
{
	local jobs=/sys/kernel/debug/rxe/rxe_alpha/jobs word

	for word in "" "cgroup" "cgroup 0 1" "tclass 256 1" "tclass 8 1 x" "mark 1 1" "tclass 4 0"; do
		! echo "$word" 2>/dev/null >"$jobs" || { echo "'$word' was taken"; return 1; }
	done
	echo "tclass 9 3" >"$jobs" && echo "cgroup 7 4" >"$jobs" && echo "tclass 8 5" >"$jobs" &&
		[ "$(<"$jobs")" = "tclass 8 5"$'\n'"cgroup 7 4" ] &&
		echo "tclass 8 0" >"$jobs" && echo "cgroup 7 0" >"$jobs" && [ -z "$(<"$jobs")" ]
}

load_jobs()
{
	[ -d /sys/module/tcp_mlcc ] || { modprobe tcp_mlcc && defer slowwait - rmmod tcp_mlcc; }
}

# progress_is REGEX: of a QP of job 5
progress_is()
{
	awk -v wanted="^$1\$" 'NR > 1 && $8 == 5 && $9 ~ wanted { found = 1 } END { exit !found }' \
		/sys/kernel/debug/rxe/rxe_alpha/qps
}

# phase_begins BYTES: of job 5, which lasts until there is another: a busy guest's pauses do not end it
phase_begins()
{
	"$python" "$here/module_netlink.py" ask JOB_SET ID=5 &&
		"$python" "$here/module_netlink.py" ask PHASE_START ID=5 "PHASE_BYTES=$1"
}

# tcp_mlcc has the jobs; phases are announced, so that one is enough.
job_has_progress()
{
	local status

	load_jobs || return
	phase_begins 10000000 || return
	echo "tclass 0 5" >/sys/kernel/debug/rxe/rxe_alpha/jobs
	traffic 1
	slowwait - have_sent 1 300000 || { cat "$out"/{in,out}*; return 1; }
	cat /sys/kernel/debug/rxe/rxe_alpha/qps
	progress_is '[1-9][0-9]*'
	status=$?
	! rmmod tcp_mlcc 2>/dev/null || { echo "tcp_mlcc went though a QP uses it"; status=1; }
	end_traffic 1
	echo "tclass 0 0" >/sys/kernel/debug/rxe/rxe_alpha/jobs
	return "$status"
}

# What is announced gives the job a progress of its own, until it has heard of its leader.
goes_by_its_leader()
{
	local status=0 hear

	load_jobs || return
	phase_begins 100000000 || return
	echo "tclass 0 5" >/sys/kernel/debug/rxe/rxe_alpha/jobs
	traffic 1
	slowwait - progress_is '[0-9]+' || { cat "$out"/{in,out}*; return 1; }
	"$python" "$here/module_netlink.py" hear 5 32768 20 &
	hear=$!
	defer stop "$hear"
	slowwait 20 progress_is 500 || { echo "not as its leader says"; status=1; }
	stop "$hear"
	slowwait - progress_is - || { echo "not neutral without its leader"; status=1; }
	cat /sys/kernel/debug/rxe/rxe_alpha/qps
	end_traffic 1
	echo "tclass 0 0" >/sys/kernel/debug/rxe/rxe_alpha/jobs
	return "$status"
}
