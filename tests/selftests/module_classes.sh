#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What flows of jobs do that do not train, under the module.

# shellcheck disable=SC2317,SC2119,SC2120  # main calls the cases by name

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"
# shellcheck source=tests/selftests/pairs.sh
. "$here/pairs.sh"
# shellcheck source=tests/selftests/classes.sh
. "$here/classes.sh"

main()
{
	ktap_start
	require_module_here
	require_api
	setup_out
	defer unload_quietly
	modprobe tcp_mlcc || ktap_fail_all "tcp_mlcc is loaded"
	setup_link 200mbit 400kb || exit 1
	classes_cases
	ktap_finish
}

main
