// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Back ends whose knobs are files of debugfs, sysfs or configfs, with a number in each. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/auto.h"
#include "nic.h"

#define PATH_LEN	(DIR_LEN + NAME_LEN)
#define RATE_MAX	1600000		/* Mb/s; the real limit is the port's rate */
#define RXE_RATE_MAX	1000000

/* Folders with the knobs of a device each: BASE/NAME/LEAF, or BASE/NAME/ports/PORT/LEAF. */
struct folders {
	const char *base, *leaf;
	bool pci;		/* NAME is a PCI address, */
	const char *class;	/* or a device of that class of sysfs, which may be on a function */
	bool ports;
	bool params;		/* files are in a folder "params" in some releases */
	const char *why;	/* there is no LEAF; NULL: then it is no device */
};

/* The file of a knob, in the place that it has in this release. */
static void nic_files_path_of(const struct device *d, const struct knob *k, char path[PATH_LEN])
{
	const char *file = k->file ? k->file : k->name;
	int len = strcspn(file, "/");

	if (d->be->folders && d->be->folders->params) {
		snprintf(path, PATH_LEN, "%s/%.*s/params/%s", d->dir, len, file,
			 strrchr(file, '/') + 1);
		if (sysroot_is_there(path))
			return;
	}
	snprintf(path, PATH_LEN, "%s/%s", d->dir, file);
}

/* What to do about it, where that is known. */
static const char *hint(int err, const char *path)
{
	char text[80];

	if (err != -EPERM && err != -EACCES)
		return "";
	if (strstr(path, "/debug/") && sysroot_read("/sys/kernel/security/lockdown", text,
						 sizeof(text)) > 0 && !strstr(text, "[none]"))
		return ": kernel lockdown (Secure Boot) forbids debugfs";
	return ": root is needed";
}

static int file_fail(const char *path, const char *what, int err, struct err *e)
{
	return fail(e, err, "%s %s: %s%s", what, path, strerror(-err), hint(err, path));
}

static int attr_read(const struct device *d, const struct knob *k, uint32_t *v, struct err *e)
{
	char path[PATH_LEN], text[32];
	ssize_t n;

	nic_files_path_of(d, k, path);
	n = sysroot_read(path, text, sizeof(text));
	if (n < 0)
		return file_fail(path, "reading", n, e);
	if (number(text, v))
		return fail(e, -EBADMSG, "reading %s: '%s' is no number", path, text);
	return 0;
}

/* Without a line's end: mlx5 takes eleven bytes at most. */
static int attr_write(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	char path[PATH_LEN], text[16];
	int err;

	nic_files_path_of(d, k, path);
	snprintf(text, sizeof(text), "%u", v);
	err = sysroot_write(path, text);
	return err ? file_fail(path, "writing", err, e) : 0;
}

static int attr_may_write(const struct device *d, const struct knob *k, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	char path[PATH_LEN];

	nic_files_path_of(d, k, path);
	fd = sysroot_open(path, O_WRONLY);
	return fd < 0 ? file_fail(path, "opening", fd, e) : 0;
}

/*
 * What is called @name below the base, or its @port: a port 1 is called as the device itself.  The
 * PCI function of it, and whether it has knobs.
 */
static void add_folder(const struct backend *be, struct devices *all, const char *name,
		       const char *port)
{
	const struct folders *f = be->folders;
	struct device d = { .be = be };
	char path[DIR_LEN];

	if (port) {
		snprintf(d.name, sizeof(d.name), "%.40s%s%.8s", name, strcmp(port, "1") ? "/" : "",
			 strcmp(port, "1") ? port : "");
		snprintf(d.dir, sizeof(d.dir), "%s/%.*s/ports/%.8s/%s", f->base, NAME_LEN, name,
			 port, f->leaf);
	} else {
		snprintf(d.name, sizeof(d.name), "%s", name);
		snprintf(d.dir, sizeof(d.dir), "%s/%.*s/%s", f->base, NAME_LEN, name, f->leaf);
	}
	if (!sysroot_is_there(d.dir)) {
		if (!f->why)
			return;
		snprintf(d.why, sizeof(d.why), "%s", f->why);
	}
	if (f->pci)
		strcpy(d.pci, d.name);
	if (f->class) {
		snprintf(path, sizeof(path), "/sys/class/%s/%.*s/device", f->class, NAME_LEN, name);
		if (sysroot_link(path, d.pci))
			*d.pci = '\0';
	}
	device_add(all, &d);
}

static int add_device_ports(const struct backend *be, struct devices *all, const char *name)
{
	AUTO_CLOSEDIR DIR *ports = NULL;
	char path[DIR_LEN];
	int err;

	snprintf(path, sizeof(path), "%s/%.*s/ports", be->folders->base, NAME_LEN, name);
	ports = sysroot_dir(path, &err);
	for (const char *port; (port = sysroot_next(ports));)
		add_folder(be, all, name, port);
	return err;
}

static int folders_list(const struct backend *be, struct devices *all)
{
	int err;
	AUTO_CLOSEDIR DIR *names = sysroot_dir(be->folders->base, &err);

	for (const char *name; (name = sysroot_next(names));) {
		if (!be->folders->ports)
			add_folder(be, all, name, NULL);
		else if (!err)
			err = add_device_ports(be, all, name);
	}
	return err;
}

static const struct backend_ops file_ops = {
	.list = folders_list, .read = attr_read, .write = attr_write,
	.may_write = attr_may_write,
};

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
static const struct knob mlx5_knobs[] = {
	{ "rp_ai_rate", "Mb/s", 1, RATE_MAX, 5, ROLE_AI, .what = "R_AI, additive increase" },
	{ "rp_hai_rate", "Mb/s", 1, RATE_MAX, 50, .what = "R_HAI, hyper increase" },
	{ "rp_time_reset", "us", 1, 131071, 300, ROLE_TIME, .what = "T, the increase timer" },
	{ "rp_byte_reset", "", 0, 32767, 32767,
	  .what = "B, the byte counter; 0: off; its unit is not certain" },
	{ "rp_threshold", "", 1, 31, 1, .what = "F, steps of fast recovery" },
	{ "rp_max_rate", "Mb/s", 0, RATE_MAX, 0, .what = "most for a flow; 0: the port's rate" },
	{ "rp_min_rate", "Mb/s", 1, RATE_MAX, 1, .what = "least for a flow" },
	{ "rp_min_dec_fac", "%", 0, 100, 50, .what = "a decrease leaves at least this" },
	{ "rp_gd", "log2", 10, 11, 11, .what = "divides alpha in a decrease; 11: alpha/2" },
	{ "rp_dce_tcp_g", "/1024", 0, 1023, 1019, .what = "what alpha keeps in an update" },
	{ "rp_dce_tcp_rtt", "us", 1, 131071, 1, .what = "period of alpha's update" },
	{ "rp_rate_reduce_monitor_period", "us", 1, UINT32_MAX, 4, .what = "between decreases" },
	{ "rp_initial_alpha_value", "/1024", 1, 1023, 1023, .what = "alpha at a first CNP" },
	{ "rp_rate_to_set_on_first_cnp", "Mb/s", 0, RATE_MAX, 0, .what = "0: off" },
	{ "rp_clamp_tgt_rate", "", 0, 1, 0, .what = "each decrease lowers the target rate, too" },
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

const struct backend backend_mlx5 = {
	.name = "mlx5", .what = "NVIDIA ConnectX, the kernel's driver (debugfs)",
	.scope = SCOPE_PORT, .budget = 200,
	.knobs = mlx5_knobs, .knob_count = COUNT(mlx5_knobs), .ops = &file_ops,
	.folders = &(const struct folders){
		"/sys/kernel/debug/mlx5", "cc_params", .pci = true,
		.why = "no cc_params: the firmware does not allow to query and change them",
	},
};

/*
 * mlx5 with MLNX_OFED's driver: /sys/class/net/<if>/ecn/roce_rp and roce_np, a file for each
 * parameter; in some releases they are in a folder "params" of it.
 *
 * Parameters are of the port.  Only "enable" is of a priority, one file for each of eight.  The
 * driver ignores that a text is no number, and takes what was on its stack: nothing but a number
 * that has been checked is written here, and it is read back.
 */
#define AT(dir, name, file_, unit, min, max, def, role, what_) \
	{ name, unit, min, max, def, role, .file = dir file_, .what = what_ }
#define RP(name, ...) AT("roce_rp/", name, name, __VA_ARGS__)
#define NP(name, ...) AT("roce_np/", name, name, __VA_ARGS__)
#define ENABLE(n) \
	AT("roce_rp/", "rp_enable_" #n, "enable/" #n, "", 0, 1, 1, ROLE_NONE, \
	   "reaction point of priority " #n), \
	AT("roce_np/", "np_enable_" #n, "enable/" #n, "", 0, 1, 1, ROLE_NONE, \
	   "notification point of priority " #n)

static const struct knob ofed_knobs[] = {
	RP("rpg_ai_rate", "Mb/s", 1, RATE_MAX, 5, ROLE_AI, "R_AI, additive increase"),
	RP("rpg_hai_rate", "Mb/s", 1, RATE_MAX, 50, ROLE_NONE, "R_HAI, hyper increase"),
	RP("rpg_time_reset", "us", 1, 131071, 300, ROLE_TIME, "T, the increase timer"),
	RP("rpg_byte_reset", "", 0, 32767, 32767, ROLE_NONE,
	   "B, the byte counter; 0: off; its unit is not certain"),
	RP("rpg_threshold", "", 1, 31, 1, ROLE_NONE, "F, steps of fast recovery"),
	RP("rpg_max_rate", "Mb/s", 0, RATE_MAX, 0, ROLE_NONE,
	   "most for a flow; 0: the port's rate"),
	RP("rpg_min_rate", "Mb/s", 1, RATE_MAX, 1, ROLE_NONE, "least for a flow"),
	RP("rpg_min_dec_fac", "%", 0, 100, 50, ROLE_NONE, "a decrease leaves at least this"),
	RP("rpg_gd", "log2", 10, 11, 11, ROLE_NONE, "divides alpha in a decrease; 11: alpha/2"),
	RP("dce_tcp_g", "/1024", 0, 1023, 1019, ROLE_NONE, "what alpha keeps in an update"),
	RP("dce_tcp_rtt", "us", 1, 131071, 1, ROLE_NONE, "period of alpha's update"),
	RP("rate_reduce_monitor_period", "us", 1, UINT32_MAX, 4, ROLE_NONE, "between decreases"),
	RP("initial_alpha_value", "/1024", 1, 1023, 1023, ROLE_NONE, "alpha at a first CNP"),
	RP("rate_to_set_on_first_cnp", "Mb/s", 0, RATE_MAX, 0, ROLE_NONE, "0: off"),
	RP("clamp_tgt_rate", "", 0, 1, 0, ROLE_NONE, "each decrease lowers the target rate, too"),
	RP("clamp_tgt_rate_after_time_inc", "", 0, 1, 1, ROLE_NONE,
	   "so does the first after a timer's rise"),
	NP("min_time_between_cnps", "us", 0, 4095, 4, ROLE_NONE, "N, between two CNPs of a flow"),
	NP("cnp_dscp", "", 0, 63, 48, ROLE_NONE, "DSCP of CNPs"),
	NP("cnp_802p_prio", "", 0, 7, 6, ROLE_NONE, "priority of CNPs"),
	ENABLE(0), ENABLE(1), ENABLE(2), ENABLE(3), ENABLE(4), ENABLE(5), ENABLE(6), ENABLE(7),
};

const struct backend backend_ofed = {
	.name = "ofed", .what = "NVIDIA ConnectX, MLNX_OFED's driver (sysfs)",
	.scope = SCOPE_PORT, .budget = 200,
	.knobs = ofed_knobs, .knob_count = COUNT(ofed_knobs), .ops = &file_ops,
	.folders = &(const struct folders){
		"/sys/class/net", "ecn", .class = "net", .params = true,
	},
};

/*
 * Soft-RoCE with this project's patch: <debugfs>/rxe/<device>/cc_params, files with mlx5's names
 * and units, and an "enable" for each of reaction and notification point.
 *
 * The driver checks each range, and that the parameters go with each other (EINVAL).  Times are
 * those of software: tens of times a NIC's.
 */
static const struct knob rxe_knobs[] = {
	{ "rp_ai_rate", "Mb/s", 1, RXE_RATE_MAX, 1, ROLE_AI, .what = "R_AI, additive increase" },
	{ "rp_hai_rate", "Mb/s", 0, RXE_RATE_MAX, 1, .what = "R_HAI, hyper increase" },
	{ "rp_time_reset", "us", 1, 1000000, 2000, ROLE_TIME, .what = "T, the increase timer" },
	{ "rp_byte_reset", "bytes", 0, 1U << 30, 0, .what = "B, the byte counter; 0: off" },
	{ "rp_threshold", "", 0, 31, 5, .what = "F, steps of fast recovery" },
	{ "rp_max_rate", "Mb/s", 0, RXE_RATE_MAX, 0, .what = "most for a flow; 0: the port's rate" },
	{ "rp_min_rate", "Mb/s", 1, RXE_RATE_MAX, 1, .what = "least for a flow" },
	{ "rp_min_dec_fac", "%", 0, 100, 50, .what = "a decrease leaves at least this" },
	{ "rp_gd", "log2", 11, 11, 11, .what = "divides alpha in a decrease; 11: alpha/2" },
	{ "rp_dce_tcp_g", "/1024", 0, 1023, 1008, .what = "what alpha keeps in an update" },
	{ "rp_dce_tcp_rtt", "us", 1, 131071, 2000, .what = "period of alpha's update" },
	{ "rp_rate_reduce_monitor_period", "us", 0, 1000000, 0, .what = "between decreases" },
	{ "rp_initial_alpha_value", "/1024", 0, 1023, 1023, .what = "alpha at a first CNP" },
	{ "rp_rate_to_set_on_first_cnp", "Mb/s", 0, RXE_RATE_MAX, 0, .what = "0: off" },
	{ "rp_clamp_tgt_rate", "", 0, 1, 1, .what = "each decrease lowers the target rate, too" },
	{ "rp_clamp_tgt_rate_ati", "", 0, 1, 1, .what = "so does the first after a timer's rise" },
	{ "rp_enable", "", 0, 1, 0, .what = "reaction point" },
	{ "np_enable", "", 0, 1, 0, .what = "notification point" },
	{ "np_min_time_between_cnps", "us", 0, 1000000, 2000, .what = "N, between a flow's CNPs" },
	{ "np_cnp_dscp", "", 0, 63, 48, .what = "DSCP of CNPs" },
};

const struct backend backend_rxe = {
	.name = "rxe", .what = "soft-RoCE with this project's patch (debugfs)",
	.scope = SCOPE_DEVICE, .budget = 200,
	.knobs = rxe_knobs, .knob_count = COUNT(rxe_knobs), .ops = &file_ops,
	.folders = &(const struct folders){
		RXE_DIR, "cc_params",
	},
};

/*
 * hns_roce, from kernel 7.2 on: <debugfs>/hns_roce/<PCI address>/dcqcn_cc_param.
 *
 * The driver checks ranges (EINVAL), writes the whole table to the hardware, and takes its copy
 * back if that fails; reading shows the copy.  Nothing on virtual functions or HIP08.  HiSilicon
 * publishes neither units nor defaults.
 */
static const struct knob hns_knobs[] = {
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

const struct backend backend_hns = {
	.name = "hns", .what = "HiSilicon hns_roce, kernel 7.2 and later (debugfs)",
	.scope = SCOPE_DEVICE, .budget = 200,
	.knobs = hns_knobs, .knob_count = COUNT(hns_knobs), .ops = &file_ops,
	.folders = &(const struct folders){
		"/sys/kernel/debug/hns_roce", "dcqcn_cc_param", .pci = true,
		.why = "no dcqcn_cc_param: kernel before 7.2, HIP08 or a virtual function",
	},
};

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
static const struct knob bnxt_knobs[] = {
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

const struct backend backend_bnxt = {
	.name = "bnxt", .what = "Broadcom bnxt_re, the kernel's driver (debugfs)",
	.scope = SCOPE_DEVICE, .budget = 200,
	.knobs = bnxt_knobs, .knob_count = COUNT(bnxt_knobs), .ops = &file_ops,
	.folders = &(const struct folders){
		"/sys/kernel/debug/bnxt_re", "cc_config", .pci = true,
		.why = "no cc_config: this kernel's driver is too old",
	},
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

static int configfs_write(const struct device *d, const struct knob *k, uint32_t v,
			  struct err *e)
{
	char path[PATH_LEN], text[16];
	int err;

	nic_files_path_of(d, k, path);
	snprintf(text, sizeof(text), "0x%x", v);
	err = sysroot_write(path, text);
	if (!err) {
		snprintf(path, sizeof(path), "%s/apply", d->dir);
		err = sysroot_write(path, "0x1");
	}
	return err ? file_fail(path, "writing", err, e) : 0;
}

static const struct backend_ops configfs_ops = {
	.list = folders_list, .read = attr_read, .write = configfs_write,
	.may_write = attr_may_write,
};

const struct backend backend_bnxt_configfs = {
	.name = "bnxt-configfs", .what = "Broadcom bnxt_re, Broadcom's driver (configfs)",
	.scope = SCOPE_PORT, .budget = 100,
	.knobs = configfs_knobs, .knob_count = COUNT(configfs_knobs), .ops = &configfs_ops,
	.folders = &(const struct folders){
		"/sys/kernel/config/bnxt_re", "cc", .class = "infiniband", .ports = true,
	},
};

/*
 * irdma: parameters of Intel's own driver, which hold from its loading on.  The kernel's irdma has
 * none of them.  They count only if dcqcn_cc_cfg_valid is 1.
 */
static const struct knob irdma_knobs[] = {
	{ "dcqcn_cc_cfg_valid", "", 0, 1, 0, .what = "whether the others hold" },
	{ "dcqcn_rai_factor", "MSS", 0, UINT16_MAX, NO_DEFAULT, ROLE_AI,
	  .what = "R_AI, additive increase" },
	{ "dcqcn_hai_factor", "MSS", 0, UINT16_MAX, NO_DEFAULT, .what = "R_HAI, hyper increase" },
	{ "dcqcn_T", "us", 0, UINT16_MAX, NO_DEFAULT, ROLE_TIME, .what = "T, the increase timer" },
	{ "dcqcn_B", "bytes", 0, UINT32_MAX, NO_DEFAULT, .what = "B, the byte counter" },
	{ "dcqcn_F", "", 0, UINT8_MAX, NO_DEFAULT, .what = "F, steps of fast recovery" },
	{ "dcqcn_min_dec_factor", "%", 0, 100, NO_DEFAULT, .what = "a decrease is at least this" },
	{ "dcqcn_min_rate", "Mb/s", 0, UINT8_MAX, NO_DEFAULT, .what = "least for a flow" },
	{ "dcqcn_rreduce_mperiod", "us", 0, UINT32_MAX, NO_DEFAULT, .what = "between decreases" },
};

static int irdma_list(const struct backend *be, struct devices *all)
{
	struct device d = {
		.be = be, .name = "irdma", .dir = "/sys/module/irdma/parameters",
	};

	if (!sysroot_is_there("/sys/module/irdma"))
		return 0;
	if (!sysroot_is_there("/sys/module/irdma/parameters/dcqcn_cc_cfg_valid"))
		snprintf(d.why, sizeof(d.why), "not in the kernel's irdma, only in Intel's");
	device_add(all, &d);
	return 0;
}

static const struct backend_ops irdma_ops = { .list = irdma_list, .read = attr_read };

const struct backend backend_irdma = {
	.name = "irdma", .what = "Intel E800, Intel's driver (module parameters; only shown)",
	.scope = SCOPE_DRIVER, .driver = "ice", .read_only = "an option of modprobe",
	.knobs = irdma_knobs, .knob_count = COUNT(irdma_knobs), .ops = &irdma_ops,
};
