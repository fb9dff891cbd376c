// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RoCE's counters: <sysfs>/class/infiniband/DEVICE/ports/N/hw_counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma.h"

#define CLASS_DIR	"/sys/class/infiniband"
#define SPELLINGS	4

/* mlx5's names, which soft-RoCE has as well, then bnxt_re's and irdma's */
static const char *const spellings[RDMA_COUNTERS][SPELLINGS] = {
	[RDMA_ECN_MARKED] = { "np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd" },
	[RDMA_CNP_SENT] = { "np_cnp_sent", "tx_cnp_pkts", "cnpSent" },
	[RDMA_CNP_HANDLED] = { "rp_cnp_handled", "rx_cnp_pkts", "cnpHandled" },
	[RDMA_CNP_IGNORED] = { "rp_cnp_ignored", "cnpIgnored" },
};

const char *rdma_counter_name(enum rdma_counter c)
{
	return spellings[c][0];
}

bool rdma_counter(const char *device, const char *port, enum rdma_counter c, uint64_t *v)
{
	char path[DIR_LEN];

	for (unsigned int i = 0; i < SPELLINGS && spellings[c][i]; i++) {
		snprintf(path, sizeof(path), CLASS_DIR "/%s/ports/%s/hw_counters/%s", device, port,
			 spellings[c][i]);
		if (!sysroot_number(path, v))
			return true;
	}
	return false;
}

static void port_add(struct rdma *r, const struct rdma_port *p)
{
	struct rdma_port *more = r->ports == RDMA_PORTS_MAX ? NULL :
				 reallocarray(r->port, r->ports + 1, sizeof(*more));

	if (!more)
		return;
	r->port = more;
	more[r->ports++] = *p;
}

static void counters_read(struct rdma_port *p)
{
	for (unsigned int c = 0; c < RDMA_COUNTERS; c++)
		if (rdma_counter(p->device, p->port, c, &p->count[c]))
			p->there |= 1U << c;
}

struct walk {
	struct rdma *r;
	bool all;
	const char *device;
};

static int ports_port_entry(const char *name, void *arg)
{
	const struct walk *w = arg;
	struct rdma_port p = { .there = 0 };

	if (strlen(name) >= sizeof(p.port) || !rdma_is_name(name))
		return 0;
	strcpy(p.port, name);
	strcpy(p.device, w->device);
	counters_read(&p);
	if (p.there)
		port_add(w->r, &p);
	return 0;
}

static bool is_used(const struct rdma *r, const char *device)
{
	for (size_t i = 0; i < r->uses; i++)
		if (!strcmp(r->use[i].device, device))
			return true;
	return false;
}

static int ports_device_entry(const char *name, void *arg)
{
	struct walk *w = arg;
	char path[DIR_LEN];

	if (strlen(name) >= NAME_LEN || !rdma_is_name(name))
		return 0;
	if (!w->all && !is_used(w->r, name))
		return 0;
	w->device = name;
	snprintf(path, sizeof(path), CLASS_DIR "/%s/ports", name);
	sysroot_list(path, ports_port_entry, w);
	return 0;
}

void rdma_read_ports(struct rdma *r, bool all)
{
	struct walk w = { r, all, NULL };

	sysroot_list(CLASS_DIR, ports_device_entry, &w);
}

/* A back end's device of a port is called DEVICE/PORT, or else it is the first. */
const struct rdma_port *rdma_port_of(const struct rdma *r, const struct rdma_use *u)
{
	const char *slash = u->follows && !strcmp(u->follow.scope, "port") ?
			    strchr(u->follow.device, '/') : NULL;

	for (size_t i = 0; i < r->ports; i++)
		if (!strcmp(r->port[i].device, u->device) &&
		    !strcmp(r->port[i].port, slash ? slash + 1 : "1"))
			return &r->port[i];
	return NULL;
}
