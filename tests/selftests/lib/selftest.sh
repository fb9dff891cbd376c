#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of ktap.sh and lib.sh themselves. Each case is a small script of its own, since what is to
# be seen is how such a script ends: what it printed, in which order, and its exit status.
#
# Needs no root; the case about namespaces is skipped without it.

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

undo_is_in_reverse()
{
	in_script 0 $'working\nsecond\nfirst' <<-'EOF'
		defer echo first
		defer echo second
		echo working
	EOF
}

undo_runs_on_failure_and_keeps_the_status()
{
	in_script 3 $'second\nfirst' <<-'EOF'
		defer echo first
		defer echo second
		exit 3
	EOF
}

undo_runs_under_errexit()
{
	in_script 1 'undone' <<-'EOF'
		set -e
		defer echo undone
		false
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

undo_goes_on_after_a_failing_step()
{
	in_script 0 $'# undo failed with status 1: false \nfirst' <<-'EOF'
		defer echo first
		defer false
	EOF
}

undo_runs_once()
{
	in_script 0 $'undone\nend' <<-'EOF'
		defer echo undone
		undo
		echo end
	EOF
}

defer_keeps_words_apart()
{
	in_script 0 $'[a  b]\n[*]\n[$HOME]' <<-'EOF'
		defer printf '[%s]\n' "a  b" '*' '$HOME'
	EOF
}

skip_returns_4()
{
	in_script 4 '1..0 # SKIP no such thing here' <<-'EOF'
		ktap_skip_all "no such thing here"
	EOF
}

skip_undoes()
{
	in_script 4 $'1..0 # SKIP needs the command no-such-command\nundone' <<-'EOF'
		defer echo undone
		require_command sh no-such-command
	EOF
}

only_skips_return_4()
{
	in_script 4 $'ok 1 a # SKIP why\n1..1\n# Totals: pass:0 fail:0 skip:1' <<-'EOF'
		ktap_skip a why
		ktap_finish
	EOF
}

a_failure_returns_1()
{
	in_script 1 $'ok 1 a\n# it was 3\nnot ok 2 b\n1..2\n# Totals: pass:1 fail:1 skip:0' <<-'EOF'
		ktap_ok a
		ktap_fail b "it was 3"
		ktap_finish
	EOF
}

a_short_plan_returns_1()
{
	in_script 1 $'1..2\nok 1 a\n# planned 2 results, got 1\n# Totals: pass:1 fail:0 skip:0' <<-'EOF'
		ktap_plan 2
		ktap_ok a
		ktap_finish
	EOF
}

success_returns_0()
{
	in_script 0 $'KTAP version 1\n1..2\nok 1 a\nok 2 b # SKIP c\n# Totals: pass:1 fail:0 skip:1' \
		<<-'EOF'
		ktap_start
		ktap_plan 2
		ktap_ok a
		ktap_skip b c
		ktap_finish
	EOF
}

check_maps_statuses()
{
	in_script 1 $'ok 1 a\n# status 2: out\n# put\nnot ok 2 b\nok 3 c # SKIP why' <<-'EOF'
		skips() { echo why; return 4; }
		ktap_check a true
		ktap_check b sh -c 'echo out; echo put; exit 2'
		ktap_check c skips
		ktap_status
	EOF
}

wait_returns_what_was_printed()
{
	in_script 0 'third' <<-'EOF'
		counter=$(mktemp)
		defer rm "$counter"
		third() { echo >>"$counter"; [ "$(wc -l <"$counter")" -ge 3 ] && echo third; }
		busywait 10 third
	EOF
}

wait_gives_up()
{
	in_script 1 'seen' <<-'EOF'
		start=$SECONDS
		slowwait 1 sh -c 'echo seen; false'
		status=$?
		[ $((SECONDS - start)) -le 8 ] || echo "took too long"
		exit $status
	EOF
}

wait_has_a_default()
{
	in_script 0 'done' <<-'EOF'
		WAIT_TIMEOUT=1
		slowwait - false || busywait - echo done
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

may_use_namespaces()
{
	[ "$(id -u)" -eq 0 ] && type -P ip >/dev/null && return
	echo "needs root and ip"
	return "$KSFT_SKIP"
}

namespaces_are_made_and_removed()
{
	may_use_namespaces || return
	in_script 0 'linked' <<-'EOF' || return
		setup_ns sender receiver || exit
		setup_veth "$sender" a0 "$receiver" b0 || exit
		ip netns exec "$receiver" sleep 60 &
		linked() { ip -n "$sender" -br link show a0 | grep -qw UP; }
		slowwait - linked && echo linked
	EOF
	! ip netns list | grep -E '^(sender|receiver)-[0-9a-f]{8}'
}

main()
{
	local name
	local cases=(
		undo_is_in_reverse
		undo_runs_on_failure_and_keeps_the_status
		undo_runs_under_errexit
		undo_runs_on_a_signal
		undo_goes_on_after_a_failing_step
		undo_runs_once
		defer_keeps_words_apart
		skip_returns_4
		skip_undoes
		only_skips_return_4
		a_failure_returns_1
		a_short_plan_returns_1
		success_returns_0
		check_maps_statuses
		wait_returns_what_was_printed
		wait_gives_up
		wait_has_a_default
		kernel_versions_are_compared
		namespaces_are_made_and_removed
	)

	ktap_start
	ktap_plan "${#cases[@]}"
	for name in "${cases[@]}"; do
		ktap_check "${name//_/ }" "$name"
	done
	ktap_finish
}

main
