// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mlx5 with the kernel's own driver: <debugfs>/mlx5/<PCI address>/cc_params, a file for each
 * parameter.
 *
 * Reading is a QUERY_CONG_PARAMS command to the firmware, writing a MODIFY_CONG_PARAMS with one
 * field (drivers/infiniband/hw/mlx5/cong.c).  The driver checks no range.  There is no directory
 * where the firmware does not allow both commands.  On multiport RoCE a write goes to the device,
 * a read to the port: only reading back says whether they are the same.
 *
 * Ranges and defaults: NVIDIA's table of DCQCN parameters and mlxconfig.
 */
#include "nic.h"

#define RATE_MAX	1600000		/* Mb/s; the real limit is the port's rate */

static const struct knob knobs[] = {
	{ "rp_ai_rate", "Mb/s", 1, RATE_MAX, 5, ROLE_AI, .what = "R_AI, additive increase" },
	{ "rp_hai_rate", "Mb/s", 1, RATE_MAX, 50, .what = "R_HAI, hyper increase" },
	{ "rp_time_reset", "us", 1, 131071, 300, ROLE_TIME, .what = "T, the increase timer" },
	{ "rp_byte_reset", "", 0, 32767, 32767,
	  .what = "B, the byte counter; 0: off; its unit is not certain" },
	{ "rp_threshold", "", 1, 31, 1, .what = "F, steps of fast recovery" },
	{ "rp_max_rate", "Mb/s", 0, RATE_MAX, 0, .what = "most for a flow; 0: the port's rate" },
	{ "rp_min_rate", "Mb/s", 1, RATE_MAX, 1, .what = "least for a flow" },
	{ "rp_min_dec_fac", "%", 0, 100, 50, .what = "a cut leaves at least this" },
	{ "rp_gd", "log2", 10, 11, 11, .what = "divides alpha in a cut; 11: alpha/2" },
	{ "rp_dce_tcp_g", "/1024", 0, 1023, 1019, .what = "what alpha keeps in an update" },
	{ "rp_dce_tcp_rtt", "us", 1, 131071, 1, .what = "period of alpha's update" },
	{ "rp_rate_reduce_monitor_period", "us", 1, UINT32_MAX, 4, .what = "between two cuts" },
	{ "rp_initial_alpha_value", "/1024", 1, 1023, 1023, .what = "alpha at a first CNP" },
	{ "rp_rate_to_set_on_first_cnp", "Mb/s", 0, RATE_MAX, 0, .what = "0: off" },
	{ "rp_clamp_tgt_rate", "", 0, 1, 0, .what = "each cut lowers the target rate, too" },
	{ "rp_clamp_tgt_rate_ati", "", 0, 1, 1, .what = "so does the first after a timer's rise" },
	{ "np_min_time_between_cnps", "us", 0, 4095, 4, .what = "N, between two CNPs of a flow" },
	{ "np_cnp_dscp", "", 0, 63, 48, .what = "DSCP of CNPs" },
	{ "np_cnp_prio_mode", "", 0, 1, NO_DEFAULT, .what = "0: np_cnp_prio holds" },
	{ "np_cnp_prio", "", 0, 7, 6, .touches = "np_cnp_prio_mode",
	  .what = "priority of CNPs; writing it sets np_cnp_prio_mode to 0" },
	{ "rtt_resp_dscp", "", 0, 63, NO_DEFAULT, .touches = "rtt_resp_dscp_valid",
	  .what = "DSCP of RTT answers; writing it sets rtt_resp_dscp_valid to 1" },
	{ "rtt_resp_dscp_valid", "", 0, 1, NO_DEFAULT, .what = "whether rtt_resp_dscp holds" },
};

static int mlx5_each(const struct backend *be, int (*found)(const struct device *d, void *arg),
		     void *arg)
{
	static const struct attr_dirs dirs = {
		"/sys/kernel/debug/mlx5", "cc_params", true,
		"no cc_params: the firmware does not allow to query and change them",
	};

	return attr_each(be, &dirs, found, arg);
}

const struct backend backend_mlx5 = {
	.name = "mlx5", .what = "NVIDIA ConnectX, the kernel's driver (debugfs)",
	.scope = SCOPE_PORT, .budget = 200,
	.knobs = knobs, .knob_count = COUNT(knobs),
	.each = mlx5_each, .read = attr_read, .write = attr_write,
	.may_write = attr_may_write,
};
