/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parameters of DCQCN that RDMA NICs have, and where: what mlcc-dcqcn sets, and mlcc-ctl doctor
 * shows.
 *
 * A back end knows where one vendor's driver or tool keeps the parameters of DCQCN.  A device is
 * one place of them: a port, a PCI function, a profile.  A knob is one parameter, under the name
 * that the vendor gave it.  Values are what the vendor's interface reads and writes; no unit is
 * converted.
 *
 * Functions that return int return 0 or a negative error number, with a line for people in
 * @e->text.
 */
#ifndef MLCC_NIC_H
#define MLCC_NIC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../common/sysroot.h"

#define DEVICES_MAX	1024	/* a NIC may have hundreds of functions */
#define RXE_DIR		"/sys/kernel/debug/rxe"	/* soft-RoCE with this project's patches */

/* Whose traffic a knob changes.  No driver has knobs of a flow; some show its rate limit. */
enum scope {
	SCOPE_PORT,
	SCOPE_DEVICE,
	SCOPE_PROFILE,		/* all flows that the firmware puts into the profile */
	SCOPE_DRIVER,		/* all devices of the driver */
};

/* What follow can do with a knob. */
enum role {
	ROLE_NONE,
	ROLE_AI,		/* R_AI: the gain multiplies it */
	ROLE_TIME,		/* T, the period of the increase timer: the gain divides it */
	ROLE_AI_UNSURE,		/* perhaps R_AI: multiplied, if the operator names it */
};

#define NO_DEFAULT	(-1)

struct knob {
	const char *name;
	const char *unit;	/* "": the vendor does not say */
	uint32_t min, max;	/* what is written; the vendor's range, or a part of it */
	int64_t def;		/* as published, or NO_DEFAULT */
	enum role role;
	const char *touches;	/* another knob that writing this one changes */
	const char *file;	/* its file or its option, where that is not its name */
	const char *what;
};

struct device {
	const struct backend *be;
	char name[NAME_LEN];
	char dir[DIR_LEN];	/* of the knobs, below the root */
	char pci[NAME_LEN];	/* address of the function; "": not known */
	char why[160];		/* not "": why it has no knobs */
};

struct devices {
	struct device list[DEVICES_MAX];
	unsigned int count;
};

struct backend_ops {
	/* device_add() of all there are. */
	int (*list)(const struct backend *be, struct devices *all);
	/* -ENOENT: this device has no such knob, or is gone */
	int (*read)(const struct device *d, const struct knob *k, uint32_t *v, struct err *e);
	/* NULL: it is read-only */
	int (*write)(const struct device *d, const struct knob *k, uint32_t v, struct err *e);
	/* 0 or why not, without writing; NULL: only trying says */
	int (*may_write)(const struct device *d, const struct knob *k, struct err *e);
};

struct backend {
	const char *name, *what;
	enum scope scope;
	const char *driver;	/* of the functions, where one device stands for all of them */
	const char *read_only;	/* why it is; NULL: it is not */
	bool slow;		/* asked only by its name */
	bool apart;		/* its values are not those that the hardware works with now */
	unsigned int budget;	/* writes a second of follow, unless told otherwise */
	const struct knob *knobs;
	unsigned int knob_count;
	const struct backend_ops *ops;
	const struct folders *folders;	/* nic_files.c */
};

extern const struct backend backend_mlx5, backend_rxe, backend_ofed, backend_hns, backend_bnxt,
	backend_bnxt_configfs, backend_ionic, backend_irdma, backend_mlxconfig;

/* nic.c: back ends and devices */
extern const struct backend *const backends[];
extern const unsigned int backend_count;
const char *scope_name(enum scope s);
/*
 * All of @be, or of all back ends that are not slow (NULL).  A back end that cannot be looked at
 * does not hide the others: its error, else 0.
 */
int devices_list(const struct backend *be, struct devices *all);
/* One more, if there is room. */
void device_add(struct devices *all, const struct device *d);
/*
 * @name: [BACK END:]NAME, where NAME is the device's, its PCI address, or that of its RDMA or
 * network device.  -ENODEV: there is none; -ENOTUNIQ: there are several.
 */
int device_find(const char *name, struct device *d, struct err *e);
const struct knob *knob_find(const struct backend *be, const char *name);
/* The RDMA device on the same function; "" if there is none. */
void device_ibdev(const struct device *d, char name[NAME_LEN]);
/* Its port there: a back end's device of a port is called DEVICE/PORT, or else it is the first. */
const char *device_port(const struct device *d);
/* "BACK END:NAME", as the name of a file, and @suffix. */
void device_file(const struct device *d, const char *suffix, char name[2 * NAME_LEN]);

/* What a knob may have, and how it is written */
/* -ERANGE, -EPERM: with what is allowed */
int knob_check(const struct device *d, const struct knob *k, uint32_t v, struct err *e);
int knob_read(const struct device *d, const struct knob *k, uint32_t *v, struct err *e);
/* Writes and reads back.  -EREMOTEIO: the device has taken it and shows something else. */
int knob_write(const struct device *d, const struct knob *k, uint32_t v, struct err *e);
/* The same for a value that the device had before: it may be out of the range. */
int knob_put(const struct device *d, const struct knob *k, uint32_t v, struct err *e);
/* Whether a write would get as far as the driver; nothing is written. */
int knob_may_write(const struct device *d, const struct knob *k, struct err *e);

/* A number as a driver prints it, decimal or 0x, and nothing behind it: 0 or -ERANGE */
int number(const char *text, uint32_t *v);

#endif /* MLCC_NIC_H */
