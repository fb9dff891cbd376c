# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2317  # common.sh sets variables
#
# Interleaving, which both carriers have to bring about. A carrier's test defines learnt_phases: the
# D_phase of every job, words on a line.
#
# The measure is the time that sharing costs: slowdown - 1. Under mlcc it has to be at most 6/10 of
# what it is under CUBIC in the same run; by measurement it is far less. That is checked where the
# clock counts instructions (vm run --counted): on a machine that does other things too, times are
# no test of ours, and only what was learnt is checked.

SCENARIO=$here/three-jobs.toml
PHASE_BYTES=2000000
MOST=0.6

# What the tracker knows, every now and then; each look is a line.
watch_phases()
{
	while sleep 0.5; do
		learnt_phases
	done >"$out/phases"
}

# run_lab ITERATIONS ARGUMENTS...: leaves $out/lab.json
run_lab()
{
	local watcher status count=$1
	shift

	watch_phases &
	watcher=$!
	defer stop "$watcher"
	mlcc_lab run "$SCENARIO" --cc cubic,mlcc --iterations "$count" --quick \
		--timeout-s 120 --json "$out/lab.json" "$@" 2>"$out/lab.err"
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
		run_lab "$ITERATIONS" "$@" || return
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

# interleave_cases ARGUMENTS...: for mlcc-lab
interleave_cases()
{
	: "${ITERATIONS:=${KSFT_MACHINE_SLOW:+24}}" "${ITERATIONS:=40}"
	lab_arguments=("$@")
	if [ -n "${MLCC_COUNTED-}" ]; then
		told "sharing costs clearly less than under cubic" lab_case
	else
		told "the lab runs cubic and mlcc" lab_runs
	fi
	told "D_phase of all jobs was learnt" all_jobs_were_learnt
}

lab_runs()
{
	run_lab "$ITERATIONS" "${lab_arguments[@]}" || return
	echo "slowdown: mlcc $(slowdown mlcc), cubic $(slowdown cubic)"
}

lab_case()
{
	costs_less_than_cubic "${lab_arguments[@]}"
}
