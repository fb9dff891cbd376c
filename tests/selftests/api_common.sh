# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2317  # what is set there is used here; tests call cases
#
# libmlcc's functions by the driver api.c, and what both of its carriers have to do alike: what has flows
# then, module or BPF carrier, is the includer's.

# shellcheck source=tests/selftests/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/selftests/pairs.sh
. "$here/pairs.sh"

libmlcc=$repo/userspace/libmlcc/libmlcc.a

driver=$repo/build/selftests/api

# The driver is kept: compilers are slow in emulation.
require_driver()
{
	require_command cc
	[ -e "$libmlcc" ] || ktap_skip_all "userspace/libmlcc/libmlcc.a is not built: make"
	if [ ! "$driver" -nt "$here/api.c" ] || [ ! "$driver" -nt "$libmlcc" ]; then
		mkdir -p "${driver%/*}"
		# in one step: guests may want it at the same time
		if ! cc -O1 -o "$driver.$$" "$here/api.c" "$libmlcc" -lbpf -lmnl ||
			! mv "$driver.$$" "$driver"; then
			echo "Bail out! the driver of libmlcc does not build"
			exit 1
		fi
	fi
}

require_api()
{
	require_command nsenter
	require_driver
	require_cgroup2
}

api()
{
	"$driver" "$@"
}

# set_jobs ID...: in this network namespace; what is not said of them is learnt
set_jobs()
{
	local id

	for id in "$@"; do
		api job set "$id" "" "" 0 || return
	done
}

# column NAME: of all jobs of this network namespace that have open flows
column()
{
	api job list 2>/dev/null | grep -v '"flows":0,' | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

# api_json EXPRESSION ARGUMENTS...: of rows, what the driver printed
api_json()
{
	local expression=$1
	shift

	api "$@" | json "$expression"
}

# api_refuses PATTERN ARGUMENTS...
api_refuses()
{
	refused 1 "api:*$1" api "${@:2}"
}

# job_is ID EXPRESSION: of what libmlcc knows of it, as r
job_is()
{
	api job get "$1" | prints True json "bool((lambda r: $2)(rows[0]))" 2>/dev/null && return
	api job get "$1"
	return 1
}

# prints_jobs ROWS ARGUMENTS...: what is said of jobs, as (id, name, profile, bytes)
prints_jobs()
{
	api "${@:2}" | prints "$1" json '[(r["id"], r["name"], r["profile"], r["phase_bytes"]) for r in rows
		if not r["flows"] and r["neutral"]]'
}

# In the namespace $host
announcements_stand_until_the_hint_is_changed()
{
	pair hinting "$cgroups" "$host" cc=mlcc mark=7 || return
	api job set 7 standing "" 300000 && ask hinting send 1000 || return
	api phase start 7 900000 && ask hinting send 900000 && api phase end 7 || return
	api job set 7 renamed mltcp 300000 && api phase start 7 0 && ask hinting send 900000 &&
		job_is 7 'r["d_phase"] == 900000 and r["name"] == "renamed"' || return
	api phase end 7 && api job set 7 renamed mltcp 600000 && sleep 0.1 &&
		ask hinting send 1000 && job_is 7 'r["d_phase"] == 600000' || return
	api job del 7
}

jobs_are_set_read_and_deleted()
{
	local five="(5, 'bert-large:0/a+b@c-', 'mltcp', 12345)"

	prints_jobs "[$five, $five, (6, '', '', 0)]" job new 5 bert-large:0/a+b@c- mltcp 12345 , \
		job list , job set 6 "" "" 0 , job get 5 , job get 6 || return
	api_refuses 'a job*already' job new 5 other "" 0 || return
	# as a whole: what is not given is not kept
	prints_jobs "[$five, (5, '', '', 0), (6, '', '', 0)]" job get 5 , job set 5 "" "" 0 , \
		job get 5 , job del 5 , job list || return
	api_refuses 'no job' job get 5 && api_refuses 'no job' job del 5 &&
		[ -z "$(api job del 6 , job list)" ]
}

# counted_over FIELD WORDS...: of job 13, over a link that is slower than any kernel
counted_over()
{
	tc -n "$router" qdisc replace dev right root handle 1: tbf rate 4mbit burst 5kb limit "${@:2}" &&
		slowwait 120 job_is 13 "r['$1'] > 0" >/dev/null && return
	api job get 13
	return 1
}

red_marks()
{
	tc -n "$router" qdisc add dev right parent 1:1 handle 2: red limit 400000 min 15000 max 45000 \
		avpkt 1500 burst 20 probability 1 bandwidth 4mbit ecn || { echo "no marks are made here"; return 1; }
}

losses_and_marks_are_counted()
{
	local status

	ip netns exec "$sender" sysctl -qw net.ipv4.tcp_ecn=1
	receive counted 5002 --cc "$cc" && set_jobs 13 || return
	start jobber "$sender" job --peer 10.1.2.2:5002 --bytes 2000000 --compute-ms 50 \
		--iterations 0 --cc "$cc" --mark 13
	counted_over retrans 20kb && { ! red_marks || counted_over ce 400kb; }
	status=$?
	stop_named jobber
	stop_named counted
	api job del 13
	tc -n "$router" qdisc replace dev right root tbf rate "${link_mbit}mbit" burst 16kb limit 400kb
	return "$status"
}
