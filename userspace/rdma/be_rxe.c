// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Soft-RoCE with this project's patch: <debugfs>/rxe/<device>/cc_params, files with mlx5's names
 * and units, and an "enable" for each of reaction and notification point.
 *
 * The driver checks each range, and that the parameters go with each other (EINVAL).  Times are
 * those of software: tens of times a NIC's.
 */
#include "nic.h"

#define RATE_MAX	1000000		/* Mb/s */

static const struct knob knobs[] = {
	{ "rp_ai_rate", "Mb/s", 1, RATE_MAX, 1, ROLE_AI, .what = "R_AI, additive increase" },
	{ "rp_hai_rate", "Mb/s", 0, RATE_MAX, 5, .what = "R_HAI, hyper increase" },
	{ "rp_time_reset", "us", 1, 1000000, 4000, ROLE_TIME, .what = "T, the increase timer" },
	{ "rp_byte_reset", "bytes", 0, 1U << 30, 0, .what = "B, the byte counter; 0: off" },
	{ "rp_threshold", "", 0, 31, 5, .what = "F, steps of fast recovery" },
	{ "rp_max_rate", "Mb/s", 0, RATE_MAX, 0, .what = "most for a flow; 0: the port's rate" },
	{ "rp_min_rate", "Mb/s", 1, RATE_MAX, 1, .what = "least for a flow" },
	{ "rp_min_dec_fac", "%", 0, 100, 50, .what = "a cut leaves at least this" },
	{ "rp_gd", "log2", 11, 11, 11, .what = "divides alpha in a cut; 11: alpha/2" },
	{ "rp_dce_tcp_g", "/1024", 0, 1023, 1008, .what = "what alpha keeps in an update" },
	{ "rp_dce_tcp_rtt", "us", 1, 131071, 4000, .what = "period of alpha's update" },
	{ "rp_rate_reduce_monitor_period", "us", 0, 1000000, 0, .what = "between two cuts" },
	{ "rp_initial_alpha_value", "/1024", 0, 1023, 1023, .what = "alpha at a first CNP" },
	{ "rp_rate_to_set_on_first_cnp", "Mb/s", 0, RATE_MAX, 0, .what = "0: off" },
	{ "rp_clamp_tgt_rate", "", 0, 1, 1, .what = "each cut lowers the target rate, too" },
	{ "rp_clamp_tgt_rate_ati", "", 0, 1, 1, .what = "so does the first after a timer's rise" },
	{ "rp_enable", "", 0, 1, 0, .what = "reaction point" },
	{ "np_enable", "", 0, 1, 1, .what = "notification point" },
	{ "np_min_time_between_cnps", "us", 0, 1000000, 4000, .what = "N, between a flow's CNPs" },
	{ "np_cnp_dscp", "", 0, 63, 48, .what = "DSCP of CNPs" },
	{ "np_tmdml_spare", "", 0, 65535, 0, .what = "CNPs that a flow behind is spared; 0: none" },
	{ "np_tmdml_every", "", 1, 65536, 64, .what = "packets between averages, a power of 2" },
	{ "np_tmdml_slack", "bytes", 0, 1U << 30, 0, .what = "so much less is not behind" },
};

static int rxe_each(const struct backend *be, int (*found)(const struct device *d, void *arg),
		    void *arg)
{
	static const struct attr_dirs dirs = {
		.base = RXE_DIR, .leaf = "cc_params",
	};

	return attr_each(be, &dirs, found, arg);
}

const struct backend backend_rxe = {
	.name = "rxe", .what = "soft-RoCE with this project's patch (debugfs)",
	.scope = SCOPE_DEVICE, .budget = 200,
	.knobs = knobs, .knob_count = COUNT(knobs),
	.each = rxe_each, .read = attr_read, .write = attr_write,
	.may_write = attr_may_write,
};
