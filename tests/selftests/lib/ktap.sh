# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Results in the Kernel Test Anything Protocol, version 1.
#
#   . lib/ktap.sh
#   ktap_start
#   ktap_ok   "a flow reaches 90 % of the link"
#   ktap_fail "no retransmissions"    "17 retransmitted"
#   ktap_skip "module refuses a bad profile" "no tcp_mlcc for this kernel"
#   ktap_finish                       (prints the plan, and exits)
#
# Exit statuses are kselftest's: 0 passed, 1 failed, 4 all skipped.

readonly KSFT_PASS=0 KSFT_FAIL=1 KSFT_SKIP=4

ktap_run=0
ktap_passed=0
ktap_failed=0
ktap_skipped=0

ktap_start()
{
	echo "KTAP version 1"
}

# Lines that a reader, but no parser, looks at.
ktap_note()
{
	local line

	while IFS= read -r line; do
		echo "# $line"
	done <<<"$*"
}

ktap_ok()
{
	ktap_run=$((ktap_run + 1))
	ktap_passed=$((ktap_passed + 1))
	echo "ok $ktap_run $1"
}

ktap_fail()
{
	ktap_run=$((ktap_run + 1))
	ktap_failed=$((ktap_failed + 1))
	[ $# -lt 2 ] || ktap_note "$2"
	echo "not ok $ktap_run $1"
}

ktap_skip()
{
	ktap_run=$((ktap_run + 1))
	ktap_skipped=$((ktap_skipped + 1))
	echo "ok $ktap_run $1 # SKIP ${2:-no reason given}"
}

# ktap_check NAME COMMAND...: one result from one command; its output is shown if it fails.
ktap_check()
{
	local name=$1 output status
	shift

	output=$("$@" 2>&1)
	status=$?
	case $status in
	"$KSFT_PASS") ktap_ok "$name" ;;
	"$KSFT_SKIP") ktap_skip "$name" "$output" ;;
	*) ktap_fail "$name" "status $status${output:+: $output}" ;;
	esac
}

# each CHECK FUNCTION...: whose names say what they show
each()
{
	# not names that a test may have for itself: what is local here is seen there
	local ktap_how=$1 ktap_case
	shift

	for ktap_case in "$@"; do
		"$ktap_how" "${ktap_case//_/ }" "$ktap_case"
	done
}

# A reason that stops the test; what has passed or failed before still counts, and so does the rest.
ktap_skip_all()
{
	if [ "$ktap_run" -gt 0 ]; then
		ktap_skip "the rest" "$*"
		ktap_finish
	fi
	echo "1..0 # SKIP $*"
	exit "$KSFT_SKIP"
}

# Likewise, but what the test is about is broken: no machine may skip that.
ktap_fail_all()
{
	ktap_fail "$*"
	ktap_finish
}

ktap_status()
{
	if [ "$ktap_failed" -gt 0 ]; then
		return "$KSFT_FAIL"
	elif [ "$ktap_passed" -eq 0 ]; then
		return "$KSFT_SKIP"
	fi
	return "$KSFT_PASS"
}

ktap_finish()
{
	echo "1..$ktap_run"
	ktap_note "Totals: pass:$ktap_passed fail:$ktap_failed skip:$ktap_skipped"
	ktap_status
	exit "$?"
}
