# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # what is set here or there is used there or here
# What the selftests of the module share.

# shellcheck source=tests/selftests/api_common.sh
. "$(dirname "${BASH_SOURCE[0]}")/api_common.sh"

export API_CARRIER=module

parameters=/sys/module/tcp_mlcc/parameters

require_carrier()
{
	require_root
	require_built
	require_command modprobe rmmod modinfo ip tc ethtool ss awk
	modinfo tcp_mlcc >/dev/null 2>&1 ||
		ktap_skip_all "there is no tcp_mlcc for this kernel"
	require_driver
	require_free_carrier
}

# What a test has loaded, and may have unloaded since; its sockets may take a moment to go.
unload_quietly()
{
	[ -d /sys/module/tcp_mlcc ] || return 0
	slowwait - rmmod tcp_mlcc >/dev/null 2>&1
}

load_carrier()
{
	defer unload_quietly
	modprobe tcp_mlcc || ktap_fail_all "tcp_mlcc is loaded"
}
