#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where the BPF carrier and the tagger are pinned: the bpf file system that may be missing, a directory
# that is somebody else's, and loads and unloads that begin or end half way.
#
# Mounts are the test's own, as it runs in a mount namespace of its own.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; common.sh sets variables

# shellcheck source=tests/selftests/bpf_api.sh
. "$(dirname "$0")/bpf_api.sh"
# shellcheck source=tests/selftests/mlccd_common.sh
. "$(dirname "$0")/mlccd_common.sh"

bpf_fs=/sys/fs/bpf
: "${kills:=${MLCC_KILLS:-${KSFT_MACHINE_SLOW:+3}}}" "${kills:=20}"

### What there is

mounts()
{
	grep -c " $bpf_fs .* - bpf " /proc/self/mountinfo
}

none_mounted()
{
	while umount "$bpf_fs" 2>/dev/null; do :; done
	[ "$(mounts)" -eq 0 ]
}

one_mounted()
{
	none_mounted && mount -t bpf bpf "$bpf_fs"
}

# Nothing at all, at once: what "unload" says is true when it ends.
nothing_left()
{
	[ ! -e "$pins" ] || { ls -Rl "$pins"; return 1; }
	! grep -qw -e mlcc -e mlcc_plain /proc/sys/net/ipv4/tcp_available_congestion_control ||
		{ echo "mlcc is registered"; return 1; }
}

nothing_left_soon()
{
	slowwait - nothing_left >/dev/null || nothing_left
}

pins_there()
{
	find "$pins" -type f -printf '%f\n' 2>/dev/null | sort | paste -sd ' '
}

is_whole()
{
	cc_available && "$mlcc_bpf" show >/dev/null && [ "$(pins_there)" = "$all" ]
}

# refused STATUS PATTERN COMMAND...: in one line that has the pattern
refused()
{
	local want=$1 pattern=$2 said status
	shift 2

	said=$("$@" 2>&1)
	status=$?
	[ "$status" -eq "$want" ] && [[ $said == *$pattern* && $said != *$'\n'* ]] && return
	echo "$*: status $status, wanted $want; said: $said"
	return 1
}

# Some processors have no tagger, see require_tagger.
need_tagger()
{
	[[ $tagger == *cannot\ keep\ socket\ storage* ]] || return 0
	echo "$tagger"
	return "$KSFT_SKIP"
}

# As in a container: root, and all that loading needs, but nobody who mounts.
without_mounting()
{
	setpriv --bounding-set=-sys_admin "$@"
}

as_nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

### The file system

what_loads_mounts_it()
{
	none_mounted && "$mlcc_bpf" load && [ "$(mounts)" -eq 1 ] && is_whole || return
	[ "$(findmnt -no OPTIONS "$bpf_fs" | grep -ow -e nosuid -e nodev -e noexec | wc -l)" -eq 3 ] &&
		[ "$(stat -c '%u %a' "$bpf_fs")" = "0 1700" ] || return
	[ "$(stat -c '%u %a' "$pins")" = "0 700" ] || return
	"$mlcc_bpf" unload && nothing_left
}

the_tagger_mounts_it()
{
	need_tagger || return
	none_mounted && api tagger load && [ "$(mounts)" -eq 1 ] && [ -e "$pins/tagger/link" ] &&
		api tagger unload && nothing_left
}

mlccd_mounts_it()
{
	local status

	need_tagger || return
	none_mounted && start_daemon || return
	ctl -j status | json 'd["tagger"]' | grep -qx True && [ "$(mounts)" -eq 1 ]
	status=$?
	kill "$daemon" && wait "$daemon" 2>/dev/null
	unload_mlccd && nothing_left && return "$status"
}

what_looks_mounts_nothing()
{
	none_mounted && refused 1 'not loaded' "$mlcc_bpf" show &&
		refused 1 'not loaded' "$mlcc_bpf" unload &&
		refused 1 'not loaded' api tag list && refused 1 'not loaded' api job list &&
		doctor_says FAIL && [ "$(mounts)" -eq 0 ] && one_mounted && doctor_says ok &&
		as_nobody true && doctor_says ok as_nobody
}

# doctor_says STATE [HOW...]: of the bpf file system
doctor_says()
{
	local state=$1
	shift

	[ "$("$@" "$repo/build/userspace/mlcc-ctl/mlcc-ctl" -j doctor |
		json '[c["state"] for c in d if c["check"] == "bpffs"][0]')" = "$state" ]
}

many_mount_one()
{
	local i loaded=0 pids=()

	none_mounted || return
	for ((i = 0; i < 8; i++)); do
		"$mlcc_bpf" load 2>>"$out/many" &
		pids+=("$!")
	done
	for i in "${pids[@]}"; do
		wait "$i" && loaded=$((loaded + 1))
	done
	cat "$out/many"
	[ "$(mounts)" -eq 1 ] && [ "$loaded" -eq 1 ] && is_whole &&
		[ "$(grep -c 'loaded already' "$out/many")" -eq 7 ] &&
		"$mlcc_bpf" unload && nothing_left
}

where_mounting_is_forbidden_it_says_so()
{
	local how

	none_mounted && without_mounting true || return
	for how in "$mlcc_bpf load" "$driver tagger load"; do
		# shellcheck disable=SC2086  # words
		refused 1 'mount -t bpf bpf /sys/fs/bpf' without_mounting $how &&
			refused 1 'MLCC_PIN_DIR' without_mounting $how || return
	done
	[ "$(mounts)" -eq 0 ] && nothing_left
}

### The directory

# elsewhere COMMAND...: with pins in another directory
elsewhere()
{
	MLCC_PIN_DIR=$other "$@"
}

another_directory_will_do()
{
	none_mounted && mkdir -p "$out/bpf" && mount -t bpf bpf "$out/bpf" || return
	elsewhere without_mounting "$mlcc_bpf" load && cc_available && elsewhere "$mlcc_bpf" show &&
		[ "$(stat -c '%u %a' "$other")" = "0 700" ] && elsewhere api job list &&
		elsewhere doctor_says ok || return
	if need_tagger; then
		elsewhere api tagger load && [ -e "$other/tagger/link" ] &&
			elsewhere api tagger unload || return
	fi
	elsewhere "$mlcc_bpf" unload && [ ! -e "$other" ] && nothing_left && [ "$(mounts)" -eq 0 ]
}

wrong_directories_are_refused()
{
	local dir

	none_mounted || return
	for dir in "" relative / "$out/nowhere/at/all" "$out/plain" "$bpf_fs/mlcc"; do
		MLCC_PIN_DIR=$dir refused 1 "MLCC_PIN_DIR '$dir'" "$mlcc_bpf" load &&
			MLCC_PIN_DIR=$dir refused 1 "MLCC_PIN_DIR '$dir'" api tagger load || return
	done
	[ ! -e "$out/plain" ] && [ "$(mounts)" -eq 0 ] && nothing_left
}

# left_alone PATTERN: nobody uses the pin directory as it is, nor changes it
left_alone()
{
	local before

	before=$(stat -c '%F %u %a %i %N' "$pins")
	refused 1 "$1" "$mlcc_bpf" load && refused 1 "$1" "$mlcc_bpf" show &&
		refused 1 "$1" "$mlcc_bpf" unload && refused 1 "$1" api tagger load &&
		refused 1 "$1" api tag list && refused 1 "$1" api job list && doctor_says FAIL ||
		return
	[ "$(stat -c '%F %u %a %i %N' "$pins")" = "$before" ] && cc_gone
}

odd_directories_are_left_alone()
{
	one_mounted && mkdir -m 755 "$pins" && left_alone 'mode 0755' &&
		chmod 770 "$pins" && left_alone 'mode 0770' &&
		chmod 700 "$pins" && chown 65534 "$pins" && left_alone 'owner 65534' &&
		rmdir "$pins" && mkdir -m 700 "$bpf_fs/other" && ln -s "$bpf_fs/other" "$pins" &&
		left_alone 'no directory' && rm "$pins" && "$mlcc_bpf" load && mkdir -m 755 "$pins/tagger" &&
		refused 1 'tagger: has owner 0 and mode 0755' api tagger load &&
		rmdir "$pins/tagger" && "$mlcc_bpf" unload && nothing_left
}

### The lock

others_cannot_take_a_lock()
{
	"$mlcc_bpf" load && as_nobody flock -n "$bpf_fs" true && flock -n "$pins" true || return
	! as_nobody flock -n "$pins" true && [ "$(stat -c '%u %a' "$lock")" = "0 600" ] &&
		"$mlcc_bpf" unload
}

# Who waits goes on in a new directory if the one it waited for is gone.
one_loads_at_a_time()
{
	local pid status

	one_mounted && mkdir -m 700 "$pins" && exec {held}<"$pins" && flock "$held" || return
	"$mlcc_bpf" load {held}<&- &
	pid=$!
	! slowwait 1 cc_available && rmdir "$pins"
	status=$?
	exec {held}<&-
	wait "$pid" && [ "$status" -eq 0 ] && is_whole && "$mlcc_bpf" unload && nothing_left
}

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

### Half states

has_links()
{
	[[ $all == *link_mlcc* ]]
}

# Every pin alone, and each kind of them.
half_states()
{
	! has_links || echo "link_mlcc link_mlcc_plain"
	printf '%s\n' "mlcc mlcc_plain" \
		"link_mlcc link_mlcc_plain mlcc mlcc_plain" "control slots rules profiles settings" \
		"link_mlcc control mlcc_plain"
	tr ' ' '\n' <<<"$all"
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
	require_bpf
	require_command bpftool findmnt prlimit setpriv unshare
	require_api
	[ -x "$mlccd" ] || ktap_skip_all "mlccd is not built: make"
	[ "$pins" = "$bpf_fs/mlcc" ] || ktap_skip_all "MLCC_PIN_DIR is set"
	setup_out
	other=$out/bpf/pins
	if ! one_mounted || ! "$mlcc_bpf" load; then
		echo "Bail out! the BPF carrier does not load"
		exit 1
	fi
	all=$(pins_there)
	"$mlcc_bpf" unload || exit 1
	defer unload_quietly
	tagger=$(api tagger load 2>&1 && api tagger unload 2>&1)
	check "what loads mounts the bpf file system" what_loads_mounts_it
	check "the tagger mounts it, too" the_tagger_mounts_it
	check "so does mlccd" mlccd_mounts_it
	check "what only looks mounts nothing" what_looks_mounts_nothing
	check "of many at once one mounts and one loads" many_mount_one
	check "where mounting is forbidden it says what to do" where_mounting_is_forbidden_it_says_so
	check "MLCC_PIN_DIR names another directory" another_directory_will_do
	check "a wrong MLCC_PIN_DIR is refused" wrong_directories_are_refused
	check "odd directories are refused and left alone" odd_directories_are_left_alone
	check "others cannot take a lock" others_cannot_take_a_lock
	check "one loads at a time" one_loads_at_a_time
	check "of many that load and unload each finds all or nothing" many_take_turns
	check "unload ends half states, load makes them whole" half_a_carrier_is_mended
	check "a carrier without pins is unloaded" a_carrier_without_pins_is_unloaded
	check "what cannot be unloaded is said" what_cannot_be_unloaded_is_said
	check "a load that fails leaves nothing" a_load_that_fails_leaves_nothing
	check "a second carrier is refused, the first unharmed" a_second_carrier_is_refused
	check "$((2 * kills)) loads that are killed are undone" a_load_that_is_killed_is_undone
	ktap_finish
}

# What a case that failed has left would make others fail.
check()
{
	ktap_check "$@"
	elsewhere "$mlcc_bpf" unload 2>/dev/null
	while umount "$out/bpf" 2>/dev/null; do :; done
	one_mounted
	unload_quietly
}

if [ "${MLCC_ALONE:-}" != yes ] && [ "$(id -u)" -eq 0 ]; then
	MLCC_ALONE=yes exec unshare --mount "$0" "$@"
fi
main
