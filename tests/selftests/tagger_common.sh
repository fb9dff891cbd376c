# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2317  # what is set here or there is used there or here; tests call cases
#
# What the tests of the tagger share, whichever carrier has the flows. Who includes this has included
# api_common.sh, and has job_api: the driver, where the flows' jobs are, the cgroups $outer and $inner, and
# $without_ecn: the congestion control of flows without it. For jobs_are_their_owners
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

# jobs_have FLOWS: the flows of each job, as a list of pairs
jobs_have()
{
	job_api job list | prints "$1" json 'sorted((r["id"], r["flows"]) for r in rows)'
}

# Connections from before the tag have no ECN, for which the carrier has $without_ecn.
sockets_are_tagged_and_restored()
{
	local late="$without_ecn 0x10007 0x28"

	job_api job set 7 tagged "" 0 &&
		pair old "$outer" "$host" cc=cubic mark=0x10001 tos=0x28 &&
		is old "cubic 0x10001 0x28 cubic 0x10001 0x28" &&
		api tag set "$outer" 7 && pair new "$inner" "$host" || return
	is old "$late $late" && is new "mlcc 0x7 0x2 mlcc 0x7 0x2" && jobs_have "[(7, 4)]" || return
	ask old send 100000 && api tag del "$outer" &&
		is old "cubic 0x10001 0x28 cubic 0x10001 0x28" && is new "reno 0x0 0x0 reno 0x0 0x0" &&
		ask old send 100000 && job_api job del 7
}

another_jobs_flow_is_that_again()
{
	job_api job set 7 tagged "" 0 , job set 8 before "" 0 &&
		pair marked "$outer" "$host" cc=mlcc mark=8 && jobs_have "[(7, 0), (8, 2)]" &&
		api tag set "$outer" 7 && jobs_have "[(7, 2), (8, 0)]" && api tag del "$outer" &&
		is marked "mlcc 0x8 0x2 mlcc 0x8 0x2" && jobs_have "[(7, 0), (8, 2)]" &&
		job_api job del 7 , job del 8
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
	pair old "$outer" "$host" tos=0x28 || return
	api tag set "$outer" 7 4 10 20 30 40 && pair new "$inner" "$host" tos=0x28 || return
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

# jobs_are ROWS ID,...: those of the host that are set, with the flows that are theirs
jobs_are()
{
	prints "$1" api_json "sorted((r['id'], r['flows']) for r in rows if r['id'] in [$2])" job list
}

# users_are ROWS NAME ID: as of_user has them
users_are()
{
	prints "$1" of_user "$2" "$3"
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
what_is_tagged_in_a_users_namespace_is_the_jobs()
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
	each ktap_check namespaces_of_users_have_no_jobs_of_the_host \
		what_is_tagged_in_a_users_namespace_is_the_jobs a_mark_that_is_given_back_is_the_users
}

require_kernel_before()
{
	! printf '%s\n%s\n' "$1" "$(uname -r)" | sort --check=quiet --version-sort
}
