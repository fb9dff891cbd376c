#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What arrives of the ranks of a job: of eight processes of an ordinary user, and of two rootless
# containers, in a job that root has set. D_phase is what all of them send, to 1 %, and the iteration about as
# long as they find it themselves; sooner or later, for a guest takes its time. They send through 200 Mb/s.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"
# shellcheck source=tests/selftests/mlccd_common.sh
. "$(dirname "$0")/mlccd_common.sh"

user=65534
bytes=250000
compute_s=0.2

clean_up()
{
	[ -z "$daemon" ] || stop "$daemon"
	unload_mlccd 2>/dev/null
	[ ! -d "$cgroup" ] || { echo 1 >"$cgroup/cgroup.kill"; slowwait - rmdir "$cgroup"; }
	return 0
}

setup_job()
{
	require_cgroup2
	cgroup=$cgroups/mlcc-ranks-$$
	mkdir "$cgroup" && ctl set-job --cgroup "${cgroup#"$cgroups"/}" --name ranks >/dev/null
}

# What ranks run, where an ordinary user may read it: this tree may be below /root.
copy_tree()
{
	tree=$out/tree
	mkdir -p "$tree/tests/selftests" "$tree/userspace" &&
		cp "$here/ranks.py" "$tree/tests/selftests" &&
		cp -r "$repo/userspace/python" "$tree/userspace" &&
		cp "$repo"/build/userspace/libmlcc-hint/*.so* "$tree" &&
		chmod -R a+rX "$tree"
}

is_listening_on()
{
	[ -n "$(ip netns exec "$receiver" ss -Hltn "sport = :$1")" ]
}

# in_job COMMAND...: an ordinary user in the job's control group, on the sender's host
in_job()
{
	# shellcheck disable=SC2016  # the inner shell expands it
	exec sh -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" nsenter "--net=/run/netns/$sender" \
		env LD_LIBRARY_PATH="$tree" PYTHONDONTWRITEBYTECODE=1 \
		MLCC_SOCKET="$out/run/mlccd.sock" setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

# rank NAME PORT COMMAND...: one rank, by way of the command, until $out/done is there
rank()
{
	local name=$1 port=$2
	shift 2

	in_job timeout 200 "$@" "$python" "$tree/tests/selftests/ranks.py" rank 10.1.2.2 "$port" "$bytes" "$compute_s" "$out/done" \
		>"$out/$name.rank" 2>"$out/$name.err" {carrier_lock}>&- &
}

# arrives N UID: what mlccd shows is what the N ranks do
arrives()
{
	{ ctl -j show ranks | tr -d '\n' && echo && tail -q -n 2 "$out"/*.rank; } >"$out/seen" || return
	"$python" -c "
import json, sys
(job,), *lines = (json.loads(line) for line in sys.stdin)
assert len(lines) == 2 * $1, 'no two phases of each yet'
assert all(line['uid'] == $2 and line['linked'] for line in lines)
assert job['hinted'], 'no hint'
assert abs(job['d_phase_bytes'] / ($1 * $bytes) - 1) <= 0.01, job['d_phase_bytes']
before, last = (min(line['start_us'] for line in lines[n::2]) for n in (0, 1))
assert abs(job['iteration_us'] - (last - before)) < 5000 + 0.1 * (last - before), last - before" \
		<"$out/seen" 2>"$out/why"
}

# with_ranks N PORT UID COMMAND: starts them, each by way of the command with its name, and looks
with_ranks()
{
	local i status

	ip netns exec "$receiver" timeout 200 "$python" "$here/ranks.py" sink "$2" "$1" "$bytes" >"$out/sink" 2>&1 \
		{carrier_lock}>&- &
	local sink=$!
	slowwait - is_listening_on "$2" || return
	for ((i = 1; i <= $1; i++)); do
		"$4" "$i" "$2"
	done
	slowwait - arrives "$1" "$3"
	status=$?
	[ "$status" -eq 0 ] || tail -n 5 "$out/why" "$out/seen" "$out/sink" "$out"/*.err
	touch "$out/done"
	stop "$sink"
	wait
	rm -f "$out"/*.rank "$out"/*.err "$out/done"
	return "$status"
}

process()
{
	rank "$1" "$2"
}

container()
{
	rank "$1" "$2" "$python" "$tree/tests/selftests/ranks.py" container "$out/boxes/$1"
}

eight_ranks_of_a_host()
{
	with_ranks 8 6001 "$user" process
}

two_rootless_containers()
{
	command -v crun >/dev/null || { echo "crun is not installed"; return "$KSFT_SKIP"; }
	[ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ] ||
		{ echo "crun wants control groups of version 2 only"; return "$KSFT_SKIP"; }
	mkdir "$out/boxes" && chown "$user" "$out/boxes" && with_ranks 2 6002 0 container
}

main()
{
	ktap_start
	require_bpf
	require_command setpriv ss tc
	[ -x "$mlccd" ] || ktap_skip_all "mlccd is not built: make userspace"
	setup_out
	chmod 755 "$out"
	setup_link 1mb || exit 1
	daemon=
	defer clean_up
	# shellcheck disable=SC2119  # it takes options, or none
	if ! copy_tree || ! load || ! start_daemon || ! setup_job; then
		ktap_fail_all "the carrier and mlccd start"
	fi
	each ktap_check eight_ranks_of_a_host two_rootless_containers
	ktap_finish
}

main
