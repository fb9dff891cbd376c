# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2317  # what is set here or there is used there or here
#
# What the tests of the pin directory share. Including this begins the test again, in a mount
# namespace of its own.

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"

if [ "${MLCC_ALONE:-}" != yes ] && [ "$(id -u)" -eq 0 ]; then
	MLCC_ALONE=yes exec unshare --mount "$0" "$@"
fi

bpf_fs=/sys/fs/bpf

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

# From 6.4 on.
has_links()
{
	[[ $all == *link_mlcc* ]]
}

# elsewhere COMMAND...: with pins in another directory
elsewhere()
{
	MLCC_PIN_DIR=$other "$@"
}

# Mounts are the test's own; all is what a whole carrier has pinned.
begin()
{
	require_bpf
	require_command bpftool findmnt prlimit setpriv unshare
	require_api
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
