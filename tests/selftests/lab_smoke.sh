#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The lab runs, and its figures are plausible: with congestion controls that every kernel has.

# shellcheck disable=SC2317  # main calls the cases by name

# shellcheck source=tests/selftests/common.sh
. "$(dirname "$0")/common.sh"

lists_scenarios()
{
	mlcc_lab list | grep -w three-equal
}

runs()
{
	mlcc_lab run "$here/three-jobs.toml" --cc cubic,reno --iterations 8 --quick \
		--timeout-s 120 --json "$out/lab.json" --plot "$out/lab.png"
}

# Three jobs, eight iterations each, none faster than light: a phase takes 84 ms of the link.
figures_are_plausible()
{
	json '"\n".join(j["name"] + " " + str(j) for r in d["results"] for j in r["jobs"])' \
		<"$out/lab.json"
	[ "$(json '[r["cc"] for r in d["results"]] == ["cubic", "reno"] and all(
		len(j["iterations_ms"]) == 8 and 240 < j["isolated_ms"] and
		min(j["iterations_ms"]) > 230 and 0.9 < j["slowdown"] < 10
		for r in d["results"] for j in r["jobs"])' <"$out/lab.json")" = True ]
}

draws()
{
	[ "$(head -c 8 "$out/lab.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
}

nothing_is_left()
{
	! ip netns list | grep mlcc-lab
}

wrong_use_is_refused()
{
	mlcc_lab run no-such-scenario
	[ $? -eq 2 ]
}

main()
{
	ktap_start
	require_root
	require_built
	require_command ip tc ethtool
	"$python" -c 'import matplotlib' 2>/dev/null || ktap_skip_all "needs python3-matplotlib"
	setup_out
	each ktap_check lists_scenarios runs figures_are_plausible draws
	ktap_check "leaves no namespace" slowwait 60 nothing_is_left
	ktap_check "a wrong scenario is refused" wrong_use_is_refused
	ktap_finish
}

main
