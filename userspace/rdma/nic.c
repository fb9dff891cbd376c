// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The table of back ends, devices by the names that people use, and what may be done to a knob. */
#include <stdio.h>
#include <string.h>

#include "../common/auto.h"
#include "../common/number.h"
#include "nic.h"

const struct backend *const backends[] = {
	&backend_mlx5, &backend_ofed, &backend_rxe, &backend_hns, &backend_bnxt,
	&backend_bnxt_configfs, &backend_ionic, &backend_irdma, &backend_mlxconfig,
};

const unsigned int backend_count = COUNT(backends);

const char *scope_name(enum scope s)
{
	static const char *const names[] = { "port", "device", "profile", "driver" };

	return names[s];
}

void device_add(struct devices *all, const struct device *d)
{
	if (all->count < DEVICES_MAX)
		all->list[all->count++] = *d;
}

int devices_list(const struct backend *be, struct devices *all)
{
	int ret, err = 0;

	all->count = 0;
	for (unsigned int i = 0; i < backend_count; i++) {
		if (be ? be != backends[i] : backends[i]->slow)
			continue;
		ret = backends[i]->ops->list(backends[i], all);
		err = err ? err : ret;
	}
	return err;
}

const struct knob *knob_find(const struct backend *be, const char *name)
{
	for (unsigned int i = 0; i < be->knob_count; i++)
		if (!strcmp(be->knobs[i].name, name))
			return &be->knobs[i];
	return NULL;
}

void device_ibdev(const struct device *d, char name[NAME_LEN])
{
	AUTO_CLOSEDIR DIR *all = sysroot_dir("/sys/class/infiniband", NULL);
	char path[2 * NAME_LEN], pci[NAME_LEN];
	const char *ibdev;

	*name = '\0';
	while (*d->pci && !*name && (ibdev = sysroot_next(all))) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s/device", NAME_LEN - 1, ibdev);
		if (!sysroot_link(path, pci) && !strcmp(pci, d->pci))
			snprintf(name, NAME_LEN, "%s", ibdev);
	}
	if (*name)
		return;
	/* without a PCI function it has the RDMA device's name, and perhaps a port or profile */
	snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s", (int)strcspn(d->name, "/"),
		 d->name);
	if (sysroot_is_there(path))
		strcpy(name, strrchr(path, '/') + 1);
}

const char *device_port(const struct device *d)
{
	const char *slash = d->be->scope == SCOPE_PORT ? strchr(d->name, '/') : NULL;

	return slash ? slash + 1 : "1";
}

/* An RDMA or a network device stands for the function that it is on; "": there is none such. */
static void function_of(const char *name, char pci[NAME_LEN])
{
	static const char *const classes[] = { "infiniband", "net" };
	char path[2 * NAME_LEN + 40];

	*pci = '\0';
	for (unsigned int i = 0; i < COUNT(classes) && !*pci; i++) {
		snprintf(path, sizeof(path), "/sys/class/%s/%.*s/device", classes[i], NAME_LEN, name);
		if (strchr(name, '/') || sysroot_link(path, pci))
			*pci = '\0';
	}
}

/* A PCI address has colons, too: only the name of a back end is taken off. */
static const struct backend *take_backend(const char **name)
{
	for (unsigned int i = 0; i < backend_count; i++) {
		size_t len = strlen(backends[i]->name);

		if (strncmp(*name, backends[i]->name, len) || (*name)[len] != ':')
			continue;
		*name += len + 1;
		return backends[i];
	}
	return NULL;
}

static bool is_called(const struct device *d, const char *name, const char *pci)
{
	return !strcmp(d->name, name) || !strcmp(d->pci, name) || (*pci && !strcmp(d->pci, pci));
}

int device_find(const char *name, struct device *d, struct err *e)
{
	static struct devices all;
	const char *own = name;
	const struct backend *be = take_backend(&own);
	char pci[NAME_LEN], seen[200] = "";
	unsigned int matches = 0;
	int err;

	*d = (struct device){ .be = NULL };
	function_of(own, pci);
	err = devices_list(be, &all);
	for (unsigned int i = 0; i < all.count; i++) {
		const struct device *one = &all.list[i];
		size_t len = strlen(seen);

		/* one with knobs is meant, whatever else there is of the same function */
		if (!is_called(one, own, pci) || (matches && *one->why))
			continue;
		if (matches && *d->why) {
			matches = 0;
			len = 0;
		}
		if (!matches++)
			*d = *one;
		snprintf(seen + len, sizeof(seen) - len, "%s%s:%s", len ? ", " : "", one->be->name,
			 one->name);
	}
	if (!matches && (err == -EACCES || err == -EPERM))
		return fail(e, err, "cannot look for '%s': root is needed", name);
	if (!matches)
		return fail(e, -ENODEV, "no device '%s': 'mlcc-dcqcn show' lists them", name);
	if (matches > 1)
		return fail(e, -ENOTUNIQ, "'%s' may be %s: say which", name, seen);
	if (*d->why)
		return fail(e, -ENODEV, "%s:%s has no knobs: %s", d->be->name, d->name, d->why);
	return 0;
}

/* "/" is no part of a file's name; nobody calls a device "+". */
void device_file(const struct device *d, const char *suffix, char name[2 * NAME_LEN])
{
	snprintf(name, 2 * NAME_LEN, "%s:%s%s", d->be->name, d->name, suffix);
	for (char *s = name; *s; s++)
		if (*s == '/')
			*s = '+';
}

int number(const char *text, uint32_t *v)
{
	struct err none;
	uint64_t n;
	int err = number_whole("", text, 0, UINT32_MAX, &n, &none);

	if (!err)
		*v = n;
	return err;
}

/* Range, write, read back: drivers check no range, and some take a write and do nothing. */
int knob_check(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	if (d->be->read_only)
		return fail(e, -EPERM, "%s:%s %s can only be read", d->be->name, d->name, k->name);
	if (v < k->min || v > k->max)
		return fail(e, -ERANGE, "%s=%u: from %u to %u%s%s", k->name, v, k->min, k->max,
			    *k->unit ? " " : "", k->unit);
	return 0;
}

int knob_read(const struct device *d, const struct knob *k, uint32_t *v, struct err *e)
{
	return d->be->ops->read(d, k, v, e);
}

int knob_put(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	uint32_t is;
	int err;

	if (d->be->read_only)
		return fail(e, -EPERM, "%s %s: %s", d->name, k->name, d->be->read_only);
	err = d->be->ops->write(d, k, v, e);
	if (!err)
		err = d->be->ops->read(d, k, &is, e);
	if (!err && is != v)
		return fail(e, -EREMOTEIO, "%s:%s %s: wrote %u, and it reads %u", d->be->name,
			    d->name, k->name, v, is);
	return err;
}

int knob_write(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	int err = knob_check(d, k, v, e);

	return err ? err : knob_put(d, k, v, e);
}

int knob_may_write(const struct device *d, const struct knob *k, struct err *e)
{
	if (d->be->read_only)
		return fail(e, -EPERM, "%s:%s can only be read", d->be->name, d->name);
	return d->be->ops->may_write ? d->be->ops->may_write(d, k, e) : 0;
}
