#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What flows of jobs do that do not train, under the BPF carrier.

# shellcheck disable=SC2317,SC2119,SC2120  # main calls the cases by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"
# shellcheck source=tests/selftests/api_common.sh
. "$here/api_common.sh"
# shellcheck source=tests/selftests/pairs.sh
. "$here/pairs.sh"
# shellcheck source=tests/selftests/classes.sh
. "$here/classes.sh"

main()
{
	ktap_start
	require_bpf
	require_command ip tc ethtool ss
	require_api
	setup_out && setup_link 200mbit 400kb && load || exit 1
	classes_cases
	ktap_finish
}

main
