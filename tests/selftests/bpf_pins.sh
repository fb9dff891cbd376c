#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where the BPF carrier and the tagger are pinned: the bpf file system that may be missing, a directory
# that is somebody else's.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; what is included sets variables

# shellcheck source=tests/selftests/pins_common.sh
. "$(dirname "$0")/pins_common.sh"

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

what_looks_mounts_nothing()
{
	none_mounted && refused 1 'not loaded' "$mlcc_bpf" show &&
		refused 1 'not loaded' "$mlcc_bpf" unload &&
		refused 1 'not loaded' api tag list && refused 1 'not loaded' api job list &&
		doctor_says FAIL && [ "$(mounts)" -eq 0 ] && one_mounted && doctor_says ok &&
		as_nobody true && doctor_says note as_nobody
}

# doctor_says STATE [HOW...]: of the bpf file system
doctor_says()
{
	local state=$1
	shift

	[ "$("$@" "$repo/build/userspace/mlcc-ctl/mlcc-ctl" -j doctor |
		json '[c["state"] for c in d if c["check"] == "bpffs"][0]')" = "$state" ]
}

# many_mount_one [HOW...]
many_mount_one()
{
	local i loaded=0 pids=()

	none_mounted && mkdir -p "$out/many" || return
	for ((i = 0; i < 8; i++)); do
		"$@" "$mlcc_bpf" load 2>"$out/many/$i" &
		pids+=("$!")
	done
	for i in "${pids[@]}"; do
		wait "$i" && loaded=$((loaded + 1))
	done
	sort "$out/many/"* | uniq -c
	echo "$(mounts) mounted, $loaded loaded"
	[ "$(mounts)" -eq 1 ] && [ "$loaded" -eq 1 ] && is_whole &&
		[ "$(grep -l 'loaded already' "$out/many/"* | wc -l)" -eq 7 ] &&
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

main()
{
	ktap_start
	begin
	tagger=$(api tagger load 2>&1 && api tagger unload 2>&1)
	each check what_loads_mounts_it the_tagger_mounts_it what_looks_mounts_nothing \
		many_mount_one
	check "as well in another network namespace" many_mount_one unshare --net
	each check where_mounting_is_forbidden_it_says_so another_directory_will_do \
		wrong_directories_are_refused odd_directories_are_left_alone \
		others_cannot_take_a_lock one_loads_at_a_time
	ktap_finish
}

main
