#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What would let every other test pass, or leave something behind: how scripts on lib.sh end. Each
# case is such a script. Needs no root; the case about namespaces is skipped without it.

# shellcheck disable=SC2317  # main calls the cases by name
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/selftests/lib/ktap.sh
. "$here/ktap.sh"

# in_script STATUS OUTPUT: the script on stdin must end so.
in_script()
{
	local want_status=$1 want_output=$2 output status

	output=$({ echo ". '$here/lib.sh'"; cat; } | bash 2>&1)
	status=$?
	if [ "$status" -ne "$want_status" ] || [ "$output" != "$want_output" ]; then
		printf 'status %s, wanted %s; printed:\n%s\nwanted:\n%s\n' \
			"$status" "$want_status" "$output" "$want_output"
		return 1
	fi
}

undo_is_whole_in_reverse_and_keeps_the_status()
{
	in_script 3 $'working\n[a  b]\n[*]\n# undo failed with status 1: false \nfirst' <<-'EOF'
		set -e
		defer echo first
		defer false
		defer printf '[%s]\n' "a  b" '*'
		echo working
		(exit 3)
		echo not reached
	EOF
}

undo_runs_on_a_signal()
{
	in_script 143 'undone' <<-'EOF'
		defer echo undone
		kill -TERM $$
		sleep 5
	EOF
}

skip_returns_4_and_undoes()
{
	in_script 4 $'1..0 # SKIP needs the command no-such-command\nundone' <<-'EOF' || return
		defer echo undone
		require_command sh no-such-command
	EOF
	in_script 4 $'ok 1 a # SKIP why\n1..1\n# Totals: pass:0 fail:0 skip:1' <<-'EOF'
		ktap_skip a why
		ktap_finish
	EOF
}

statuses_are_results()
{
	in_script 1 $'KTAP version 1\nok 1 a\n# status 2: out\n# put\nnot ok 2 b\nok 3 c # SKIP why
1..3\n# Totals: pass:1 fail:1 skip:1' <<-'EOF' || return
		skips() { echo why; return 4; }
		ktap_start
		ktap_check a true
		ktap_check b sh -c 'echo out; echo put; exit 2'
		ktap_check c skips
		ktap_finish
	EOF
	in_script 0 $'ok 1 a\nok 2 b # SKIP c\n1..2\n# Totals: pass:1 fail:0 skip:1' <<-'EOF'
		ktap_ok a
		ktap_skip b c
		ktap_finish
	EOF
}

waiting_ends()
{
	in_script 0 'third' <<-'EOF' || return
		counter=$(mktemp)
		defer rm "$counter"
		third() { echo >>"$counter"; [ "$(wc -l <"$counter")" -ge 3 ] && echo third; }
		busywait 10 third
	EOF
	in_script 1 'seen' <<-'EOF'
		WAIT_TIMEOUT=1
		slowwait - sh -c 'echo seen; false'
	EOF
}

kernel_versions_are_compared()
{
	in_script 4 $'in\n1..0 # SKIP needs Linux 6.10, this is 6.9.4-amd64' <<-'EOF'
		KSFT_KERNEL_RELEASE=6.10.0-rc1 require_kernel 6.4
		KSFT_KERNEL_RELEASE=6.4 require_kernel 6.4
		echo in
		KSFT_KERNEL_RELEASE=6.9.4-amd64 require_kernel 6.10
	EOF
}

test_namespaces()
{
	ip netns list | grep -oE '^(sender|receiver)-[0-9a-f]{8}' | sort
}

namespaces_are_made_and_removed()
{
	local before

	if [ "$(id -u)" -ne 0 ] || ! type -P ip >/dev/null; then
		echo "needs root and ip"
		return "$KSFT_SKIP"
	fi
	before=$(test_namespaces)
	in_script 0 'linked' <<-'EOF' || return
		setup_ns sender receiver || exit
		setup_veth "$sender" a0 "$receiver" b0 || exit
		ip netns exec "$receiver" sleep 60 &
		linked() { ip -n "$sender" -br link show a0 | grep -qw UP; }
		slowwait - linked && echo linked
	EOF
	# those of a run that was killed are not this one's
	[ "$(test_namespaces)" = "$before" ] || { test_namespaces; return 1; }
}

main()
{
	ktap_start
	each ktap_check undo_is_whole_in_reverse_and_keeps_the_status undo_runs_on_a_signal \
		skip_returns_4_and_undoes statuses_are_results waiting_ends \
		kernel_versions_are_compared namespaces_are_made_and_removed
	ktap_finish
}

main
