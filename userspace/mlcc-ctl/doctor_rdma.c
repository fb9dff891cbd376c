// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * doctor, RDMA's part: for each device its driver, what can be done with its DCQCN and who does,
 * and what it has counted.  Nothing is written; parameters are read where only that says whether
 * the device answers.
 */
#include <stdio.h>
#include <string.h>

#include "../common/auto.h"
#include "../rdma/saved.h"
#include "../rdma/rdma.h"
#include "ctl.h"
#include "findings.h"

#define CLASS_DIR	"/sys/class/infiniband"

/* What was found once, for all devices. */
static struct {
	struct devices devices;
	int err;		/* of the search: -EACCES, only root may look */
	struct rdma rdma;
} all;

static bool forbidden(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* A device without a function that is no RNIC (iWARP) is soft-RoCE. */
static bool is_rxe(const char *ibdev)
{
	char path[DIR_LEN], text[32];

	snprintf(path, sizeof(path), CLASS_DIR "/%s/device", ibdev);
	if (sysroot_is_there(path))
		return false;
	snprintf(path, sizeof(path), CLASS_DIR "/%s/node_type", ibdev);
	return sysroot_read(path, text, sizeof(text)) <= 0 || !strncmp(text, "1:", 2);
}

static void driver_of(const char *ibdev, char driver[NAME_LEN])
{
	char path[DIR_LEN];

	snprintf(path, sizeof(path), CLASS_DIR "/%s/device/driver", ibdev);
	if (sysroot_link(path, driver))
		strcpy(driver, "driver not known");
}

/* Which knob follow would drive; NULL: none of the kind. */
static const struct knob *driven(const struct backend *be)
{
	for (unsigned int i = 0; i < be->knob_count; i++)
		if (be->knobs[i].role == ROLE_AI || be->knobs[i].role == ROLE_TIME)
			return &be->knobs[i];
	return NULL;
}

/* 0: its parameters can be read, and as far as can be seen written. */
static int try_device(const struct device *d, struct err *e)
{
	int err = -ENOENT;
	uint32_t v;

	if (*d->why)
		return fail(e, -ENODEV, "%s", d->why);
	fail(e, err, "it has none of the parameters");
	/* firmware and releases have not all of them */
	for (unsigned int i = 0; err == -ENOENT && i < d->be->knob_count; i++) {
		const struct knob *k = &d->be->knobs[i];

		err = knob_read(d, k, &v, e);
		err = err ? err : knob_may_write(d, k, e);
	}
	return err;
}

static const struct rdma_follow *follow_of(const struct device *d)
{
	for (size_t i = 0; i < all.rdma.uses; i++) {
		const struct rdma_follow *f = &all.rdma.use[i].follow;

		if (all.rdma.use[i].follows && !strcmp(f->backend, d->be->name) &&
		    !strcmp(f->device, d->name))
			return f;
	}
	return NULL;
}

/* A follow that was killed has left a value behind. */
static bool left_behind(const struct device *d)
{
	static struct state s;
	struct err e;

	if (saved_load(d, &s, &e))
		return false;
	for (unsigned int i = 0; i < s.count; i++)
		if (s.saved[i].followed)
			return true;
	return false;
}

static void check_unfollowed(const struct device *d)
{
	if (left_behind(d))
		result(NOTE, "follow", "'mlcc-dcqcn restore' puts back what was there",
		       "%s:%s: a follow was killed and has left its value", d->be->name, d->name);
	else if (driven(d->be))
		result(FINE, "follow", "", "%s:%s: no job's progress drives it", d->be->name,
		       d->name);
}

/* What follow drives, as the device has it: follow's own word of it may be a second old. */
static void check_driven(const struct device *d, const struct rdma_follow *f)
{
	const struct knob *k = knob_find(d->be, f->knob);
	struct err e;
	uint32_t v;
	int err;

	err = k ? knob_read(d, k, &v, &e) : fail(&e, -ENOENT, "it has no %s", f->knob);
	if (err)
		result(NOTE, "follow", "", "%s:%s: what it is driven to is unknown: %s", d->be->name,
		       d->name, e.text);
	else if (v < f->low || v > f->high)
		result(NOTE, "follow", "somebody else sets it, or follow has been stopped",
		       "%s:%s: %s is %u, which follow keeps from %u to %u", d->be->name, d->name,
		       f->knob, v, f->low, f->high);
	else
		result(FINE, "follow", "", "%s:%s: %s is %u%s%s, base %u (%s)", d->be->name,
		       d->name, f->knob, v, *f->unit ? " " : "", f->unit, f->base, f->state);
}

static void check_follow(const struct device *d)
{
	const struct rdma_follow *f = follow_of(d);

	if (!f)
		check_unfollowed(d);
	else if (f->has_value)
		check_driven(d, f);
	else
		result(NOTE, "follow", "it goes on when the device is back",
		       "%s:%s: the device is away", d->be->name, d->name);
}

static void check_device(const struct device *d, const char *ibdev, const char *driver)
{
	struct err e;
	int err;

	if (d->be->read_only && !*d->why) {
		result(NOTE, "rdma", "its driver takes parameters only when it is loaded",
		       "%s (%s): mlcc-dcqcn only shows it (%s)", ibdev, driver, d->be->name);
		return;
	}
	err = try_device(d, &e);
	if (err) {
		result(NOTE, "rdma", forbidden(err) ? "run doctor as root to see more" :
		       "'mlcc-dcqcn show' says more", "%s (%s): mlcc-dcqcn cannot set %s:%s: %s",
		       ibdev, driver, d->be->name, d->name, e.text);
		return;
	}
	result(FINE, "rdma", "", "%s (%s): mlcc-dcqcn can set %s:%s", ibdev, driver, d->be->name,
	       d->name);
	check_follow(d);
}

/* @d: its parameters; NULL: they are not seen. */
static void check_patched(const struct device *d, const char *ibdev)
{
	const struct knob *rp = knob_find(&backend_rxe, "rp_enable");
	const struct knob *np = knob_find(&backend_rxe, "np_enable");
	char path[DIR_LEN], todo[160], rule[8];
	uint32_t on, answers;
	struct err e;
	int err;

	err = d ? knob_read(d, rp, &on, &e) : -EACCES;
	err = err ? err : knob_read(d, np, &answers, &e);
	if (err) {
		result(NOTE, "rdma", "run doctor as root, with debugfs mounted, to see more",
		       "%s (soft-RoCE with mlcc's patches): whether DCQCN is on is unknown", ibdev);
		return;
	}
	snprintf(todo, sizeof(todo), "'mlcc-dcqcn set rxe:%s np_enable=1 rp_enable=1'", ibdev);
	result(on && answers ? FINE : NOTE, "rdma", on && answers ? "" : todo,
	       "%s (soft-RoCE with mlcc's patches): DCQCN is %s", ibdev,
	       !on ? "off" : answers ? "on" : "on, but marks are not answered");
	snprintf(path, sizeof(path), RXE_DIR "/%s/jobs", ibdev);
	if (on && sysroot_read(path, rule, sizeof(rule)) <= 0)
		result(NOTE, "rdma", "'mlcc-ctl set-job --cgroup', with mlccd, or a rule in its debugfs file 'jobs': Documentation/rdma.md",
		       "%s: no rule says which queue pairs are a job's", ibdev);
	/* its QPs have their jobs' gains themselves: nobody has to follow */
	if (follow_of(d) || left_behind(d))
		check_follow(d);
}

/* Patched is who has the counters of the reaction point; these are for all to see. */
static void check_rxe(const struct device *d, const char *ibdev)
{
	char path[DIR_LEN];

	snprintf(path, sizeof(path), CLASS_DIR "/%s/ports/1/hw_counters/rp_cnp_handled", ibdev);
	if (d || sysroot_is_there(path))
		check_patched(d, ibdev);
	else
		result(NOTE, "rdma", "rdma/rxe has the patches for it: Documentation/rdma.md",
		       "%s (soft-RoCE as the kernel has it): it has no congestion control", ibdev);
}

static void check_counters(const char *ibdev)
{
	for (size_t i = 0; i < all.rdma.ports; i++) {
		const struct rdma_port *p = &all.rdma.port[i];
		char text[256] = "";
		size_t len = 0;

		if (strcmp(p->device, ibdev))
			continue;
		for (unsigned int c = 0; c < RDMA_COUNTERS; c++)
			if (p->there >> c & 1)
				len += snprintf(text + len, sizeof(text) - len, "%s%s %llu",
						len ? ", " : "", rdma_counter_name(c),
						(unsigned long long)p->count[c]);
		result(FINE, "roce", "", "%s port %s: %s", ibdev, p->port, text);
	}
}

static void check_unseen(const char *ibdev, const char *driver)
{
	if (forbidden(all.err))
		result(NOTE, "rdma", "run doctor as root to see more",
		       "%s (%s): whether mlcc-dcqcn can set it is unknown", ibdev, driver);
	else
		result(NOTE, "rdma", "'mlcc-dcqcn show --backends' lists what it can; is debugfs mounted?",
		       "%s (%s): mlcc-dcqcn finds no parameters of DCQCN", ibdev, driver);
}

static bool is_of(const struct device *d, const char *ibdev, const char *driver)
{
	char name[NAME_LEN];

	if (d->be->driver)
		return !strcmp(d->be->driver, driver);
	device_ibdev(d, name);
	return !strcmp(name, ibdev);
}

/*
 * Whether the kernel's driver makes RoCEv2's UDP source port of the flow label, and so
 * libmlcc-ibverbs parts the queue pairs of a connection.  irdma's devices are ice's.
 */
static void check_label(const char *ibdev, const char *driver, bool rxe)
{
	static const char *const those[] = { "mlx5_core", "ice", "mana", "ionic" };
	bool known = rxe;

	for (size_t i = 0; i < sizeof(those) / sizeof(*those); i++)
		known |= !strcmp(driver, those[i]);
	result(known ? FINE : NOTE, "label", "", known ?
	       "%s (%s): 'mlcc-ctl run --paths' gives queue pairs UDP ports of their own" :
	       "%s (%s): whether queue pairs get UDP ports of their own by 'mlcc-ctl run --paths' is unknown",
	       ibdev, rxe ? "soft-RoCE" : driver);
}

static void check_ibdev(const char *ibdev)
{
	char driver[NAME_LEN];
	const struct device *rxe = NULL;
	unsigned int seen = 0;

	if (strlen(ibdev) >= NAME_LEN || !rdma_is_name(ibdev))
		return;
	driver_of(ibdev, driver);
	for (unsigned int i = 0; i < all.devices.count; i++) {
		if (!is_of(&all.devices.list[i], ibdev, driver))
			continue;
		if (all.devices.list[i].be == &backend_rxe) {
			rxe = &all.devices.list[i];
			continue;
		}
		seen++;
		check_device(&all.devices.list[i], ibdev, driver);
	}
	check_label(ibdev, driver, rxe || (!seen && is_rxe(ibdev)));
	if (rxe || (!seen && is_rxe(ibdev)))
		check_rxe(rxe, ibdev);
	else if (!seen)
		check_unseen(ibdev, driver);
	check_counters(ibdev);
}

void check_rdma(void)
{
	AUTO_CLOSEDIR DIR *ibdevs = sysroot_dir(CLASS_DIR, NULL);

	if (!sysroot_has_entries(CLASS_DIR)) {
		/* where sysfs is, there is the loopback device at least */
		if (sysroot_has_entries("/sys/class/net"))
			result(FINE, "rdma", "", "no RDMA device");
		else
			result(NOTE, "rdma", "",
			       "whether there are RDMA devices is unknown: /sys does not tell");
		return;
	}
	all.err = devices_list(NULL, &all.devices);
	rdma_read(&all.rdma, true);
	for (const char *ibdev; (ibdev = sysroot_next(ibdevs));)
		check_ibdev(ibdev);
	result(NOTE, "nccl", "",
	       "what GPUs send by themselves (GIN, GDAKI, zero-SM) no plugin sees: only the NIC's counters");
	rdma_free(&all.rdma);
}
