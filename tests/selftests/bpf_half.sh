#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loads and unloads of the BPF carrier that begin or end half way. What holds the registration depends
# on the kernel: a link from 6.4 on, before that the operations themselves.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; what is included sets variables

# shellcheck source=tests/selftests/pins_common.sh
. "$(dirname "$0")/pins_common.sh"

: "${kills:=${MLCC_KILLS:-${KSFT_MACHINE_SLOW:+3}}}" "${kills:=5}"

# What one of many says that load and unload as they like.
loads_and_unloads()
{
	local n

	for ((n = 0; n < kills; n++)); do
		"$mlcc_bpf" load
		"$mlcc_bpf" unload
	done 2>&1 | grep -v -e 'is loaded already' -e 'not loaded'
}

many_take_turns()
{
	local i pids=()

	one_mounted || return
	for ((i = 0; i < 4; i++)); do
		loads_and_unloads >>"$out/turns" &
		pids+=("$!")
	done
	wait "${pids[@]}"
	unload_quietly
	cat "$out/turns"
	[ ! -s "$out/turns" ] && nothing_left
}

# Each kind of pins, and every pin alone; in emulation of these only what holds the registration.
half_states()
{
	local alone=$all

	[ -z "${KSFT_MACHINE_SLOW-}" ] || alone="mlcc mlcc_plain"
	printf '%s\n' "mlcc mlcc_plain" "control slots rules profiles settings" "link_mlcc control mlcc_plain"
	! has_links || printf '%s\n' "link_mlcc link_mlcc_plain" "link_mlcc link_mlcc_plain mlcc mlcc_plain"
	tr ' ' '\n' <<<"$alone"
}

# The carrier lacks these pins: unload ends that, and load makes it whole.
is_mended_without()
{
	"$mlcc_bpf" load && rm -f "${@/#/$pins/}" && "$mlcc_bpf" load && is_whole &&
		rm -f "${@/#/$pins/}" && "$mlcc_bpf" unload && nothing_left
}

half_a_carrier_is_mended()
{
	local state

	one_mounted || return
	while read -ra state; do
		is_mended_without "${state[@]}" && continue
		echo "without ${state[*]}"
		return 1
	done < <(half_states)
}

# Without links it is the kernel that keeps the operations then.
a_carrier_without_pins_is_unloaded()
{
	"$mlcc_bpf" load && find "$pins" -type f -delete && "$mlcc_bpf" unload && nothing_left
}

what_cannot_be_unloaded_is_said()
{
	has_links || { echo "this kernel has no links to hold"; return "$KSFT_SKIP"; }
	one_mounted && "$mlcc_bpf" load || return
	ln "$pins/link_mlcc" "$bpf_fs/held" && refused 1 'registered' "$mlcc_bpf" unload &&
		[ ! -e "$pins" ] && refused 1 'registered' "$mlcc_bpf" load && [ ! -e "$pins" ] &&
		refused 1 'registered' "$mlcc_bpf" unload && cc_available || return
	rm "$bpf_fs/held" && nothing_left_soon
}

# With N descriptors: every step of a load fails once.
a_load_that_fails_leaves_nothing()
{
	local n failed=0

	for ((n = 4; n < 60; n++)); do
		if prlimit --nofile="$n" "$mlcc_bpf" load 2>>"$out/failed"; then
			is_whole && "$mlcc_bpf" unload && nothing_left && [ "$failed" -gt 3 ]
			return
		fi
		failed=$((failed + 1))
		nothing_left_soon || { echo "with $n descriptors"; return 1; }
	done
	cat "$out/failed"
	return 1
}

a_second_carrier_is_refused()
{
	one_mounted && "$mlcc_bpf" load && "$mlcc_bpf" job set 5 --phase-bytes 12345 &&
		mkdir -p "$out/bpf" && mount -t bpf bpf "$out/bpf" || return
	refused 1 'registered already' elsewhere "$mlcc_bpf" load && [ ! -e "$other" ] || return
	# without links it would be taken for one that has lost its pins
	! has_links || refused 1 'still registered' elsewhere "$mlcc_bpf" unload || return
	is_whole && api job get 5 | grep -q 12345 && "$mlcc_bpf" unload && nothing_left
}

# kill_load: at some point of its 100 ms or so
kill_load()
{
	local pid

	"$mlcc_bpf" load 2>/dev/null {carrier_lock}>&- &
	pid=$!
	sleep "0.$(printf '%03d' $((RANDOM % 100)))"
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	pins_there | wc -w >>"$out/kills"
}

a_load_that_is_killed_is_undone()
{
	local n

	one_mounted || return
	for ((n = 0; n < kills; n++)); do
		kill_load
		if [ -e "$pins" ]; then
			"$mlcc_bpf" unload || return
		fi
		nothing_left_soon || return
		kill_load
		is_whole || "$mlcc_bpf" load || return
		is_whole && "$mlcc_bpf" unload && nothing_left || return
	done
	echo "pins at the end: $(sort -n "$out/kills" | uniq -c | paste -sd ,)" >&2
}

main()
{
	ktap_start
	begin
	each check many_take_turns half_a_carrier_is_mended a_carrier_without_pins_is_unloaded \
		what_cannot_be_unloaded_is_said a_load_that_fails_leaves_nothing \
		a_second_carrier_is_refused a_load_that_is_killed_is_undone
	ktap_finish
}

main
