// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * irdma: parameters of Intel's own driver, which hold from its loading on.  The kernel's irdma has
 * none of them.  They count only if dcqcn_cc_cfg_valid is 1.
 */
#include <stdio.h>
#include <string.h>

#include "nic.h"

static const struct knob knobs[] = {
	{ "dcqcn_cc_cfg_valid", "", 0, 1, 0, .what = "whether the others hold" },
	{ "dcqcn_rai_factor", "MSS", 0, UINT16_MAX, NO_DEFAULT, ROLE_AI,
	  .what = "R_AI, additive increase" },
	{ "dcqcn_hai_factor", "MSS", 0, UINT16_MAX, NO_DEFAULT, .what = "R_HAI, hyper increase" },
	{ "dcqcn_T", "us", 0, UINT16_MAX, NO_DEFAULT, ROLE_TIME, .what = "T, the increase timer" },
	{ "dcqcn_B", "bytes", 0, UINT32_MAX, NO_DEFAULT, .what = "B, the byte counter" },
	{ "dcqcn_F", "", 0, UINT8_MAX, NO_DEFAULT, .what = "F, steps of fast recovery" },
	{ "dcqcn_min_dec_factor", "%", 0, 100, NO_DEFAULT, .what = "a cut takes at least this" },
	{ "dcqcn_min_rate", "Mb/s", 0, UINT8_MAX, NO_DEFAULT, .what = "least for a flow" },
	{ "dcqcn_rreduce_mperiod", "us", 0, UINT32_MAX, NO_DEFAULT, .what = "between two cuts" },
};

static int irdma_each(const struct backend *be, int (*found)(const struct device *d, void *arg),
		      void *arg)
{
	struct device d = {
		.be = be, .name = "irdma", .dir = "/sys/module/irdma/parameters",
	};

	if (!sysroot_is_there("/sys/module/irdma"))
		return 0;
	if (!sysroot_is_there("/sys/module/irdma/parameters/dcqcn_cc_cfg_valid"))
		snprintf(d.why, sizeof(d.why), "not in the kernel's irdma, only in Intel's");
	return found(&d, arg);
}

static int irdma_write(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	(void)v;
	return fail(e, -EPERM, "%s %s: an option of modprobe", d->name, k->name);
}

const struct backend backend_irdma = {
	.name = "irdma", .what = "Intel E800, Intel's driver (module parameters; only shown)",
	.scope = SCOPE_DRIVER, .driver = "ice", .read_only = true,
	.knobs = knobs, .knob_count = COUNT(knobs),
	.each = irdma_each, .read = attr_read, .write = irdma_write,
};
