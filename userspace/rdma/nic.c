// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The table of back ends, devices by the names that people use, and what may be done to a knob. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What @found has returned, if that is positive, else the first error. */
static int devices_each(const struct backend *be,
			int (*found)(const struct device *d, void *arg), void *arg)
{
	int ret, err = 0;

	for (unsigned int i = 0; i < backend_count; i++) {
		if (be ? be != backends[i] : backends[i]->slow)
			continue;
		ret = backends[i]->ops->each(backends[i], found, arg);
		if (ret > 0)
			return ret;
		err = err ? err : ret;
	}
	return err;
}

static int nic_collect(const struct device *d, void *arg)
{
	struct devices *all = arg;

	if (all->count == DEVICES_MAX)
		return 1;
	all->list[all->count++] = *d;
	return 0;
}

int devices_list(const struct backend *be, struct devices *all)
{
	all->count = 0;
	return devices_each(be, nic_collect, all);
}

const struct knob *knob_find(const struct backend *be, const char *name)
{
	for (unsigned int i = 0; i < be->knob_count; i++)
		if (!strcmp(be->knobs[i].name, name))
			return &be->knobs[i];
	return NULL;
}

struct ibdev_search {
	const char *pci;
	char *name;
};

static int ibdev_entry(const char *name, void *arg)
{
	struct ibdev_search *s = arg;
	char path[2 * NAME_LEN], pci[NAME_LEN];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s/device", NAME_LEN - 1, name);
	if (sysroot_link(path, pci) || strcmp(pci, s->pci))
		return 0;
	snprintf(s->name, NAME_LEN, "%.*s", NAME_LEN - 1, name);
	return 1;
}

void device_ibdev(const struct device *d, char name[NAME_LEN])
{
	struct ibdev_search s = { d->pci, name };
	char path[2 * NAME_LEN];

	*name = '\0';
	if (*d->pci)
		sysroot_list("/sys/class/infiniband", ibdev_entry, &s);
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

struct search {
	const struct backend *be;
	const char *name;
	char pci[NAME_LEN];	/* of the RDMA or network device with that name */
	struct device *d;
	unsigned int matches;
	char seen[200];
};

/* An RDMA or a network device stands for the function that it is on. */
static void search_pci(struct search *s)
{
	static const char *const classes[] = { "infiniband", "net" };
	char path[2 * NAME_LEN + 40];

	for (unsigned int i = 0; i < COUNT(classes) && !*s->pci; i++) {
		snprintf(path, sizeof(path), "/sys/class/%s/%.*s/device", classes[i],
			 NAME_LEN, s->name);
		if (strchr(s->name, '/') || sysroot_link(path, s->pci))
			*s->pci = '\0';
	}
}

static int search_one(const struct device *d, void *arg)
{
	struct search *s = arg;
	size_t len = strlen(s->seen);

	if (strcmp(d->name, s->name) && strcmp(d->pci, s->name) &&
	    (!*s->pci || strcmp(d->pci, s->pci)))
		return 0;
	/* one with knobs is meant, whatever else there is of the same function */
	if (s->matches && *d->why)
		return 0;
	if (s->matches && *s->d->why) {
		s->matches = 0;
		len = 0;
	}
	if (!s->matches++)
		*s->d = *d;
	snprintf(s->seen + len, sizeof(s->seen) - len, "%s%s:%s", len ? ", " : "", d->be->name,
		 d->name);
	return 0;
}

/* A PCI address has colons, too: only the name of a back end is taken off. */
static void search_backend(struct search *s)
{
	for (unsigned int i = 0; i < backend_count; i++) {
		size_t len = strlen(backends[i]->name);

		if (strncmp(s->name, backends[i]->name, len) || s->name[len] != ':')
			continue;
		s->be = backends[i];
		s->name += len + 1;
		return;
	}
}

int device_find(const char *name, struct device *d, struct err *e)
{
	struct search s = { .name = name, .d = d };
	int err;

	*d = (struct device){ .be = NULL };
	search_backend(&s);
	search_pci(&s);
	err = devices_each(s.be, search_one, &s);
	if (!s.matches && (err == -EACCES || err == -EPERM))
		return fail(e, err, "cannot look for '%s': root is needed", name);
	if (!s.matches)
		return fail(e, -ENODEV, "no device '%s': 'mlcc-dcqcn show' lists them", name);
	if (s.matches > 1)
		return fail(e, -ENOTUNIQ, "'%s' may be %s: say which", name, s.seen);
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
	unsigned long n;
	char *end;

	errno = 0;
	n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 0) : ULONG_MAX;
	if (errno || n > UINT32_MAX || *end)
		return -EINVAL;
	*v = n;
	return 0;
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
