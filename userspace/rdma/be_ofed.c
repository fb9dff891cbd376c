// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mlx5 with MLNX_OFED's driver: /sys/class/net/<if>/ecn/roce_rp and roce_np, a file for each
 * parameter; in some releases they are in a folder "params" of it.
 *
 * Parameters are of the port.  Only "enable" is of a priority, one file for each of eight.  The
 * driver ignores that a text is no number, and takes what was on its stack: nothing but a number
 * that has been checked is written here, and it is read back.
 */
#include <stdio.h>
#include <string.h>

#include "nic.h"

#define RATE_MAX	1600000		/* Mb/s; the real limit is the port's rate */
#define RP		"roce_rp/"
#define NP		"roce_np/"

static const struct knob knobs[] = {
	{ "rpg_ai_rate", "Mb/s", 1, RATE_MAX, 5, ROLE_AI, .file = RP "rpg_ai_rate",
	  .what = "R_AI, additive increase" },
	{ "rpg_hai_rate", "Mb/s", 1, RATE_MAX, 50, .file = RP "rpg_hai_rate",
	  .what = "R_HAI, hyper increase" },
	{ "rpg_time_reset", "us", 1, 131071, 300, ROLE_TIME, .file = RP "rpg_time_reset",
	  .what = "T, the increase timer" },
	{ "rpg_byte_reset", "", 0, 32767, 32767, .file = RP "rpg_byte_reset",
	  .what = "B, the byte counter; 0: off; its unit is not certain" },
	{ "rpg_threshold", "", 1, 31, 1, .file = RP "rpg_threshold",
	  .what = "F, steps of fast recovery" },
	{ "rpg_max_rate", "Mb/s", 0, RATE_MAX, 0, .file = RP "rpg_max_rate",
	  .what = "most for a flow; 0: the port's rate" },
	{ "rpg_min_rate", "Mb/s", 1, RATE_MAX, 1, .file = RP "rpg_min_rate",
	  .what = "least for a flow" },
	{ "rpg_min_dec_fac", "%", 0, 100, 50, .file = RP "rpg_min_dec_fac",
	  .what = "a cut leaves at least this" },
	{ "rpg_gd", "log2", 10, 11, 11, .file = RP "rpg_gd",
	  .what = "divides alpha in a cut; 11: alpha/2" },
	{ "dce_tcp_g", "/1024", 0, 1023, 1019, .file = RP "dce_tcp_g",
	  .what = "what alpha keeps in an update" },
	{ "dce_tcp_rtt", "us", 1, 131071, 1, .file = RP "dce_tcp_rtt",
	  .what = "period of alpha's update" },
	{ "rate_reduce_monitor_period", "us", 1, UINT32_MAX, 4,
	  .file = RP "rate_reduce_monitor_period", .what = "between two cuts" },
	{ "initial_alpha_value", "/1024", 1, 1023, 1023, .file = RP "initial_alpha_value",
	  .what = "alpha at a first CNP" },
	{ "rate_to_set_on_first_cnp", "Mb/s", 0, RATE_MAX, 0,
	  .file = RP "rate_to_set_on_first_cnp", .what = "0: off" },
	{ "clamp_tgt_rate", "", 0, 1, 0, .file = RP "clamp_tgt_rate",
	  .what = "each cut lowers the target rate, too" },
	{ "clamp_tgt_rate_after_time_inc", "", 0, 1, 1,
	  .file = RP "clamp_tgt_rate_after_time_inc",
	  .what = "so does the first after a timer's rise" },
	{ "min_time_between_cnps", "us", 0, 4095, 4, .file = NP "min_time_between_cnps",
	  .what = "N, between two CNPs of a flow" },
	{ "cnp_dscp", "", 0, 63, 48, .file = NP "cnp_dscp", .what = "DSCP of CNPs" },
	{ "cnp_802p_prio", "", 0, 7, 6, .file = NP "cnp_802p_prio", .what = "priority of CNPs" },
#define ENABLE(n) \
	{ "rp_enable_" #n, "", 0, 1, 1, .file = RP "enable/" #n, \
	  .what = "reaction point of priority " #n }, \
	{ "np_enable_" #n, "", 0, 1, 1, .file = NP "enable/" #n, \
	  .what = "notification point of priority " #n }
	ENABLE(0), ENABLE(1), ENABLE(2), ENABLE(3), ENABLE(4), ENABLE(5), ENABLE(6), ENABLE(7),
};

struct walk {
	const struct backend *be;
	int (*found)(const struct device *d, void *arg);
	void *arg;
};

static int entry(const char *name, void *arg)
{
	const struct walk *w = arg;
	struct device d = { .be = w->be };
	char path[DIR_LEN];

	snprintf(d.name, sizeof(d.name), "%s", name);
	snprintf(d.dir, sizeof(d.dir), "/sys/class/net/%.*s/ecn", NAME_LEN, name);
	if (!sysroot_is_there(d.dir))
		return 0;
	snprintf(path, sizeof(path), "/sys/class/net/%.*s/device", NAME_LEN, name);
	if (sysroot_link(path, d.pci))
		*d.pci = '\0';
	return w->found(&d, w->arg);
}

static int ofed_each(const struct backend *be, int (*found)(const struct device *d, void *arg),
		     void *arg)
{
	struct walk w = { be, found, arg };

	return sysroot_list("/sys/class/net", entry, &w);
}

/* The knob with the file's other place, if it is that in this release. */
static void place(const struct device *d, struct knob *k, char file[NAME_LEN])
{
	const char *leaf = strrchr(k->file, '/') + 1;
	char path[DIR_LEN + NAME_LEN];

	snprintf(file, NAME_LEN, "%.*s/params/%s", (int)strcspn(k->file, "/"), k->file, leaf);
	snprintf(path, sizeof(path), "%s/%s", d->dir, file);
	if (sysroot_is_there(path))
		k->file = file;
}

static int ofed_read(const struct device *d, const struct knob *k, uint32_t *v, struct err *e)
{
	struct knob here = *k;
	char file[NAME_LEN];

	place(d, &here, file);
	return attr_read(d, &here, v, e);
}

static int ofed_write(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	struct knob here = *k;
	char file[NAME_LEN];

	place(d, &here, file);
	return attr_write(d, &here, v, e);
}

static int ofed_may_write(const struct device *d, const struct knob *k, struct err *e)
{
	struct knob here = *k;
	char file[NAME_LEN];

	place(d, &here, file);
	return attr_may_write(d, &here, e);
}

const struct backend backend_ofed = {
	.name = "ofed", .what = "NVIDIA ConnectX, MLNX_OFED's driver (sysfs)",
	.scope = SCOPE_PORT, .budget = 200,
	.knobs = knobs, .knob_count = COUNT(knobs),
	.each = ofed_each, .read = ofed_read, .write = ofed_write,
	.may_write = ofed_may_write,
};
