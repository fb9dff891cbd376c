#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Jobs that share a bottleneck interleave under mlcc, and slow each other down under CUBIC.

# shellcheck disable=SC2317  # main calls the cases by name

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "$0")/bpf_common.sh"
# shellcheck source=tests/selftests/interleave.sh
. "$here/interleave.sh"

# Of all jobs there are; nothing while there is no carrier.
learnt_phases()
{
	"$mlcc_bpf" show 2>/dev/null | json '" ".join(str(j["d_phase"]) for j in d or [])' 2>/dev/null
}

main()
{
	ktap_start
	require_bpf
	require_command ip tc ethtool
	# the lab takes its own turn
	exec {carrier_lock}>&-
	setup_out
	interleave_cases --carrier bpf
	ktap_finish
}

main
