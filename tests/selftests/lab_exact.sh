#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The whole chain: the lab's jobs run in cgroups that mlccd knows, their sockets are tagged, and
# their phases announced, so that the first one counts.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; common.sh sets variables

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"

# Jobs in one of their first two phases: nothing can have been learnt there.
watch_first_phases()
{
	while sleep 0.05; do
		"$mlcc_bpf" show 2>/dev/null |
			json '"\n".join(str(j["d_phase"]) for j in d or [] if 0 < j["phase"] < 3)' 2>/dev/null
	done >"$out/phases"
}

announced_phases_count_from_the_first()
{
	local watcher status

	sed '/^compute_ms/a hint = "exact"' "$here/three-jobs.toml" >"$out/three-jobs.toml"
	watch_first_phases &
	watcher=$!
	defer stop "$watcher"
	mlcc_lab run "$out/three-jobs.toml" --cc mlcc --iterations 6 --quick --carrier bpf \
		--timeout-s 120 --json "$out/lab.json"
	status=$?
	stop "$watcher"
	[ "$status" -eq 0 ] || return
	sort "$out/phases" | uniq -c
	grep -qx 2000000 "$out/phases"
}

lab_cgroups()
{
	find "$cgroups" -maxdepth 1 -name 'mlcc-lab-*' | sort
}

# A lab that was killed before this one may have left some.
nothing_is_left()
{
	[ ! -e "$pins" ] || { ls -R "$pins"; return 1; }
	diff "$out/cgroups" <(lab_cgroups)
}

main()
{
	ktap_start
	require_bpf
	require_command ip tc ethtool
	[ -x "$mlccd" ] || ktap_skip_all "mlccd is not built: make"
	require_cgroup2
	# the lab takes its own turn
	exec {carrier_lock}>&-
	setup_out
	lab_cgroups >"$out/cgroups"
	each told announced_phases_count_from_the_first nothing_is_left
	ktap_finish
}

main
