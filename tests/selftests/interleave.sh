#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Jobs that share a bottleneck interleave under mlcc, and slow each other down under CUBIC.
#
#   interleave.sh module|bpf
#
# The measure is the time that sharing costs: slowdown - 1. Under mlcc it has to be at most 6/10 of
# what it is under CUBIC in the same run; by measurement it is far less. The clock has to count
# instructions (vm run --counted): on a machine that does other things too, times are no test of ours.

# shellcheck disable=SC2154,SC2317  # the cases are called by name; what is included sets variables

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/${1:?module or bpf}_common.sh"

carrier=$1
SCENARIO=$here/three-jobs.toml
PHASE_BYTES=2000000
MOST=0.6

# The D_phase of each job, every now and then; each look is a line.
watch_phases()
{
	while sleep 0.5; do
		column d_phase | paste -sd ' '
	done >"$out/phases"
}

# run_lab ITERATIONS: leaves $out/lab.json
run_lab()
{
	local watcher status

	watch_phases &
	watcher=$!
	defer stop "$watcher"
	mlcc_lab run "$SCENARIO" --cc cubic,mlcc --iterations "$1" --quick \
		--timeout-s 120 --json "$out/lab.json" --carrier "$carrier" 2>"$out/lab.err"
	status=$?
	stop "$watcher"
	[ "$status" -eq 0 ] || { cat "$out/lab.err"; return 1; }
}

slowdown()
{
	json "[r['slowdown_mean'] for r in d['results'] if r['cc'] == '$1'][0]" <"$out/lab.json"
}

costs_less_than_cubic()
{
	local try with without

	for try in 1 2; do
		run_lab "$ITERATIONS" || return
		with=$(slowdown mlcc) without=$(slowdown cubic)
		echo "slowdown: mlcc $with, cubic $without"
		if is_true "$without < 1.02"; then
			echo "try $try: cubic interleaved by itself, so there is nothing to compare"
		elif is_true "$with - 1 < $MOST * ($without - 1)"; then
			return
		else
			echo "try $try: not below $MOST of what sharing costs under cubic"
		fi
	done
	return 1
}

# Three jobs at one look, each within a quarter.
all_jobs_were_learnt()
{
	sort "$out/phases" | uniq -c
	"$python" - "$out/phases" "$PHASE_BYTES" <<-'EOF'
		import sys
		lines, want = open(sys.argv[1]).read().splitlines(), int(sys.argv[2])
		looks = [[int(word) for word in line.split()] for line in lines]
		sys.exit(not any(sum(abs(d - want) * 4 < want for d in look) >= 3 for look in looks))
	EOF
}

main()
{
	: "${ITERATIONS:=24}"
	ktap_start
	[ -n "${MLCC_COUNTED-}" ] || ktap_skip_all "wants a clock that counts: vm run --counted"
	require_carrier
	# the lab takes its own turn
	exec {carrier_lock}>&-
	setup_out
	each told costs_less_than_cubic all_jobs_were_learnt
	ktap_finish
}

main
