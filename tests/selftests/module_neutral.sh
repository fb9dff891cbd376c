#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Under the module, too: who is no job gains nothing, and who has no phases has no progress.

# shellcheck disable=SC2317,SC2119,SC2120  # main calls the cases by name

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"
# shellcheck source=tests/selftests/neutral.sh
. "$here/neutral.sh"

progress_is_known()
{
	[ "$(column d_phase | sort -n | tail -n 1)" -gt 0 ]
}

learnt()
{
	is_true "abs($(column d_phase | sort -n | tail -n 1) - $1) * 4 < $1"
}

phases_seen()
{
	column phases | sort -n | tail -n 1
}

show_jobs()
{
	api job list
}

main()
{
	ktap_start
	require_module_here
	setup_out
	defer unload_quietly
	modprobe tcp_mlcc || ktap_fail_all "tcp_mlcc is loaded"
	set_jobs 21 22 || ktap_fail_all "jobs are set"
	setup_link 200mbit 400kb || exit 1
	neutral_cases
	ktap_finish
}

main
