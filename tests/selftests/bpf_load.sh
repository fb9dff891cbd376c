#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The life of the BPF carrier: load, be there without the loader, refuse what is wrong, unload,
# and come back under flows that run.

# shellcheck disable=SC2317  # main calls the cases by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"

# And is there without the loader.
loads()
{
	"$mlcc_bpf" load && ! pgrep -f "^$mlcc_bpf" && cc_available && [ -e "$pins/slots" ] &&
		bpftool struct_ops list 2>&1 | grep -qw mlcc &&
		refused 1 'loaded already' "$mlcc_bpf" load && cc_available && "$mlcc_bpf" show
}

rules()
{
	bpftool map dump pinned "$pins/rules"
}

wrong_jobs_are_refused_and_change_nothing()
{
	local before

	"$mlcc_bpf" job set 5 --profile mltcp --phase-bytes 12345 || return
	before=$(rules)
	[[ $before == *'"phase_bytes": 12345'* ]] || { echo "not set: $before"; return 1; }
	refused 2 'id' "$mlcc_bpf" job set 65536 --phase-bytes 1 &&
		refused 2 'id' "$mlcc_bpf" job set five --phase-bytes 1 &&
		refused 2 'no profile' "$mlcc_bpf" job set 5 --profile nonsense &&
		refused 2 'phase-bytes' "$mlcc_bpf" job set 5 --phase-bytes -1 &&
		refused 2 'phase-bytes' "$mlcc_bpf" job set 5 --phase-bytes 1x &&
		refused 1 'no job 6' "$mlcc_bpf" job del 6 || return
	prints "$before" rules && "$mlcc_bpf" job del 5 && [[ $(rules) != *12345* ]]
}

unloads()
{
	"$mlcc_bpf" unload && slowwait - cc_gone && [ ! -e "$pins" ] && refused 1 'not loaded' "$mlcc_bpf" unload
}

wrong_settings_load_nothing()
{
	local words

	for words in "--profile nonsense" "--mark-mask 0" "--set floor=0" "--set floor=1000" \
		"--set slope=-1" "--set hold=1" "--set shape=5" "--set shape=0" "--set nothing=1" \
		"--set floor"; do
		# shellcheck disable=SC2086  # words
		refused 2 '' "$mlcc_bpf" load $words || return
		cc_gone || { echo "$words: loaded nevertheless"; return 1; }
	done
}

# It says so, and takes the module where there is one.
doctor_loads_what_is_missing()
{
	local doctor=$repo/build/userspace/mlcc-ctl/mlcc-ctl
	local PATH=${mlcc_bpf%/*}:$PATH

	[ -x "$doctor" ] || { echo "mlcc-ctl is not built: make userspace"; return 4; }
	"$doctor" --socket "$out/none" doctor --fix --dry-run
	cc_gone || { echo "a dry run has loaded it"; return 1; }
	"$doctor" --socket "$out/none" doctor --fix
	cc_available || return
	"$mlcc_bpf" unload || rmmod tcp_mlcc || return
	slowwait - cc_gone
}

# The old program serves the old flow until it ends; the new one serves new flows.
reloads_under_a_flow()
{
	local before

	setup_link 100kb && "$mlcc_bpf" load || return
	receive old 5001 --cc cubic && receive new 5002 --cc cubic || return
	start bulk "$sender" bulk --peer 10.1.2.2:5001 --cc "$cc" --mark 7
	slowwait - has_grown old 0 || { cat "$out"/*.err; return 1; }
	# the receiver has no ECN, so the flow has gone over to the operations without it
	cc_in_use 5001 "${cc}_plain" || { echo "the flow does not use ${cc}_plain"; return 1; }
	slots_are "[(7, 1)]" "[(j['id'], j['flows']) for j in d]" || return

	"$mlcc_bpf" unload || { echo "does not unload"; return 1; }
	slowwait - cc_gone || { echo "is still there"; return 1; }
	slowwait - "$mlcc_bpf" load || { echo "does not load again"; return 1; }
	before=$(received old)
	slowwait - has_grown old "$before" || { echo "the flow stands"; return 1; }
	slots_are "[]" d || return

	start second "$sender" bulk --peer 10.1.2.2:5002 --cc "$cc" --mark 8
	slowwait - has_grown new 0 || { cat "$out"/*.err; return 1; }
	slots_are "[8]" "[j['id'] for j in d]" || return
	"$mlcc_bpf" unload
}

main()
{
	ktap_start
	require_bpf
	require_command bpftool ip tc ethtool ss
	setup_out
	defer unload_quietly
	each ktap_check loads wrong_jobs_are_refused_and_change_nothing unloads \
		wrong_settings_load_nothing doctor_loads_what_is_missing
	told "unload and load under a flow" reloads_under_a_flow
	ktap_finish
}

main
