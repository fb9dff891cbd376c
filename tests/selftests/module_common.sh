# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # what is set here or there is used there or here
# What the selftests of the module share.

# shellcheck source=tests/selftests/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

parameters=/sys/module/tcp_mlcc/parameters

require_module_here()
{
	require_root
	require_built
	require_command modprobe rmmod modinfo ip tc ethtool ss awk
	modinfo tcp_mlcc >/dev/null 2>&1 ||
		ktap_skip_all "there is no tcp_mlcc for this kernel"
	require_free_carrier
}

# What a test has loaded, and may have unloaded since; its sockets may take a moment to go.
unload_quietly()
{
	[ -d /sys/module/tcp_mlcc ] || return 0
	slowwait - rmmod tcp_mlcc >/dev/null 2>&1
}

# What the module says of its jobs: a header line that names the columns, then a line for each.
# column NAME: of all jobs with open flows
column()
{
	[ -r "$parameters/job" ] || return 0
	awk -v name="$1" '
		NR == 1 { for (i = 2; i <= NF; i++) if ($i == name) at = i - 1; next }
		/^#/ { next }
		{ print $at }' "$parameters/job"
}
