#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What would let every other test pass, or leave something behind: how scripts on lib.sh end. Each
# case is such a script.

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

main()
{
	ktap_start
	each ktap_check undo_is_whole_in_reverse_and_keeps_the_status statuses_are_results
	ktap_finish
}

main
