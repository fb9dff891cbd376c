#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The NCCL plugin with the real mlccd and mlcc-ctl, on a carrier that is only memory.

# shellcheck disable=SC2317  # ktap_check calls functions by name
# shellcheck source=tests/selftests/lib/lib.sh
. "$(dirname "$0")/../selftests/lib/lib.sh"

repo=$(cd "$(dirname "$0")/../.." && pwd)
built=$repo/build/userspace
play=$repo/build/nccl/gcc/play
ctl=$built/mlcc-ctl/mlcc-ctl
export MLCC_PLUGIN=$built/nccl/libnccl-profiler-mlcc.so
unset MLCC_LOG MLCC_JOB_ID MLCC_CHAIN_PLUGIN MLCC_SHIFT

job_is()
{
	"$ctl" --socket "$MLCC_SOCKET" -j show bert >"$out/job" || return
	python3 -c '
import json, sys
job = json.load(open(sys.argv[1]))[0]
sys.exit(not eval(sys.argv[2], {}, job) and f"{sys.argv[2]}: {job}")' "$out/job" "$1"
}

status_is()
{
	"$ctl" --socket "$MLCC_SOCKET" -j status >"$out/status" || return
	python3 -c '
import json, sys
status = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2], {}, status) and f"{sys.argv[2]}: {status}")' "$out/status" "$1"
}

answers()
{
	"$ctl" --socket "$MLCC_SOCKET" status >/dev/null 2>&1
}

start_daemon()
{
	MLCC_FAKE=$out/carrier "$built/mlccd/mlccd-fake" --config /nonexistent --run-dir "$out/run" \
		>>"$out/log" 2>&1 &
	daemon=$!
	slowwait - answers
}

stop_daemon()
{
	kill -KILL "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	return 0
}

# The cgroup of the job, and in it one for the process.
make_cgroup()
{
	local mount

	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$mount" ] || ktap_skip_all "no cgroup2 is mounted"
	cgroup=$mount/mlcc-nccl-$$
	mkdir "$cgroup" || ktap_skip_all "no cgroup can be made"
	defer rmdir "$cgroup"
	mkdir "$cgroup/inner"
	defer rmdir "$cgroup/inner"
}

# in_cgroup CGROUP COMMAND...
in_cgroup()
{
	local group=$1
	shift

	sh -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$@"
}

plays_by_name()
{
	for version in 3 4 5 6 7; do
		MLCC_JOB=bert "$play" "$version" 4 | grep -q "^mask [82]" || return
	done
	# four phases each, of two channels with a million bytes; on a busy machine some may merge
	job_is 'phases >= 15 and d_phase_bytes == 2000000 and hinted'
}

records_are_good()
{
	status_is 'ring_records >= 30 and not ring_records_bad and not ring_overruns'
}

phases()
{
	job_is True && python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["phases"])' <"$out/job"
}

plays_by_cgroup()
{
	local before

	before=$(phases) || return
	for group in "$cgroup" "$cgroup/inner"; do
		in_cgroup "$group" "$play" 7 3 | grep -q "^mask 24" || return
	done
	job_is "phases >= $before + 5"
}

has_phases()
{
	job_is "phases >= $1"
}

survives_kill()
{
	local before player status

	MLCC_JOB=bert "$play" 7 400 >"$out/play" &
	player=$!
	slowwait - has_phases 30 || return
	stop_daemon
	sleep 1
	start_daemon || return
	before=$(phases) || return
	slowwait - has_phases "$((before + 10))"
	status=$?
	kill "$player" 2>/dev/null
	wait "$player"
	return "$status"
}

# plans PERIOD_MS: a slot in half a period from now; 0: none
plans()
{
	python3 - "$MLCC_SOCKET" "$1" <<'END'
import json, socket, sys, time
period = int(sys.argv[2]) * 1000
plan = {"job": "bert"}
if period:
    plan |= {"period_us": period, "offset_us": (time.time_ns() // 1000 + period // 2) % period}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as mlccd:
    mlccd.connect(sys.argv[1])
    mlccd.send(json.dumps({"op": "set-plan", "jobs": [plan]}).encode())
    reply = json.loads(mlccd.recv(1 << 16))
sys.exit(not reply["ok"] and str(reply))
END
}

# Of a job that is planned, and then is not any more; the first phase is never near its slot.
waits_for_its_slot()
{
	local player status=0

	plans 8000 || return
	MLCC_JOB=bert MLCC_SHIFT=$1 "$play" 7 400 >"$out/play" &
	player=$!
	slowwait - job_is "$2" || status=1
	kill "$player" 2>/dev/null
	wait "$player"
	plans 0 || status=1
	return "$status"
}

# The events are taken all the same: a job may be set later.
is_silent_without_a_job()
{
	local records

	records=$("$ctl" --socket "$MLCC_SOCKET" -j status |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["ring_records"])') || return
	"$play" 7 2 | grep -q "^mask 24" && MLCC_JOB=other "$play" 7 2 | grep -q "^mask 24" || return
	status_is "ring_records == $records"
}

ktap_start
require_root
[ -x "$play" ] || ktap_skip_all "the plugin's tests are not built: make nccl"
[ -x "$built/mlccd/mlccd-fake" ] || ktap_skip_all "mlccd-fake is not built: make fake"
[ -x "$ctl" ] || ktap_skip_all "mlcc-ctl is not built: make userspace"
out=$(mktemp -d) || exit 1
defer rm -r "$out"
export MLCC_SOCKET=$out/run/mlccd.sock
make_cgroup
start_daemon || ktap_fail_all "mlccd starts: $(tail -n 1 "$out/log")"
defer stop_daemon
"$ctl" --socket "$MLCC_SOCKET" set-job --cgroup "$cgroup" --name bert >/dev/null
ktap_check "every version announces the phases of a job by its name" plays_by_name
ktap_check "mlccd takes every record" records_are_good
ktap_check "the job is that of the process's cgroup, or of one above" plays_by_cgroup
ktap_check "without a job nothing is announced" is_silent_without_a_job
ktap_check "a planned job waits for its slot" waits_for_its_slot 1 \
	'shift_waits == 1 and shift_own_period_us > 0'
before=$(phases)
ktap_check "with MLCC_SHIFT=0 it goes at once" waits_for_its_slot 0 \
	"phases >= $before + 5 and shift_state == 'nobody-asks'"
# not by ktap_check: that is a subshell, which would wait for the daemon
if survives_kill >"$out/said" 2>&1; then
	ktap_ok "a killed mlccd's successor is told the phases"
else
	ktap_note "$(<"$out/said")"
	ktap_fail "a killed mlccd's successor is told the phases"
fi
ktap_finish
