#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Jobs that share a bottleneck interleave under the module, and slow each other down under CUBIC.

# shellcheck disable=SC2317  # main calls the cases by name

# shellcheck source=tests/selftests/module_common.sh
. "$(dirname "$0")/module_common.sh"
# shellcheck source=tests/selftests/interleave.sh
. "$here/interleave.sh"

learnt_phases()
{
	column d_phase | tr '\n' ' '
	echo
}

main()
{
	ktap_start
	require_module_here
	# the lab takes its own turn
	exec {carrier_lock}>&-
	setup_out
	interleave_cases --carrier module
	ktap_finish
}

main
