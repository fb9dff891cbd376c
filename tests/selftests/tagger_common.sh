# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2317  # what is set here or there is used there or here; tests call cases
#
# What the tests of the tagger share, whichever carrier has the flows. Who includes this has included
# api_common.sh and pairs.sh, and has job_api: the driver, where the flows' jobs are.

tagger_pins=$pins/tagger

unload_tagger()
{
	api tagger unload 2>/dev/null
	return 0
}

# Loaded until the test ends.
require_tagger()
{
	local said

	defer unload_tagger
	said=$(api tagger load 2>&1) && return
	[[ $said == *cannot\ keep\ socket\ storage* ]] || { echo "Bail out! $said"; exit 1; }
	ktap_skip_all "$said"
}

# dscp_is NAME VALUE: of the end that sends, without the bits of ECN
dscp_is()
{
	local said

	read -r _ _ said _ < <(ask "$1" show)
	[ $((said >> 2)) -eq "$2" ] || { echo "DSCP of $1: $((said >> 2)), wanted $2"; return 1; }
}

ecn_is()
{
	local said

	read -r _ _ said _ < <(ask "$1" show)
	[ $((said & 3)) -eq "$2" ] || { echo "ECN of $1: $((said & 3)), wanted $2"; return 1; }
}

# A phase of a megabyte, in four classes.  A round trip is reported before the job knows of what was
# acknowledged with it, so the class is one ACK late; over loopback an ACK may be for all.
phase_goes_through_the_classes()
{
	local name=$1 class

	for class in 10 20 30 40; do
		ask "$name" send 190000 && ask "$name" send 10000 &&
			slowwait - dscp_is "$name" "$class" && ask "$name" send 50000 || return
	done
}

progress_picks_the_dscp()
{
	job_api job set 7 prio "" 1000000 || return
	pair old "$outer" "$host" --tos 0x28 || return
	api tag set "$outer" 7 4 10 20 30 40 && pair new "$inner" "$host" --tos 0x28 || return
	dscp_is new 10 && ecn_is new 2 || return
	job_api phase start 7 1000000 && phase_goes_through_the_classes new && ecn_is new 2 || return
	job_api phase start 7 1000000 && ask new send 1000 && slowwait - dscp_is new 10 || return
	if ask old send 1000 && slowwait 2 dscp_is old 10; then
		echo "sockets from before, too" >&2
	else
		require_kernel_before 6.13 || return
	fi
	# what was asked for is stopped: DSCP as before
	api tag set "$outer" 7 && dscp_is new 10 && ecn_is new 2 && dscp_is old 10 || return
	api tag del "$outer" && is old "reno 0x0 0x28 reno 0x0 0x28" &&
		is new "reno 0x0 0x28 reno 0x0 0x28" && job_api job del 7
}

# One class is the job's, whatever its progress; it may become another, or one by progress.
a_job_has_one_dscp()
{
	job_api job set 7 fixed "" 1000000 || return
	pair old "$outer" "$host" --tos 0x28 || return
	api tag set "$outer" 7 1 46 && pair new "$inner" "$host" --tos 0x28 || return
	dscp_is new 46 && ecn_is new 2 && dscp_is old 46 || return
	job_api phase start 7 1000000 && ask new send 500000 && dscp_is new 46 || return
	api tag set "$outer" 7 1 0 && dscp_is new 0 && dscp_is old 0 || return
	api tag set "$outer" 7 4 10 20 30 40 && pair later "$inner" "$host" || return
	ask later send 1000 && slowwait - dscp_is later 10 || return
	api tag set "$outer" 7 1 46 && ask later send 1000 && dscp_is later 46 || return
	api tag set "$outer" 7 && dscp_is new 10 && dscp_is old 10 && dscp_is later 0 || return
	api tag set "$outer" 7 1 46 && dscp_is new 46 || return
	api tag del "$outer" && is old "reno 0x0 0x28 reno 0x0 0x28" &&
		is new "reno 0x0 0x28 reno 0x0 0x28" && job_api job del 7
}

# skips LIST NAME...: with that list these pairs are left alone
skips()
{
	local list=$1 name
	shift

	api tag skip "$outer" 7 "$list" || return
	for name in "$@"; do
		is "$name" "reno 0x0 0x0 reno 0x0 0x0" || { echo "with $list"; return 1; }
	done
}

# takes LIST NAME...: with that list these are the job's
takes()
{
	local list=$1 name
	shift

	api tag skip "$outer" 7 "$list" || return
	for name in "$@"; do
		is "$name" "mlcc 0x7 0x0 mlcc 0x7 0x0" || is "$name" "mlcc_plain 0x7 0x0 mlcc_plain 0x7 0x0" ||
			{ echo "with $list"; return 1; }
	done
}

# Sockets that are there follow the list, and new ones are looked at by it.
skipped_connections_are_left_alone()
{
	local word

	api tag skip "$outer" 7 lo && pair four "$inner" "$host" &&
		pair six "$inner" "$host" --address ::1 && skips lo four six || return
	takes none four six && takes "1-1023, 10.0.0.0/8, fd00::/8" four six || return
	skips 1024-65535 four six && skips 127.0.0.0/8,::/0 four six || return
	skips 126.0.0.0/7,::1 four six && takes 127.0.0.2,fe80::/10 four six || return
	skips 2049,127.0.0.1,::1 four six && pair late "$inner" "$host" && skips 2049,127.0.0.1 late || return
	takes 2049,127.0.0.2 four six late || return
	for word in 0 65536 9-8 a 127.0.0.1/33 ::1/129 1.2.3 "lo," 2049- -1 "$(seq -s , 9)"; do
		api_refuses skip tag skip "$outer" 7 "$word" || return
		takes 2049,127.0.0.2 four || return
	done
	api tag del "$outer" && is four "reno 0x0 0x0 reno 0x0 0x0"
}

require_kernel_before()
{
	! printf '%s\n%s\n' "$1" "$(uname -r)" | sort --check=quiet --version-sort
}
