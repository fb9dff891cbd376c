#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mlcc-ctl observe says what a job waits for, as nobody, without a carrier, and leaves no trace.
# Each case is a job of ten phases or more that has one thing to wait for.

# shellcheck disable=SC2317  # main calls the cases by name

# shellcheck source=tests/selftests/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/selftests/pairs.sh
. "$here/pairs.sh"

ctl=$repo/build/userspace/mlcc-ctl/mlcc-ctl
cc=cubic
exec {carrier_lock}</dev/null
pids=()

# in_job NAME COMMAND...: in a cgroup of its own
in_job()
{
	mkdir -p "$top/$1"
	in_cgroup "$top/$1" "$sender" "${@:2}" >/dev/null 2>&1 &
	pids+=("$!")
}

# trains NAME BYTES ADDRESS:PORT...: computes for 100 ms, sends, and again
trains()
{
	local name=$1 bytes=$2
	shift 2

	# shellcheck disable=SC2046  # two words each
	in_job "$name" "$burst" job --cc "$cc" --bytes "$bytes" --compute-ms 100 --iterations 0 \
		$(printf -- '--peer %s ' "$@")
}

# serves PORT STEP..., steps ARGUMENTS...: both ends of steps.py
serves()
{
	local port=$1
	shift

	ip netns exec "$receiver" "$python" "$here/steps.py" --listen "10.1.2.2:$port" "$@" >/dev/null 2>&1 &
	pids+=("$!")
	slowwait - is_listening "$port" >/dev/null
}

steps()
{
	in_job bert "$python" "$here/steps.py" "$@"
}

# looks TIME: what observe has seen of the jobs is $out/seen; it is nobody's
looks()
{
	sleep 0.3
	nsenter --net="/run/netns/$sender" setpriv --reuid=65534 --regid=65534 --clear-groups \
		--bounding-set=-all --inh-caps=-all "$out/mlcc-ctl" -j observe --for "$1" \
		--metrics "$out/nobodys/metrics" --record "$out/nobodys/record" --plot "$out/nobodys/live.svg" |
		tail -n 1 >"$out/seen"
}

# from FILE: what observe says of it is $out/again
from()
{
	"$out/mlcc-ctl" -j observe --plot "$out/nobodys/from.svg" --from "$1" >"$out/again"
}

says_the_same()
{
	local all='"\\n".join(sorted(map(str, d["jobs"] + [d["seconds"], d["looks"]] +
		[o["seconds"] for o in d["overlaps"]])))'

	from "$out/nobodys/record" && diff <(json "$all" <"$out/seen") <(json "$all" <"$out/again") &&
		diff <(sort "$out/nobodys/live.svg") <(sort "$out/nobodys/from.svg")
}

# drawn JOB CAUSE...: how many bars the picture has of it
drawn()
{
	awk -v "end=$1</text>" -v "cause=\"$2\"" '/<text/ { on = index($0, end) } on && index($0, "rect class=" cause) { n++ }
		END { print n + 0 }' "$out/nobodys/from.svg"
}

ends()
{
	kill "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	pids=()
}

# first_is CAUSE...: what bert waits for, in $time
first_is()
{
	looks "${time:-4.5s}"
	ends
	json 'next((str(j["first"]) + " " + str({c: round(s, 2) for c, s in j["seconds"].items() if s})
		for j in d["jobs"] if j["name"].endswith("bert")), "no job")' <"$out/seen" >"$out/first"
	cat "$out/first"
	says_the_same || return
	[[ " $* " == *" $(cut -d ' ' -f 1 "$out/first") "* ]]
}

overlaps_with()
{
	json "sum(o['seconds'] for o in d['overlaps'] if o['device'] == 'eth0' and
		'$1' in o['job'] + o['with'])" <"$out/seen" >"$out/shared"
	echo "seconds beside $1: $(<"$out/shared")"
	grep -E "^mlcc_observe_overlap_.*$1\"(,with=.*)?,device=\"eth0\"} [0-9]" "$out/nobodys/metrics" &&
		grep -E '^mlcc_observe_seconds_total.cgroup=".*bert",cause="network"} [0-9]' "$out/nobodys/metrics" &&
		grep -E '^mlcc_observe_lost_seconds_total.cgroup=".*bert"} [0-9]' "$out/nobodys/metrics" &&
		[ "$(tail -n 1 "$out/nobodys/metrics")" = "# EOF" ] || return
	is_true "$(<"$out/shared") > 0.5"
}

# bottleneck MBIT BURST LIMIT [DEVICE]
bottleneck()
{
	tc -n "$router" qdisc replace dev "${4:-right}" root tbf rate "$1mbit" burst "$2" limit "$3"
}

alone_it_waits_for_nothing()
{
	trains bert 200000 10.1.2.2:5000
	first_is compute
}

another_job_is_the_network()
{
	trains bert 2000000 10.1.2.2:5000
	trains gpt 5000000 10.1.2.2:5001
	ss_loop >"$out/ss" 2>/dev/null &
	pids+=("$!")
	first_is network && overlaps_with gpt || return
	echo "bars: $(drawn bert network) $(drawn gpt network)"
	[ "$(drawn bert network)" -gt 5 ] && [ "$(drawn gpt network)" -gt 2 ] && ss_says_so
}

# As people have it, ten times a second.
ss_loop()
{
	while sleep 0.1; do
		date +%s.%N
		nsenter --net="/run/netns/$sender" ss -tinH --cgroup
	done
}

ss_says_so()
{
	from "$out/ss" && json '[(j["name"], j["first"]) for j in d["jobs"]], [o["seconds"] for o in d["overlaps"]]' \
		<"$out/again" | tee "$out/verdict"
	grep -E "/bert', '(network|unknown)'" "$out/verdict" | grep -q '\[[0-9.]*\])$'
}

# one_look_in N: what is left says that bert waits, and not for what
one_look_in()
{
	awk -v n="$1" '/^[0-9]/ { k++ } k % n == 1' "$out/nobodys/record" >"$out/fewer" && from "$out/fewer" || return
	json 'd["jobs"][0]["first"], d["jobs"][0]["seconds"]' <"$out/again" | tee "$out/verdict"
	grep -q "'unknown', {" "$out/verdict"
}

who_does_not_read_is_the_receiver()
{
	serves 7000 r8000 w1
	steps 10.1.2.2:7000 w100 s500000 e
	first_is receiver
}

pauses_within_a_phase_are_the_sender()
{
	serves 6001 r65536
	steps 10.1.2.2:6001 w150 s300000 e w30 s300000 e w30 s300000 e
	first_is sender
}

a_late_peer_is_the_peer()
{
	serves 6002 r300000 w40 s300000 r300000 w40 s300000
	steps 10.1.2.2:6002 w150 s300000 r300000 s300000 r300000
	first_is peer
}

reading_data_first_is_storage()
{
	serves 6003 r65536
	serves 2049 r1000 s200000 w15 s200000 w15 s200000 w15 s200000 w15 s200000
	steps 10.1.2.2:6003,10.1.2.2:2049 w100 @1 s1000 r1000000 @0 s500000 e
	first_is storage
}

a_token_bucket_is_a_policer()
{
	local time=7s

	bottleneck 80 400kb 12kb
	trains bert 2000000 10.1.2.2:{5000,5000,5000,5000}
	first_is policer && one_look_in 10
}

# As ECMP may choose: four of five connections on one of two links.
a_crowded_link_is_a_path()
{
	bottleneck 60 16kb 100kb
	bottleneck 60 16kb 100kb right2
	trains bert 1500000 10.1.2.2:{5000,5000,5000,5000} 10.1.3.2:5000
	first_is path
}

outages()
{
	while sleep 0.2; do
		ip -n "$router" route add blackhole 10.1.2.2
		sleep 0.03
		ip -n "$router" route del blackhole 10.1.2.2
	done 2>/dev/null
}

time_outs_are_losses()
{
	bottleneck "$link_mbit" 16kb 300kb
	outages &
	pids+=("$!")
	trains bert 2000000 10.1.2.2:5000
	first_is loss
}

# refused LINE PATTERN TEXT: this line is named, and nothing written
refused()
{
	local status

	printf '%b' "$3" >"$out/broken"
	"$out/mlcc-ctl" observe --from "$out/broken" --plot "$out/refused.svg" --metrics "$out/refused" >"$out/verdict" 2>&1
	status=$?
	cat "$out/verdict"
	[ "$status" -eq 1 ] && [ "$(wc -l <"$out/verdict")" -eq 1 ] && grep -q "line $1: .*$2" "$out/verdict" &&
		! ls "$out"/refused* 2>/dev/null
}

a_broken_record_is_refused()
{
	local ends='10.0.0.1:1 10.0.0.2:2' long

	printf -v long '%070000d' 0
	refused 1 'version 1' '# mlcc-ctl observe 2\n' &&
		refused 1 'neither a time' 'tcp ESTAB 0 0\n' &&
		refused 1 'no time before' "ESTAB 0 0 $ends\n" &&
		refused 2 'two addresses' '1\nESTAB 0 0 10.0.0.1:1\n' &&
		refused 2 'no address' "1\nESTAB 0 0 10.0.0.1:1 10.0.0.2.3:2\n" &&
		refused 2 'no number' "1\nESTAB 0 0 10.0.0.1:ssh 10.0.0.2:2\n" &&
		refused 3 'cannot be' "1\nESTAB 0 0 $ends\n cwnd:5000000000\n" &&
		refused 3 'no number' "1\nESTAB 0 0 $ends\n rtt:-1\n" &&
		refused 4 'no later' "2\nESTAB 0 0 $ends cwnd:10\n# slept\n2\n" &&
		refused 2 'too long' "1\n$long\n" || return
	# but what its writer was stopped in the middle of
	printf '1\nESTAB 0 0 %s cwnd:10\n2\nESTAB 0 0 10.0' "$ends" >"$out/cut"
	"$out/mlcc-ctl" -j observe --all --from "$out/cut" >"$out/verdict" && grep '"looks":2' "$out/verdict"
}

# Whatever could be changed of the namespace, the connections of a job, and their cgroup.
state()
{
	ip netns exec "$sender" ss -Htie "dport = :5000" | grep -oE 'cubic|fwmark:[^ ]*|tos:[^ ]*'
	# which there are is the same for all namespaces, and another test's
	nsenter --net="/run/netns/$sender" sysctl -a --pattern '^net' | grep -v tcp_available_congestion
	ip netns exec "$sender" sh -c 'ip route; ip rule; tc qdisc'
	bpftool cgroup tree "$top" effective
} 2>/dev/null

it_changes_nothing()
{
	trains bert 2000000 10.1.2.2:5000
	slowwait - cc_in_use 5000 cubic >/dev/null
	state >"$out/before"
	looks 1s &
	sleep 0.7
	# others may load programs meanwhile
	! grep -HE '^(prog|map|link)_id' /proc/"$(pgrep -n -x -u 65534 mlcc-ctl)"/fdinfo/* || return
	wait "$!"
	state >"$out/after"
	ends
	grep -q '^cubic' "$out/before" && grep -q '"compute"' "$out/seen" && diff "$out/before" "$out/after"
}

# A machine that does other things, too, is something to wait for: a case may be seen three times.
thrice()
{
	"$1" || { [ $? -eq "$KSFT_SKIP" ] && return "$KSFT_SKIP"; } || "$1" || "$1"
}

told_thrice()
{
	seen() { thrice "$ktap_case"; }
	told "$1" seen
}

remove_groups()
{
	slowwait - rmdir "$top"/*/ "$top"
}

# A second link from the router to the receiver.
setup_right2()
{
	setup_veth "$router" right2 "$receiver" eth1 &&
		ip -n "$router" addr add 10.1.3.1/24 dev right2 &&
		ip -n "$receiver" addr add 10.1.3.2/24 dev eth1 &&
		no_offloads "$router" right2 && no_offloads "$receiver" eth1
}

main()
{
	require_root
	require_built
	require_command nsenter setpriv bpftool pgrep
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/mlcc-observe-$$
	mkdir "$top" 2>/dev/null || ktap_skip_all "no cgroup hierarchy of version 2"
	defer remove_groups
	setup_out
	install -m 755 "$ctl" "$out/mlcc-ctl" && chmod 755 "$out"
	install -d -o 65534 "$out/nobodys"
	if ! setup_link 300kb || ! setup_right2; then
		ktap_skip_all "no namespaces, or no tbf"
	fi
	receive one 5000
	receive two 5001
	start three "$receiver" recv --listen 10.1.3.2:5000
	defer ends
	ktap_start
	each told it_changes_nothing a_broken_record_is_refused
	each told_thrice alone_it_waits_for_nothing another_job_is_the_network who_does_not_read_is_the_receiver \
		pauses_within_a_phase_are_the_sender a_late_peer_is_the_peer reading_data_first_is_storage \
		a_token_bucket_is_a_policer a_crowded_link_is_a_path time_outs_are_losses
	ktap_finish
}

main
