#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel module's generic netlink family: messages, permissions, network namespaces, and what it
# does to flows. Runs in a virtual machine, through `tests/selftests/run vm KERNEL`, or where modules
# may be loaded.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; marked_by sets variables by name

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"

ordinary=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all)

# nl CASES | listen: in this network namespace. What flows are to have is set by api, which
# starts faster.
nl()
{
	"$python" "$here/module_netlink.py" "$@"
}

api_in()
{
	ip netns exec "$1" "$driver" "${@:2}"
}

# value NAME ID: of a job, empty if it is absent
value()
{
	api job get "$2" 2>/dev/null | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

# In one Python: it is slow to start in emulation. One that dies on the way has failed, too.
messages()
{
	local line

	while IFS= read -r line; do
		case $line in
		"ok "*) ktap_ok "${line#ok }" ;;
		"not ok "*) ktap_fail "${line#not ok }" ;;
		*) ktap_note "$line" ;;
		esac
	done < <(nl cases 2>&1)
	wait "$!" || ktap_fail "all messages are tried"
}

### Who may

small_masks_are_respected()
{
	local status

	echo ff0 >"$parameters/mark_mask" || return
	nl mask
	status=$?
	echo ffff >"$parameters/mark_mask" && return "$status"
}

# run_as_ordinary CASE: with root's job 3 there
run_as_ordinary()
{
	local status

	api job set 3 roots "" 0 || return
	"${ordinary[@]}" "${@:2}" "$python" "$here/module_netlink.py" "$1"
	status=$?
	api job get 3 | grep -q roots || status=1
	api job del 3 && return "$status"
}

changing_needs_cap_net_admin()
{
	run_as_ordinary unprivileged
}

own_namespaces_are_ones_own()
{
	"${ordinary[@]}" unshare -Urn true 2>/dev/null || {
		echo "this kernel gives ordinary users no namespaces"
		return "$KSFT_SKIP"
	}
	run_as_ordinary own_namespace unshare -Urn
}

### Namespaces

# of_user NAME UID FLOWS: connections of as many jobs in namespaces of the user's own
of_user()
{
	marked_by "$1" setpriv --reuid "$2" --regid "$2" --clear-groups -- "${in_own[@]}" &&
		opens "$1" "$3"
}

# opens NAME FLOWS: one of each job
opens()
{
	local first

	for ((first = 1; first <= $2; first += 256)); do
		# shellcheck disable=SC2046  # words
		ask "$1" open $(seq "$first" $((first + 255 < $2 ? first + 255 : $2))) >/dev/null ||
			return
	done
}

# have N NAME: its connections that have got a job
have()
{
	prints "$1" ask "$2" having
}

# may_set N COMMAND...: more jobs, where the command leads
may_set()
{
	prints "$1" "${@:2}" "$python" "$here/module_netlink.py" most
}

# into NAME COMMAND...: the namespaces of its connections
into()
{
	local pid=pair_pid_$1

	nsenter --preserve-credentials --user --net --setuid 0 -t "${!pid}" "${@:2}"
}

# Half of all is for users, each of whom has at most as many as he leaves to others, whatever the
# number of his namespaces; a quarter is left to namespaces of root's, and one to the initial one.
users_leave_others_their_jobs()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Urn true 2>/dev/null ||
		{ echo "no user namespaces for users"; return "$KSFT_SKIP"; }
	ulimit -n 20000 && of_user one 65534 4100 && have 4096 one && may_set 4096 into one || return
	of_user two 65533 2052 && have 2048 two && may_set 2048 into two || return
	of_user again 65534 3 && have 0 again && may_set 0 into again || return
	marked pods "$receiver" && opens pods 1028 && have 1024 pods && may_set 1024 ip netns exec "$receiver" || return
	marked host && opens host 10 && have 10 host || return
	# who goes leaves to others what he had
	exec {pair_to_one}>&- && exec {pair_to_again}>&- && slowwait - have_room
}

have_room()
{
	opens two 1 && [ "$(ask two having)" -gt 2048 ]
}

### Flows

# A flow that never pauses: what changes, changes in the middle of a phase. What it takes of a link, also
# once its job is deleted, is in neutral.sh.
running_flow()
{
	receive bulk "$1" --cc reno || return
	start flow "$sender" bulk --peer "10.1.2.2:$1" --cc "$cc" --mark "$2"
	slowwait - has_received bulk 1000000 || { cat "$out"/*.err; return 1; }
}

# The flow's job is the initial namespace's until its own namespace says something of that id.
namespaces_have_jobs_of_their_own()
{
	local status=1

	api job set 6 everywhere "" 0 && running_flow 5002 6 &&
		own_job_comes_first && status=0
	stop_named flow
	stop_named bulk
	api job del 6
	return "$status"
}

own_job_comes_first()
{
	prints 1 value flows 6 || { echo "not the initial namespace's"; return 1; }
	api_in "$receiver" job set 6 other "" 0 || return
	prints 1 value flows 6 || { echo "a third namespace has taken it"; return 1; }
	! api_in "$sender" job get 6 || { echo "seen in the flow's namespace"; return 1; }
	api_in "$sender" job set 6 own "" 0 || return
	prints 0 value flows 6 || { echo "still the initial namespace's"; return 1; }
	api_in "$sender" job get 6 | grep '"flows":1,' || return
	api_in "$receiver" job get 6 | grep '"flows":0,' || return
	api_in "$sender" job del 6 || return
	prints 1 value flows 6 || { echo "not the initial namespace's again"; return 1; }
}

### Hints and events

# Of each its letters and number, and bytes that are as many as there have to be.
told_phases()
{
	json "' '.join('%s%d %s' % (r['event'][6:9], r['PHASES'], r.get('D_SENT', 4e5) >= 4e5)
		for r in rows if r['event'].startswith('PHASE'))" <"$out/events"
}

# A start and an end for each, with their bytes; the first is announced before there is a flow.
events_tell_of_phases()
{
	local status

	nl listen >"$out/events" 2>&1 {carrier_lock}>&- &
	defer stop "$!"
	slowwait - grep -q LISTENING "$out/events" && receive hinted 5004 --cc reno &&
		api job set 11 announced "" 0 , phase start 11 400000 || return
	start job "$sender" job --peer 10.1.2.2:5004 --bytes 400000 --compute-ms 3000 \
		--iterations 0 --cc "$cc" --mark 11
	slowwait 120 grep -q '"PHASES": 4' "$out/events"
	stop_named job
	stop_named hinted
	api job del 11 && slowwait - grep -q JOB_DEL_NTF "$out/events" &&
		grep -q '"PHASES": 1, "D_PHASE": 400000' "$out/events" &&
		[[ $(told_phases) == "STA1 True END1 True STA2 True END2 True STA3 True END3 True STA4"* ]]
	status=$?
	[ "$status" -eq 0 ] || cat "$out/events"
	return "$status"
}

### Life

unloads_with_jobs_and_listeners()
{
	api job set 1 left "" 0 && api_in "$sender" job set 2 "" "" 0 || return
	slowwait - rmmod tcp_mlcc || return
	cc_gone || return
	modprobe tcp_mlcc mark_mask=ffff && ! api job get 1 | grep left
}

main()
{
	ktap_start
	require_command setpriv unshare nsenter
	require_carrier
	setup_out
	defer unload_quietly
	modprobe tcp_mlcc mark_mask=ffff || ktap_fail_all "tcp_mlcc is loaded"
	messages
	each ktap_check small_masks_are_respected changing_needs_cap_net_admin own_namespaces_are_ones_own
	setup_link 400kb || exit 1
	ktap_check "users leave others their jobs" users_leave_others_their_jobs
	each told namespaces_have_jobs_of_their_own events_tell_of_phases unloads_with_jobs_and_listeners
	ktap_finish
}

main
