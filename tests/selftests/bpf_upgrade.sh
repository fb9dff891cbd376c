#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One version of the BPF carrier takes the place of another: what jobs and flows see of it, and what is
# left when it is refused or killed. Before Linux 6.4 it is refused.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; what is included sets variables

# shellcheck source=tests/selftests/pins_common.sh
. "$(dirname "$0")/pins_common.sh"

# of the calls of an upgrade, each which one is killed
: "${stride:=${KSFT_MACHINE_SLOW:+6}}" "${stride:=1}"

# map NAME: what is in it, in the same order in whichever map
map()
{
	bpftool -j map dump pinned "$pins/$1" | json 'sorted(map(str, d))'
}

# What userspace has said, and which programs say it.
state()
{
	map settings && map profiles && map rules && stat -c %i "$pins/control"
}

# What is pinned, of the present version and of those before.
parts()
{
	find "$pins" -mindepth 1 -type d -printf '%f\n' | sort | paste -sd ' '
}

is_only_the_present()
{
	is_whole && [ -z "$(parts)" ] && return
	echo "pins: $(pins_there); parts: $(parts)"
	return 1
}

# unchanged BEFORE COMMAND...: the command is run, and the state is what it was
unchanged()
{
	"${@:2}" && prints "$1" state
}

without_a_carrier_it_is_refused()
{
	refused 1 'not loaded' "$mlcc_bpf" upgrade && nothing_left &&
		refused 2 'no profile' "$mlcc_bpf" upgrade --profile nonsense
}

# There unload and load is what remains.
without_links_it_is_refused()
{
	"$mlcc_bpf" load && unchanged "$(state)" refused 1 'mlcc-bpf unload' "$mlcc_bpf" upgrade
}

set_some()
{
	"$mlcc_bpf" load --profile hotnets22 --set floor=2 --mark-mask 0xfff &&
		api job set 5 five mltcp 12345 , phase start 5 777 , job set 300 other "" 0
}

what_was_set_stays()
{
	local before

	set_some || return
	before=$(state) && "$mlcc_bpf" upgrade && is_only_the_present &&
		state | prints "$(head -n -1 <<<"$before")" head -n -1 || return
	[ "$(tail -n 1 <<<"$before")" != "$(state | tail -n 1)" ] || { echo "is the same"; return 1; }
	api job get 5 | grep -q '"name":"five","profile":"mltcp","class":"training","phase_bytes":12345'
}

options_change_what_they_name()
{
	set_some && "$mlcc_bpf" upgrade --mark-mask 0xffff --set slope=3 || return
	[[ $(api profile list) == *"hotnets22 131072 196608 "*default* ]] || { api profile list; return 1; }
	# with the other mask there is room for it
	"$mlcc_bpf" job set 60000 && "$mlcc_bpf" upgrade --profile mltcp &&
		api profile list | grep -q '^mltcp.*default' && api job get 5 | grep -q 12345
}

wrong_upgrades_are_refused_and_change_nothing()
{
	local before

	set_some && before=$(state) || return
	unchanged "$before" refused 2 'no profile' "$mlcc_bpf" upgrade --profile nonsense &&
		unchanged "$before" refused 2 'floor' "$mlcc_bpf" upgrade --set floor=0 &&
		unchanged "$before" refused 1 'job 300*0xff' "$mlcc_bpf" upgrade --mark-mask 0xff &&
		mkdir -p "$out/bpf" && mount -t bpf bpf "$out/bpf" &&
		unchanged "$before" refused 1 'registered by' elsewhere "$mlcc_bpf" upgrade &&
		is_only_the_present
}

half_a_carrier_is_refused()
{
	"$mlcc_bpf" load && rm "$pins/rules" && refused 1 'in part' "$mlcc_bpf" upgrade &&
		"$mlcc_bpf" unload && nothing_left
}

# Of the two links the second has other operations than are pinned: the first gets its own back.
both_are_replaced_or_neither()
{
	local before

	set_some && before=$(state) && ln "$pins/link_mlcc" "$bpf_fs/held" &&
		ln -f "$pins/link_mlcc_plain" "$pins/link_mlcc" &&
		unchanged "$before" refused 1 "replace 'mlcc'" "$mlcc_bpf" upgrade || return
	ln -f "$bpf_fs/held" "$pins/link_mlcc" && rm "$bpf_fs/held" && is_only_the_present &&
		"$mlcc_bpf" upgrade && is_only_the_present && [ "$(state)" != "$before" ]
}

# other_layout: a version whose slots are larger; its loader is $next
other_layout()
{
	copy_carrier "$out/src" &&
		sed -i -e 's/^\(#define MLCC_LAYOUT\t*\)[0-9]*U/\199U/' \
			-e 's/^\tstruct mlcc_path paths\[MLCC_PATHS\];/&\n\tu64 more[4];/' \
			"$out/src/bpf/mlcc_bpf.h" && make_carrier "$out/src"
}

another_layout_gets_the_jobs_and_an_unknown_one_is_refused()
{
	local next=$out/src/mlcc-bpf before

	other_layout >"$out/made" 2>&1 || { tail -n 3 "$out/made"; return 1; }
	set_some && before=$(map rules) && "$next" upgrade && prints "$before" map rules || return
	unchanged "$(state)" refused 1 'map layout 99' "$mlcc_bpf" upgrade &&
		refused 1 'map layout 99' "$mlcc_bpf" show && [ -z "$(parts)" ] && "$next" show
}

# has_mlcc: without a process of its own, for it is asked all the time
has_mlcc()
{
	local list

	read -r list </proc/sys/net/ipv4/tcp_available_congestion_control && [[ " $list " == *" mlcc "* ]]
}

watch_for_mlcc()
{
	while [ ! -e "$out/enough" ]; do
		has_mlcc || echo "without mlcc"
	done >"$out/missing"
}

there_is_no_moment_without()
{
	local n watcher

	"$mlcc_bpf" load || return
	watch_for_mlcc {carrier_lock}>&- &
	watcher=$!
	for ((n = 0; n < 5; n++)); do
		"$mlcc_bpf" upgrade || break
	done
	touch "$out/enough"
	wait "$watcher"
	[ "$n" -eq 5 ] && [ ! -s "$out/missing" ]
}

### Killed

# An announcement reaches the job, or is refused with what to do.
is_told_or_refused()
{
	local said

	said=$(api phase start 5 1000 2>&1) || [[ $said == *"try again"* ]]
}

# Of the system calls of an upgrade those that change something, each as NAME=WHICH of that name.
calls()
{
	strace -qq -o "$out/calls" -e trace=bpf,mkdirat,linkat,renameat,unlinkat "$mlcc_bpf" upgrade &&
		awk -F '(' '{ n[$1]++ } /^mkdirat/ { begun = 1 }
			begun && (!/^bpf/ || /OBJ_PIN|LINK_UPDATE/) { print $1 "=" n[$1] }' "$out/calls"
}

# killed_at CALL: an upgrade is killed before it makes that one
killed_at()
{
	strace -qq -o "$out/killed" -e trace="${1%=*}" \
		-e inject="${1%=*}:signal=KILL:when=${1#*=}" "$mlcc_bpf" upgrade 2>/dev/null
	[ $? -eq 137 ]
}

# After one that was killed: the next one completes or undoes it.
is_mended()
{
	has_mlcc && is_told_or_refused && "$mlcc_bpf" upgrade && is_only_the_present &&
		api job get 5 | grep -q 12345
}

# And so does unload, at each third of the calls: it takes a load.
unload_ends_it()
{
	[ $(($1 / stride % 3)) -eq 0 ] || return 0
	killed_at "$2"
	"$mlcc_bpf" unload && nothing_left && set_some
}

killed_anywhere_it_is_mended()
{
	local all_calls n

	set_some && mapfile -t all_calls < <(calls) && [ "${#all_calls[@]}" -gt 30 ] || return
	for ((n = 0; n < ${#all_calls[@]}; n += stride)); do
		killed_at "${all_calls[n]}" && is_mended && unload_ends_it "$n" "${all_calls[n]}" && continue
		echo "at ${all_calls[n]}: pins: $(pins_there); parts: $(parts)"
		return 1
	done
}

### Flows

# flows_are LIST: of job 7, first those of older versions: pairs of whether they are, and how many
flows_are()
{
	slots_are "$1" "sorted((j['old'], j['flows']) for j in d if j['id'] == 7)[::-1]"
}

phases_of()
{
	"$mlcc_bpf" show | json "[j['phase'] for j in d if j['id'] == 7 and j['old'] == $1 and j['flows']][0]"
}

# One handle of libmlcc all the while: what it says reaches flows of both versions.
announcements_reach_all()
{
	slowwait - more_than "$(phases_of 1)" phases_of 1 &&
		slowwait - more_than "$(phases_of 0)" phases_of 0 &&
		kill -0 "$pid_hints"
}

announce()
{
	api announce forever 7 2>"$out/hints" {carrier_lock}>&- &
	pid_hints=$!
	defer stop "$pid_hints"
}

upgrades_under_a_flow()
{
	local n before

	setup_link 100kb && "$mlcc_bpf" load && api job set 7 seven "" 0 || return
	receive old 5001 --cc cubic && receive new 5002 --cc cubic || return
	start first "$sender" bulk --peer 10.1.2.2:5001 --cc "$cc" --mark 7
	slowwait - has_grown old 0 || { cat "$out"/*.err; return 1; }
	announce
	"$mlcc_bpf" upgrade && flows_are "[(1, 1)]" && job_is 7 'r["flows"] == 1 and r["name"] == "seven"' || return
	before=$(received old)
	slowwait - has_grown old "$before" || { echo "the flow stands"; return 1; }

	start second "$sender" bulk --peer 10.1.2.2:5002 --cc "$cc" --mark 7
	slowwait - has_grown new 0 && flows_are "[(1, 1), (0, 1)]" || return
	announcements_reach_all || { echo "not announced: $(<"$out/hints")"; return 1; }
	for ((n = 0; n < 3; n++)); do
		"$mlcc_bpf" upgrade || return
	done
	flows_are "[(1, 1), (1, 1)]" && job_is 7 'r["flows"] == 2' && old_versions_end
}

# Sockets send what they have before they go.
upgraded_flows_are()
{
	"$mlcc_bpf" upgrade && flows_are "$1"
}

# The versions that flows have had go with them.
old_versions_end()
{
	local before

	kill -0 "$pid_hints" && kill -0 "$pid_first" && kill -0 "$pid_second" || return
	before=$(received new)
	stop_named first
	slowwait - has_grown new "$before" && slowwait - upgraded_flows_are "[(1, 1)]" || return
	stop_named second
	slowwait - upgraded_flows_are "[]" && is_only_the_present && job_is 7 'r["flows"] == 0'
}

main()
{
	ktap_start
	begin
	check "without a carrier it is refused" without_a_carrier_it_is_refused
	if ! has_links; then
		check "without links it is refused" without_links_it_is_refused
		ktap_finish
	fi
	require_command strace
	each check what_was_set_stays options_change_what_they_name \
		wrong_upgrades_are_refused_and_change_nothing half_a_carrier_is_refused \
		both_are_replaced_or_neither \
		another_layout_gets_the_jobs_and_an_unknown_one_is_refused \
		there_is_no_moment_without killed_anywhere_it_is_mended
	told "flows run through it, and all of them hear of their job" upgrades_under_a_flow
	ktap_finish
}

main
