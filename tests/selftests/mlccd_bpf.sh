#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The whole chain on the running kernel: mlcc-ctl, mlccd, libmlcc, the BPF carrier and the tagger.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"
# shellcheck source=tests/selftests/mlccd_common.sh
. "$(dirname "$0")/mlccd_common.sh"

kills=${MLCC_KILLS:-20}

stop_daemon()
{
	[ -z "$daemon" ] || { kill "-${1:-TERM}" "$daemon" && wait "$daemon"; } 2>/dev/null
	daemon=
}

clean_up()
{
	stop_daemon KILL
	unload_mlccd 2>/dev/null
	[ ! -d "$cgroup" ] || { echo 1 >"$cgroup/cgroup.kill"; slowwait - rmdir "$cgroup"; }
	return 0
}

setup_job()
{
	require_cgroup2
	name=mlccd-bpf-$$
	cgroup=$cgroups/$name
	mkdir "$cgroup"
}

is_ready()
{
	ctl -j status | json '[d["carrier"], d["tagger"]]' | grep -q "'bpf', True"
}

# What a process finds out that "run" has started: algorithm and mark of both ends of a connection.
pair='
import socket
l = socket.socket()
l.bind(("127.0.0.1", 0))
l.listen()
a = socket.create_connection(l.getsockname())
b, _ = l.accept()
for s in a, b:
    cc = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    print(cc.rstrip(b"\0").decode(), s.getsockopt(socket.SOL_SOCKET, 36))
'

run_makes_a_job()
{
	local said

	said=$(ctl run --strict --name chain -- "$python" -c "$pair") || return
	echo "$said"
	[ "$(cut -d ' ' -f 1 <<<"$said" | sort -u)" = mlcc ] || return
	[ "$(cut -d ' ' -f 2 <<<"$said" | sort -u | grep -cv '^0$')" = 1 ] || return
	slowwait - no_run_is_left
}

no_run_is_left()
{
	[ "$(ctl -j show)" = "[]" ] && ! compgen -G "$(dirname "$cgroup")/mlcc-run-*"
}

# finds WANTED [COMMAND...]: what a process that the command starts says as $wire has it
finds()
{
	local wanted=$1 is PATH=$out/bin:$PATH
	shift

	is=$("$@" "$python" -c "$wire" 2>"$out/warned")
	[ "$is" = "$wanted" ] || { echo "$*: $is, wanted $wanted"; cat "$out/warned"; return 1; }
}

# dscp_is DSCP CLASS OPTIONS...: of a process of the cgroup
dscp_is()
{
	ctl set-job --cgroup "$name" --name classes --class "${@:2}" >/dev/null &&
		finds "$1 $1 $2" in_cgroup "$cgroup" ""
}

# Only where priorities are on: latency has the last of mlccd.conf's, background RFC 8622's.
class_and_dscp_agree()
{
	dscp_is 0 latency && dscp_is 0 background && dscp_is 34 latency --priority 2 &&
		dscp_is 1 background --priority 8 && dscp_is 0 training --priority 4 && ctl del-job classes
}

# reconfigure [LINE...]: as it was at the start, and these
reconfigure()
{
	local before

	before=$(grep -c 'has read' "$out/log")
	keep_loopback
	printf '%s\n' "$@" >>"$config"
	kill -HUP "$daemon" && slowwait - more_than "$before" grep -c 'has read' "$out/log"
}

# python_finds WANTED STATEMENT: of a job that says so itself
python_finds()
{
	finds "$1" mlcc-ctl run --name bert -- env PYTHONPATH="$repo/userspace/python" \
		MLCC_SOCKET="$out/run/mlccd.sock" "$python" -Bc "import mlcc_torch, sys
$2 exec(sys.argv[3])"
}

# What launchers are told is on the first packet: by the environment, by an option, by training.
environment_and_option_reach_the_wire()
{
	local run=$repo/userspace/launchers/mlcc-run

	reconfigure "[limits]" "priority-classes = 8" &&
		finds "1 1 background" env MLCC_CLASS=background "$run" && finds "0 0 training" "$run" &&
		finds "34 34 latency" mlcc-ctl run --class latency -- &&
		python_finds "1 1 background" "mlcc_torch.job(class_='background');" &&
		python_finds "1 1 background" "with mlcc_torch.checkpoint():" &&
		finds "0 0 none" env MLCC_CLASS=greedy "$run" && grep -q 'mlcc-run: .*without' "$out/warned" &&
		slowwait - no_run_is_left && reconfigure
}

# Pods with these classes, of the numbers 0, 1, ...
agent='
import sys
import test_mlcc_agent as pods
root, ctl, *classes = sys.argv[1:]
server = pods.FakeServer()
uid = pods.UID[1:]
server.items = [pods.pod(f"{n}{uid}", job="bert", **{"class": c}) for n, c in enumerate(classes)]
api = f"http://127.0.0.1:{server.server_address[1]}"
pods.agent.main(["--server", api, "--node", "n", "--cgroup-root", root, "--ctl", ctl])
'

# And one that may not have its class runs without, with one line.
an_annotation_reaches_the_wire()
{
	local pod=$cgroup/kubepods/pod status pid

	reconfigure "[limits]" "priority-classes = 8" &&
		mkdir -p "$pod"{0,1}123abcd-0000-4000-8000-0123456789ab || return
	PYTHONPATH=$repo/userspace/launchers/kubernetes "$python" -B -c "$agent" "$cgroup" \
		"$out/bin/mlcc-ctl" background latency 2>"$out/agent" {carrier_lock}>&- &
	pid=$!
	slowwait - grep -qs 'latency-class = no' "$out/agent" &&
		finds "1 1 background" in_cgroup "$pod"0* "" && finds "0 0 none" in_cgroup "$pod"1* "" &&
		[ "$(wc -l <"$out/agent")" = 1 ]
	status=$?
	[ "$status" -eq 0 ] || cat "$out/agent"
	stop "$pid"
	rmdir "$pod"* "${pod%/*}" && slowwait - prints "[]" ctl -j show && reconfigure && return "$status"
}

# Connections of a job by their port, those that there are and new ones, are another job's.
storage_is_background()
{
	local said bert other

	ctl set-job --cgroup "$name" --name bert >/dev/null || return
	said=$("$python" -c "
import os, signal, time
open('$cgroup/cgroup.procs', 'w').write(str(os.getpid()))
$pair
def mark(s):
    return s.getsockopt(socket.SOL_SOCKET, 36)
storage = socket.create_server(('127.0.0.1', 0))
port = storage.getsockname()[1]
old = socket.create_connection(storage.getsockname())
before = mark(old), mark(a)
open('$config', 'a').write(f'background = {port}\n[limits]\npriority-classes = 8\n')
os.kill($daemon, signal.SIGHUP)
end = time.monotonic() + 60
while mark(old) == before[0] and time.monotonic() < end:
    time.sleep(0.05)
new = socket.create_connection(storage.getsockname())
tos = [s.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) >> 2 for s in (new, a)]
print('seen', *before, mark(a), mark(old), mark(new), *tos)
" | sed -n 's/^seen //p')
	bert=$(id_of bert) && other=$(id_of conf/background) || return
	[ "$said" = "$bert $bert $bert $other $other 1 0" ] || { echo "said: $said"; ctl show; return 1; }
	ctl -j show conf/background | json 'd[0]["class"]' | grep -qx background || return
	reconfigure && ! ctl show conf/background 2>/dev/null && ctl del-job bert
}

# rank NAME: of an ordinary user, where they may read it: this tree may be below /root
rank()
{
	in_cgroup "$cgroup" "" env LD_LIBRARY_PATH="$out/ranks" \
		PYTHONPATH="$out/ranks/python" MLCC_SOCKET="$out/run/mlccd.sock" \
		setpriv --reuid 65534 --regid 65534 --clear-groups timeout 200 \
		"$python" -B "$out/ranks/ranks.py" rank 6001 250000 "$out/done" \
		>"$out/$1.rank" 2>"$out/$1.err" {carrier_lock}>&- &
}

# What mlccd shows is what the eight do.
arrives()
{
	{ ctl -j show ranks | tr -d '\n' && echo && tail -q -n 2 "$out"/*.rank; } >"$out/seen" || return
	"$python" -c "
import json, sys
(job,), *lines = (json.loads(line) for line in sys.stdin)
assert len(lines) == 16, 'no two phases of each yet'
assert all(line['uid'] == 65534 and line['linked'] for line in lines)
assert job['hinted'], 'no hint'
assert abs(job['d_phase_bytes'] / (8 * 250000) - 1) <= 0.01, job['d_phase_bytes']
before, last = (min(line['start_us'] for line in lines[n::2]) for n in (0, 1))
assert abs(job['iteration_us'] - (last - before)) < 5000 + 0.1 * (last - before), last - before" \
		<"$out/seen" 2>"$out/why"
}

# D_phase is what all of them send, to 1 %, and the iteration about as long as they find it
# themselves; sooner or later, for a guest takes its time.
eight_ranks_of_a_user_are_one_job()
{
	local i status sink pids=()

	mkdir "$out/ranks" && cp -r "$here/ranks.py" "$repo/userspace/python" \
		"$repo"/build/userspace/libmlcc-hint/*.so* "$out/ranks" && chmod -R a+rX "$out/ranks" &&
		chmod 755 "$out" && ctl set-job --cgroup "$name" --name ranks >/dev/null || return
	timeout 200 "$python" "$here/ranks.py" sink 6001 8 250000 2>"$out/sink" {carrier_lock}>&- &
	sink=$!
	slowwait - sink_is_there || return
	for ((i = 0; i < 8; i++)); do
		rank "$i"
		pids+=("$!")
	done
	slowwait - arrives
	status=$?
	[ "$status" -eq 0 ] || tail -n 5 "$out/why" "$out/seen" "$out/sink" "$out"/*.err
	touch "$out/done"
	stop "$sink"
	wait "${pids[@]}"
	ctl del-job ranks && return "$status"
}

sink_is_there()
{
	[ -n "$(ss -Hltn 'sport = :6001')" ]
}

id_of()
{
	ctl -j show "$1" | json 'd[0]["id"]'
}

job_is()
{
	[ "$(ctl -j show flow | json "bool((lambda j: $1)(d[0]))")" = True ]
}

# What somebody else's cleanup does; a request finds out, and without one the daemon does soon.
a_detached_tagger_is_attached_again()
{
	bpftool link detach pinned "$pins/tagger/link" || return
	slowwait - tagger_is_attached || { ctl status; return 1; }
	bpftool link detach pinned "$pins/tagger/link" && ! tagger_is_attached || return
	ctl -j status | json 'd["tagger"]' | grep -qx True && tagger_is_attached && run_makes_a_job
}

# doctor_says CHECK STATE TEXT [HOW...]
doctor_says()
{
	"${@:4}" "$repo/build/userspace/mlcc-ctl/mlcc-ctl" --socket "$out/run/mlccd.sock" doctor \
		>"$out/doctor"
	grep -Eq "^$2 +$1 +.*$3" "$out/doctor" || { cat "$out/doctor"; return 1; }
}

# What is taken away is not said to be fine: more of it in mlccd.sh.
doctor_tries_what_it_says()
{
	doctor_says connection ok "mlcc" && doctor_says bpf ok taken && doctor_says btf ok taken &&
		doctor_says bpffs ok "read back" && doctor_says carrier ok "has got" &&
		doctor_says tagger ok tags && [ "$(ctl -j show)" = "[]" ] &&
		! compgen -G "/sys/fs/bpf/mlcc*try*" && ! compgen -G "$pins/mlcc*try*" &&
		doctor_says carrier note "not for you" setpriv --bounding-set -net_admin &&
		doctor_says bpf FAIL refuses unshare --user --map-root-user &&
		doctor_says btf FAIL refuses unshare --user --map-root-user
}

# The root cgroup has the program that is pinned.
tagger_is_attached()
{
	local id

	id=$(bpftool -j prog show pinned "$pins/tagger/sockops" | json 'd["id"]') &&
		bpftool -j cgroup show "$cgroups" | json "$id in [p['id'] for p in d or []]" | grep -qx True
}

hints_arrive()
{
	ctl set-job --cgroup "$name" --name flow --phase-bytes 5M || return
	"$python" -c "
import socket, threading, os, time
open('$cgroup/cgroup.procs', 'w').write(str(os.getpid()))
$pair
threading.Thread(target=lambda: [b.recv(1 << 16) for _ in iter(int, 1)], daemon=True).start()
while True:
    a.send(b'x' * 20000)
    time.sleep(0.005)
" >/dev/null {carrier_lock}>&- &
	slowwait - job_is 'j["flows"] == 2 and j["bytes"] > 0' || { ctl show flow; return 1; }
	job_is 'not j["hinted"]' || { echo "hinted before the hint"; return 1; }
	ctl hint flow start 7M && job_is 'j["hinted"]'
}

phases()
{
	ctl -j show flow | json 'd[0]["phases"]'
}

hints_do_not_wait_for_who_changes_the_carrier()
{
	local before

	before=$(phases)
	(flock 9 && ctl hint flow end && ctl hint flow start 7M && more_than "$before" phases) 9<"$pins"
}

sent()
{
	ctl -j show flow | json 'd[0]["bytes"]'
}

# The flow sends all the while; its job, its tag and what is known of it stay.
survives_kill_9()
{
	local id before i objects

	id=$(ctl -j show flow | json 'd[0]["id"]')
	objects=$(bpf_objects)
	for ((i = 0; i < kills; i++)); do
		before=$(sent)
		stop_daemon KILL
		start_daemon || return
		slowwait - more_than "$before" sent || { echo "the flow stands, kill $i"; return 1; }
		job_is "j['id'] == $id and j['flows'] == 2 and j['hinted']" ||
			{ ctl show flow; return 1; }
	done
	prints "$objects" bpf_objects
}

# programs and maps in the kernel, of whomever
bpf_objects()
{
	echo "$(bpftool prog list | grep -c '^[0-9]') $(bpftool map list | grep -c '^[0-9]')"
}

# Its slots are 36 MiB, and each second mlccd looks for another one.
the_carrier_is_mapped_once()
{
	sleep 2
	awk '/^VmHWM/ { exit $2 > 64 * 1024 }' "/proc/$daemon/status"
}

# The daemon has the pins of the one before open, and its flows are of that.
an_upgrade_leaves_job_and_flow()
{
	local before phases

	before=$(sent)
	phases=$(phases)
	"$mlcc_bpf" upgrade && job_is 'j["flows"] == 2 and j["hinted"]' || return
	ctl hint flow start 8M && slowwait - more_than "$before" sent && job_is "j['phases'] > $phases"
}

# The flow's two connections stay with what was unloaded.
a_new_carrier_gets_the_jobs()
{
	job_is 'j["orphans"] == 0' && doctor_says orphans ok "no connection" || return
	"$mlcc_bpf" unload && slowwait - cc_gone && doctor_says carrier FAIL "no congestion control" &&
		doctor_says connection note "no carrier" &&
		slowwait - "$mlcc_bpf" load || return
	slowwait - carrier_has_job || { ctl show; "$mlcc_bpf" show; return 1; }
	slowwait - job_is 'j["orphans"] == 2 and j["flows"] == 0' && doctor_says orphans FAIL "2 conn" &&
		ctl show | grep "2 connections more, of an unloaded carrier"
}

carrier_has_job()
{
	bpftool map dump pinned "$pins/rules" 2>/dev/null | grep -q 5000000
}

ends_with_its_cgroup()
{
	echo 1 >"$cgroup/cgroup.kill"
	slowwait - rmdir "$cgroup" 2>/dev/null || return
	slowwait - prints "[]" ctl -j show
}

# It stops the daemon that runs, also after its configuration was changed.
unload_takes_everything_away()
{
	printf '[daemon]\nmark-mask = 0xff00\n' >"$out/other.conf"
	"$mlccd" --config "$out/other.conf" --run-dir "$out/run" --unload && wait "$daemon" ||
		return
	daemon=
	[ ! -e "$pins/tagger" ] && [ -z "$(ls "$out/run/jobs")" ] && "$mlcc_bpf" unload
}

# What of the host somebody could find changed.
# A bpffs stays mounted, and has files of the kernel's own.
host_state()
{
	bpftool cgroup show "$cgroups"
	ls --ignore='*.debug' /sys/fs/bpf
	cat /proc/sys/net/ipv4/tcp_{available_congestion_control,congestion_control}
	[ ! -d "$out/run/jobs" ] || ls "$out/run/jobs"
}

our_programs()
{
	bpftool prog list | grep ' name mlcc_'
}

# The kernel frees programs, and with them maps, a moment later: earlier ones' as well.
is_as_before()
{
	host_state >"$out/after" && cmp -s "$out/before" "$out/after" &&
		! our_programs | grep -vxFf "$out/programs" >"$out/left"
}

# is_marked MARK: the connection is the job's, at both ends
is_marked()
{
	local said

	said=$(ask flow show)
	[[ $said == mlcc*" $1 "*" mlcc"*" $1 "* ]] || { echo "it is $said"; return 1; }
}

# The connection is there before its cgroup is a job, which it follows in a moment.
undo_takes_everything_back()
{
	local status connection

	mkdir "$cgroup" && "$mlcc_bpf" load && start_daemon && pair flow "$cgroup" "" || return
	connection=$(ask flow show)
	ctl set-job --cgroup "$name" --name undone >/dev/null &&
		slowwait - is_marked "$(printf '%#x' "$(id_of undone)")" || return
	PATH=$repo/build/userspace/mlccd:$repo/build/userspace/mlcc-bpf:$PATH ctl undo || return
	daemon=
	is flow "$connection"
	status=$?
	echo 1 >"$cgroup/cgroup.kill"
	slowwait - rmdir "$cgroup" || return
	slowwait - is_as_before ||
		{ diff "$out/before" "$out/after"; cat "$out/left"; return 1; }
	return "$status"
}

main()
{
	ktap_start
	require_bpf
	require_command bpftool setpriv ss
	[ -x "$mlccd" ] || ktap_skip_all "mlccd is not built: make userspace"
	[ ! -e "$pins/tagger" ] || ktap_skip_all "a tagger is loaded, and not by this test"
	setup_out
	daemon=
	setup_job
	defer clean_up
	defer unload_quietly
	rmdir "$cgroup"
	host_state >"$out/before"
	our_programs >"$out/programs"
	mkdir "$cgroup"
	"$mlcc_bpf" load || ktap_fail_all "the BPF carrier loads"
	keep_loopback
	install_ctl || exit
	start_daemon || ktap_fail_all "mlccd starts"
	each ktap_check is_ready run_makes_a_job
	each told class_and_dscp_agree environment_and_option_reach_the_wire an_annotation_reaches_the_wire \
		eight_ranks_of_a_user_are_one_job storage_is_background doctor_tries_what_it_says \
		a_detached_tagger_is_attached_again hints_arrive \
		hints_do_not_wait_for_who_changes_the_carrier survives_kill_9 the_carrier_is_mapped_once \
		an_upgrade_leaves_job_and_flow a_new_carrier_gets_the_jobs ends_with_its_cgroup \
		unload_takes_everything_away undo_takes_everything_back
	ktap_finish
}

main
