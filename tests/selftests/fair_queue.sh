#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Behind a queue that serves its flows in turn, jobs take turns by deferring, under both carriers;
# and a flow that has deferred is no longer paced.

# shellcheck disable=SC2317  # main calls the cases by name

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"

# The lab's namespace that sends, when it is there; each look takes long where all is emulated.
sender()
{
	local ns

	for ns in $(ip netns list | awk '/^mlcc-lab/ { print $1 }'); do
		! ss -N "$ns" -tinH state established | grep -q 'bytes_sent:[0-9]\{6\}' || echo "$ns"
	done | head -n 1 | grep .
}

looks()
{
	while sleep 0.3; do
		ss -N "$1" -tinH state established 2>/dev/null || return 0
	done
}

watch()
{
	local ns

	: >"$out/looks"
	while ns=$(slowwait - sender); do
		looks "$ns"
	done >"$out/looks"
}

slowdown()
{
	json "[r['slowdown_mean'] for r in d['results'] if r['cc'] == '$1'][0]" <"$out/lab.json"
}

# The measure is the time that sharing costs, as in interleave.sh.
take_turns()
{
	mlcc_lab run fq-codel --carrier "$1" --scale 0.2 --cc reno,mlcc --iterations 30 --quick \
		--timeout-s 120 --json "$out/lab.json" 2>"$out/lab.err" ||
		{ cat "$out/lab.err"; return 1; }
	echo "slowdown: mlcc $(slowdown mlcc), reno $(slowdown reno)"
	is_true "$(slowdown mlcc) - 1 < 0.75 * ($(slowdown reno) - 1)"
}

# Looking takes its time in emulation, so once.
take_turns_watched()
{
	local watcher status

	watch &
	watcher=$!
	take_turns "$@"
	status=$?
	stop "$watcher"
	return "$status"
}

# A hold lasts some ten milliseconds: four looks in a row, and it has no end.
pacing_ends()
{
	"$python" - "$out/looks" <<-'EOF'
		import sys
		flows, port = {}, ""
		for line in open(sys.argv[1]):
		    if not line[0].isspace():
		        port = line.split()[2]
		    elif "pacing_rate" in line:
		        rate = line.split("pacing_rate")[1].split()[0]
		        flows.setdefault(port, []).append("/" in rate)
		seen = [looks for looks in flows.values() if any(looks)]
		if not seen:
		    print(f"no look at {len(flows)} flows fell into a hold")
		    sys.exit(4)
		stuck = [l for l in seen if any(all(l[i:i + 4]) for i in range(len(l) - 3))]
		ended = [l for l in seen if not all(l[l.index(True):])]
		sys.exit(not ended or bool(stuck))
	EOF
}

main()
{
	ktap_start
	require_module_here
	[ -n "${MLCC_COUNTED-}" ] || ktap_skip_all "times are compared: tests/vm/vm run --counted"
	# the lab takes its own turn
	exec {carrier_lock}>&-
	setup_out
	ktap_check "jobs take turns, module" take_turns_watched module
	ktap_check "pacing ends with the hold" pacing_ends
	ktap_check "jobs take turns, bpf" take_turns bpf
	ktap_finish
}

main
