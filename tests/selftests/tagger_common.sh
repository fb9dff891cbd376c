# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2317  # what is set here or there is used there or here; tests call cases
#
# What the tests of the tagger share, whichever carrier has the flows. Who includes this has included
# api_common.sh, and has job_api: the driver, where the flows' jobs are. For jobs_are_their_owners
# it has the cgroup $job, the namespace $host, and
#
#   of_user NAME ID     flows of the job that are his in whose namespaces NAME's are, whether what is said of the
#                       host's job has reached them, whether they have sent 40 kB; nothing without flows

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

# jobs_are ROWS ID,...: those of the host that are set, with the flows that are theirs
jobs_are()
{
	local said

	said=$(api_json "sorted((r['id'], r['flows']) for r in rows if r['id'] in [$2])" job list)
	[ "$said" = "$1" ] || { echo "jobs: $said, not $1"; return 1; }
}

# users_are ROWS NAME ID: as of_user has them
users_are()
{
	local said

	said=$(of_user "$2" "$3")
	[ "$said" = "$1" ] || { echo "job $3 of the user: $said, not $1"; return 1; }
}

# Anybody may have namespaces, and mark sockets there as he likes: what he says of a job of the host's
# is not heard there, either.
namespaces_of_users_have_no_jobs_of_the_host()
{
	require_user_namespaces || return
	api job set 11 roots "" 5000 , job set 12 "" "" 0 , job set 13 "" "" 0 &&
		marked_by users "${in_own[@]}" && ask users open 11 12 &&
		marked some "$host" && ask some open 12 13 &&
		jobs_are "[(11, 0), (12, 1), (13, 1)]" 11,12,13 || return
	api phase start 11 5000 && ask users send 11 100 &&
		users_are "[(1, False, False)]" users 11 || return
	api job del 11 , job del 12 , job del 13 && ask users send 11 50000 &&
		users_are "[(1, False, True)]" users 11
}

# Both ends have the tag; of one the user changes the mark, and another asks for mlcc again.
what_is_tagged_there_is_the_jobs()
{
	require_user_namespaces || return
	api job set 21 "" "" 0 , job set 22 "" "" 0 && api tag set "$job" 21 &&
		tagged_by tagged && ask tagged open 21 22 || return
	users_are "[]" tagged 21 && users_are "[(1, False, False)]" tagged 22 &&
		jobs_are "[(21, 3), (22, 0)]" 21,22 || return
	api tag del "$job" && jobs_are "[(21, 0), (22, 0)]" 21,22 && users_are "[]" tagged 22 &&
		api job del 21 , job del 22
}

# The mark of a job that the user has set himself is not from the tagger when that gives it back.
a_mark_that_is_given_back_is_the_users()
{
	require_user_namespaces || return
	api job set 31 "" "" 0 , job set 32 "" "" 0 && tagged_by before && ask before open 31 &&
		api tag set "$job" 32 && jobs_are "[(31, 0), (32, 2)]" 31,32 &&
		users_are "[]" before 31 || return
	api tag del "$job" && jobs_are "[(31, 0), (32, 0)]" 31,32 &&
		users_are "[(1, False, False)]" before 31 && api job del 31 , job del 32
}

jobs_are_their_owners()
{
	ktap_check "namespaces of users have no jobs of the host" \
		namespaces_of_users_have_no_jobs_of_the_host
	ktap_check "what is tagged in a users namespace is the jobs" what_is_tagged_there_is_the_jobs
	ktap_check "a mark that is given back is the users" a_mark_that_is_given_back_is_the_users
}

require_kernel_before()
{
	! printf '%s\n%s\n' "$1" "$(uname -r)" | sort --check=quiet --version-sort
}
