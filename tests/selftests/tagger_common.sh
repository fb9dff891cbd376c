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

require_kernel_before()
{
	! printf '%s\n%s\n' "$1" "$(uname -r)" | sort --check=quiet --version-sort
}
