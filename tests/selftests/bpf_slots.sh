#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The slots of the BPF carrier: each job has one in a network namespace, and no namespace has all.

# shellcheck disable=SC2119,SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"
# shellcheck source=tests/selftests/tagger_common.sh
. "$here/tagger_common.sh"

# group_of ID COUNT: that many ids from ID on whose slots lie in one group (mlcc_group() in mlcc_bpf.h)
group_of()
{
	"$python" -c '
import itertools, sys
first, count = map(int, sys.argv[1:])
group = lambda id: (id * 0x9e3779b97f4a7c15 & 2**64 - 1) >> 40 & 16384 - 64
alike = (id for id in range(first, 65536) if group(id) == group(first))
print(*itertools.islice(alike, count))' "$1" "$2"
}

# flows_are ID N: in the one slot that the job has
flows_are()
{
	slots_are "[$2]" "[j['flows'] for j in d if j['id'] == $1]"
}

# Its slot lies behind one that has come to be free.
a_later_flow_finds_the_slot_of_the_job()
{
	local first second

	read -r first second < <(group_of 100 2)
	marked some "$host" && ask some open "$first" && ask some open "$second" &&
		ask some close "$first" && slowwait - flows_are "$first" 0 &&
		ask some open "$second" && flows_are "$second" 2
}

# What is learnt of a job outlives its flows, as long as there is room.
a_job_comes_back_to_its_slot()
{
	local ids

	read -ra ids < <(group_of 200 4)
	marked some "$host" && ask some open "${ids[0]}" && ask some send "${ids[0]}" 50000 &&
		ask some close "${ids[0]}" && ask some open "${ids[@]}" || return
	slots_are "[(1, True)]" "[(j['flows'], j['bytes'] >= 40000) for j in d if j['id'] == ${ids[0]}]"
}

# 300 jobs; on a machine with one processor nothing is at the same time.
flows_at_the_same_time_find_one_slot()
{
	local n seen="[j['id'] for j in d if 1000 <= j['id'] < 1300]"

	marked some "$host" || return
	for n in 1000 1100 1200; do
		ask some race "$n" 100 || return
	done
	slots_are 0 "len($seen) - len(set($seen))" && slowwait - slots_are 0 "sum(j['flows'] for j in d)"
}

# has_slots N FILE IDS...: of these jobs in the namespace that the file stands for
has_slots()
{
	local n=$1 netns ids

	netns=$(stat -L -c %i "$2") || return
	shift 2
	printf -v ids '%s,' "$@"
	slots_are "$n" "sum(j['netns'] == $netns and j['flows'] > 0 and j['id'] in ($ids) for j in d)"
}

# Whether this is the initial network namespace: that of process 1, where that is the first of all.
is_initial()
{
	[ "$(stat -L -c %i /proc/self/ns/pid)" = 4026531836 ] && [ /proc/self/ns/net -ef /proc/1/ns/net ]
}

no_namespace_has_all_slots()
{
	local ids

	read -ra ids < <(group_of 400 20)
	marked few "$host" && ask few open "${ids[@]}" &&
		has_slots 8 "/run/netns/$host" "${ids[@]}" || return
	# without a slot it is TCP as ever; and who goes makes room
	ask few send "${ids[19]}" 10000 && ask few close "${ids[0]}" && ask few open "${ids[19]}" &&
		has_slots 8 "/run/netns/$host" "${ids[@]}" || return
	marked other "$pod" && ask other open "${ids[@]:0:3}" &&
		has_slots 3 "/run/netns/$pod" "${ids[@]}" || return
	is_initial || { echo "not in the initial namespace" >&2; return 0; }
	marked all && ask all open "${ids[@]}" && has_slots 20 /proc/self/ns/net "${ids[@]}"
}

# What is not the job's is no more than a slot: neither what is announced nor a deletion reaches it.
of_user()
{
	"$mlcc_bpf" show | json "[(j['flows'], bool(j['d_hint'] or j['hint_state'] or j['deleted']),
		j['bytes'] >= 40000) for j in d if j['id'] == $2 and j['whose'] == 'user' and j['flows']]"
}

# users_spread NAME UID ID: a connection of the job in each of forty namespaces of the user
users_spread()
{
	marked_by "$1" setpriv --reuid "$2" --regid "$2" --clear-groups -- && ask "$1" spread "$3" 40
}

# of_users N ID: slots with flows
of_users()
{
	slots_are "$1" "sum(j['id'] == $2 and j['whose'] == 'user' and j['flows'] > 0 for j in d)"
}

# Forty namespaces are more than there are slots for all but the initial namespace, less what is kept.
users_leave_pods_their_slots()
{
	local ids

	setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Urn true 2>/dev/null ||
		{ echo "no user namespaces for users"; return "$KSFT_SKIP"; }
	read -ra ids < <(group_of 900 20)
	users_spread one 65534 "${ids[0]}" && of_users 16 "${ids[0]}" || return
	users_spread two 65533 "${ids[1]}" && of_users 8 "${ids[1]}" || return
	marked pods "$pod" && ask pods open "${ids[@]:2:10}" &&
		has_slots 8 "/run/netns/$pod" "${ids[@]}" || return
	# who goes leaves to others what he had
	ask one gather && slowwait - of_users 0 "${ids[0]}" &&
		users_spread three 65532 "${ids[12]}" && of_users 12 "${ids[12]}"
}

# namespace NAME: anew
namespace()
{
	ip netns add "$1" && ip -n "$1" link set dev lo up && inode=$(stat -L -c %i "/run/netns/$1")
}

forget_namespace()
{
	ip netns del "$1" 2>/dev/null
	return 0
}

# The kernel gives the inode number of a namespace that has gone to the next one, a moment later.
a_new_namespace_has_no_old_slots()
{
	local inode first n

	namespace "$host-again" && marked old "$host-again" && ask old open 500 &&
		ask old send 500 50000 && ask old close 500 || return
	first=$inode
	exec {pair_to_old}>&- && forget_namespace "$host-again"
	for ((n = 0; n < 50; n++)); do
		namespace "$host-again" || return
		[ "$inode" != "$first" ] || break
		forget_namespace "$host-again"
		sleep 0.1
	done
	[ "$inode" = "$first" ] || { echo "the number does not come again"; return "$KSFT_SKIP"; }
	marked new "$host-again" && ask new open 500 || return
	slots_are "[0]" "[j['bytes'] for j in d if j['id'] == 500 and j['flows']]"
}

# A carrier whose init() does nothing.
without_init()
{
	copy_carrier "$out/src" && sed -i '/^\tmlcc_sk_init(sk);$/d' "$out/src/bpf/mlcc.bpf.c" &&
		make_carrier "$out/src" && "$mlcc_bpf" unload && slowwait - cc_gone &&
		"$out/src/mlcc-bpf" load --mark-mask 0xffff
}

a_flow_without_init_finds_its_job()
{
	local ecn

	without_init && marked some "$host" || return
	for ecn in 2 1; do
		ip netns exec "$host" sysctl -qw net.ipv4.tcp_ecn="$ecn" && ask some open "60$ecn" &&
			ask some send "60$ecn" 50000 && flows_are "60$ecn" 1 || return
		slots_are "[True]" "[j['bytes'] >= 40000 for j in d if j['id'] == 60$ecn]" &&
			ask some close "60$ecn" && slowwait - flows_are "60$ecn" 0 || return
	done
}

main()
{
	ktap_start
	require_bpf
	require_command ip make clang bpftool
	setup_out
	require_api
	setup_ns host pod && load --mark-mask 0xffff && setup_cgroup job "mlcc-test-$$" || exit 1
	require_tagger
	defer forget_namespace "$host-again"
	each ktap_check a_later_flow_finds_the_slot_of_the_job a_job_comes_back_to_its_slot \
		flows_at_the_same_time_find_one_slot no_namespace_has_all_slots
	jobs_are_their_owners
	each ktap_check users_leave_pods_their_slots a_new_namespace_has_no_old_slots \
		a_flow_without_init_finds_its_job
	ktap_finish
}

main
