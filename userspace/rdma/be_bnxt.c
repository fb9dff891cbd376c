// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * bnxt_re, twice.
 *
 * The kernel's driver: <debugfs>/bnxt_re/<PCI address>/cc_config.  There is neither an R_AI nor a
 * timer among its knobs, so follow has nothing to drive.  Writing drops the firmware's answer: it
 * always succeeds, and only reading back says whether it has.  The file tx_queue is left out, as
 * the driver can neither read nor write it.
 *
 * Broadcom's own driver: configfs, bnxt_re/<device>/ports/<n>/cc, if somebody has made the
 * device's directory there (mkdir).  Older releases keep a write until 1 is written to "apply",
 * read hexadecimal whether or not 0x is in front, and show what they keep rather than what the
 * firmware has; newer ones write at once and ask the firmware.  "0x..." and then "apply" is
 * understood by both.  ai_rate_incr is called a time quantum in one place and a rate increase in
 * another: its effect has to be tried before it is followed.
 */
#include <stdio.h>
#include <string.h>

#include "nic.h"

static const struct knob debugfs_knobs[] = {
	{ "enable_cc", "", 0, 1, NO_DEFAULT, .what = "congestion control" },
	{ "cc_mode", "", 0, 1, NO_DEFAULT, .what = "0: DCTCP-like, 1: probabilistic" },
	{ "run_avg_weight_g", "", 0, 7, NO_DEFAULT, .what = "g, weight of the running average" },
	{ "num_phase_per_state", "", 0, 15, NO_DEFAULT, .what = "steps of fast recovery" },
	{ "init_cr", "", 0, UINT16_MAX, NO_DEFAULT, .what = "current rate at the start" },
	{ "init_tr", "", 0, UINT16_MAX, NO_DEFAULT, .what = "target rate at the start" },
	{ "inactivity_cp", "us", 0, UINT16_MAX, NO_DEFAULT, .what = "idle time until a new start" },
	{ "rtt", "us", 0, UINT16_MAX, NO_DEFAULT, .what = "round trip" },
	{ "tcp_cp", "", 0, UINT16_MAX, NO_DEFAULT, .what = "probability for TCP" },
	{ "tos_ecn", "", 0, 3, NO_DEFAULT, .what = "ECN bits of RoCE packets" },
	{ "tos_dscp", "", 0, 63, NO_DEFAULT, .what = "DSCP of RoCE packets" },
	{ "alt_vlan_pcp", "", 0, 7, NO_DEFAULT, .what = "priority of CNPs" },
	{ "alt_vlan_dscp", "", 0, 63, NO_DEFAULT, .what = "DSCP of CNPs" },
};

static const struct knob configfs_knobs[] = {
	{ "ai_rate_incr", "", 1, UINT8_MAX, NO_DEFAULT, ROLE_AI_UNSURE,
	  .what = "step of active increase; unit and direction are not certain" },
	{ "ecn_enable", "", 0, 1, NO_DEFAULT, .what = "congestion control" },
	{ "cc_mode", "", 0, 1, NO_DEFAULT, .what = "0: DCTCP-like, 1: probabilistic" },
	{ "g", "", 0, 7, NO_DEFAULT, .what = "g, weight of the running average" },
	{ "init_cr", "", 0, UINT16_MAX, NO_DEFAULT, .what = "current rate at the start" },
	{ "init_tr", "", 0, UINT16_MAX, NO_DEFAULT, .what = "target rate at the start" },
	{ "inact_th", "us", 0, UINT16_MAX, NO_DEFAULT, .what = "idle time until a new start" },
	{ "min_time_bet_cnp", "us", 0, UINT16_MAX, NO_DEFAULT, .what = "N, between two CNPs" },
	{ "cnp_dscp", "", 0, 63, NO_DEFAULT, .what = "DSCP of CNPs" },
	{ "cnp_prio", "", 0, 7, NO_DEFAULT, .what = "priority of CNPs" },
};

static int debugfs_each(const struct backend *be,
			int (*found)(const struct device *d, void *arg), void *arg)
{
	static const struct attr_dirs dirs = {
		"/sys/kernel/debug/bnxt_re", "cc_config", true,
		"no cc_config: this kernel's driver is too old",
	};

	return attr_each(be, &dirs, found, arg);
}

struct walk {
	const struct backend *be;
	int (*found)(const struct device *d, void *arg);
	void *arg;
	const char *ibdev;	/* whose ports are walked */
};

static int port_entry(const char *port, void *arg)
{
	const struct walk *w = arg;
	struct device d = { .be = w->be };
	char path[DIR_LEN];

	/* a port of a function with one is called as the device itself */
	snprintf(d.name, sizeof(d.name), "%.*s%s%.*s", 40, w->ibdev, strcmp(port, "1") ? "/" : "",
		 strcmp(port, "1") ? 8 : 0, port);
	snprintf(d.dir, sizeof(d.dir), "/sys/kernel/config/bnxt_re/%.*s/ports/%.*s/cc",
		 NAME_LEN, w->ibdev, 8, port);
	if (!sysroot_is_there(d.dir))
		return 0;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s/device", NAME_LEN, w->ibdev);
	if (sysroot_link(path, d.pci))
		*d.pci = '\0';
	return w->found(&d, w->arg);
}

static int configfs_entry(const char *name, void *arg)
{
	struct walk w = *(const struct walk *)arg;
	char path[DIR_LEN];

	w.ibdev = name;
	snprintf(path, sizeof(path), "/sys/kernel/config/bnxt_re/%.*s/ports", NAME_LEN, name);
	return sysroot_list(path, port_entry, &w);
}

static int configfs_each(const struct backend *be,
			 int (*found)(const struct device *d, void *arg), void *arg)
{
	struct walk w = { be, found, arg, NULL };

	return sysroot_list("/sys/kernel/config/bnxt_re", configfs_entry, &w);
}

static int configfs_write(const struct device *d, const struct knob *k, uint32_t v,
			  struct err *e)
{
	char path[DIR_LEN + NAME_LEN], text[16];
	int err;

	snprintf(path, sizeof(path), "%s/%s", d->dir, k->name);
	snprintf(text, sizeof(text), "0x%x", v);
	err = sysroot_write(path, text);
	if (err)
		return fail(e, err, "writing %s: %s", path, strerror(-err));
	snprintf(path, sizeof(path), "%s/apply", d->dir);
	err = sysroot_write(path, "0x1");
	return err ? fail(e, err, "writing %s: %s", path, strerror(-err)) : 0;
}

const struct backend backend_bnxt = {
	.name = "bnxt", .what = "Broadcom bnxt_re, the kernel's driver (debugfs)",
	.scope = SCOPE_DEVICE, .budget = 200,
	.knobs = debugfs_knobs, .knob_count = COUNT(debugfs_knobs),
	.each = debugfs_each, .read = attr_read, .write = attr_write,
	.may_write = attr_may_write,
};

const struct backend backend_bnxt_configfs = {
	.name = "bnxt-configfs", .what = "Broadcom bnxt_re, Broadcom's driver (configfs)",
	.scope = SCOPE_PORT, .budget = 100,
	.knobs = configfs_knobs, .knob_count = COUNT(configfs_knobs),
	.each = configfs_each, .read = attr_read, .write = configfs_write,
	.may_write = attr_may_write,
};
