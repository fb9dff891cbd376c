#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who is no job gains nothing, and who has no phases has no progress.

# shellcheck disable=SC2317,SC2119,SC2120  # main calls the cases by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"
# shellcheck source=tests/selftests/neutral.sh
. "$here/neutral.sh"

progress_is_known()
{
	slot_is 's["d_phase"] > 0'
}

learnt()
{
	slot_is "abs(s['d_phase'] - $1) * 4 < $1"
}

phases_seen()
{
	slot 's["phase"]'
}

show_jobs()
{
	"$mlcc_bpf" show
}

main()
{
	ktap_start
	require_bpf
	require_command ip tc ethtool ss
	setup_out && setup_link 200mbit 400kb && load || exit 1
	neutral_cases
	ktap_finish
}

main
