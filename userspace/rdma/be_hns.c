// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hns_roce, from kernel 7.2 on: <debugfs>/hns_roce/<PCI address>/dcqcn_cc_param.
 *
 * The driver checks ranges (EINVAL), writes the whole table to the hardware, and takes its copy
 * back if that fails; reading shows the copy.  Nothing on virtual functions or HIP08.  HiSilicon
 * publishes neither units nor defaults.
 */
#include "nic.h"

static const struct knob knobs[] = {
	{ "ai", "", 0, UINT16_MAX, NO_DEFAULT, ROLE_AI, .what = "R_AI, additive increase" },
	{ "f", "", 0, UINT8_MAX, NO_DEFAULT, .what = "F, steps of fast recovery" },
	{ "tkp", "", 0, 10, NO_DEFAULT },
	{ "tmp", "", 0, 15, NO_DEFAULT },
	{ "alp", "", 0, UINT16_MAX, NO_DEFAULT, .what = "alpha" },
	{ "max_speed", "", 0, UINT32_MAX, NO_DEFAULT, .what = "most for a flow" },
	{ "g", "", 0, 15, NO_DEFAULT, .what = "g, how far an update moves alpha" },
	{ "al", "", 0, UINT8_MAX, NO_DEFAULT },
	{ "cnp_time", "", 0, UINT8_MAX, NO_DEFAULT, .what = "N, between two CNPs of a flow" },
	{ "ashift", "", 0, 15, NO_DEFAULT },
};

static int hns_each(const struct backend *be, int (*found)(const struct device *d, void *arg),
		    void *arg)
{
	static const struct attr_dirs dirs = {
		"/sys/kernel/debug/hns_roce", "dcqcn_cc_param", true,
		"no dcqcn_cc_param: kernel before 7.2, HIP08 or a virtual function",
	};

	return attr_each(be, &dirs, found, arg);
}

const struct backend backend_hns = {
	.name = "hns", .what = "HiSilicon hns_roce, kernel 7.2 and later (debugfs)",
	.scope = SCOPE_DEVICE, .budget = 200,
	.knobs = knobs, .knob_count = COUNT(knobs),
	.each = hns_each, .read = attr_read, .write = attr_write,
	.may_write = attr_may_write,
};
