#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Soft-RoCE with DCQCN under kernels whose driver knows no network namespaces: what can be told of
# two queue pairs of one device. There is no link between them, so nothing is marked.
# `tests/vm/vm run 6.12 --counted -- tests/selftests/rxe_local.sh`, after tests/vm/rxe.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; what it sets rxe_common.sh uses

# shellcheck source=tests/selftests/rxe_common.sh
. "$(dirname "$0")/rxe_common.sh"

# What the first namespace is called by tools that want a name, and the device both are on.
setup_local()
{
	alpha=first-$$ omega=$alpha peer=10.2.0.1

	ip netns attach "$alpha" $$ && defer ip netns del "$alpha" &&
		ip link set dev lo up &&
		ip link add eth0 type dummy && defer ip link del eth0 &&
		ip addr add "$peer/24" dev eth0 && ip link set dev eth0 up &&
		add_device rxe_alpha "$alpha"
}

# measure SECONDS: what one connection sends in them, "rate", kb/s
measure()
{
	local before

	traffic 1
	slowwait - have_sent 1 100000 || { cat "$out"/{in,out}*; return 1; }
	before=$(column sent)
	sleep "$1"
	rate=$((($(column sent) - before) / 125 / $1))
	end_traffic 1
	echo "$rate kb/s"
}

is_as_fast_as_it_may_be()
{
	local rate

	knob rp_max_rate 20 && knob rp_enable 1 && measure 2 || return
	[ "$rate" -gt 15000 ] && [ "$rate" -lt 24000 ]
}

is_faster_when_off()
{
	local rate

	knob np_enable 1 && knob rp_enable 0 && measure 1 && [ "$rate" -gt 25000 ]
}

main()
{
	ktap_start
	require_rxe
	require_module dummy
	require_free_carrier
	setup_out
	load_rxe "$rxe_ko" || ktap_fail_all "rdma_rxe with the patches is loaded"
	setup_local || exit 1
	each ktap_check parameters_are_checked rules_are_checked
	each told is_as_fast_as_it_may_be job_has_progress goes_by_its_leader is_faster_when_off
	ktap_finish
}

main
