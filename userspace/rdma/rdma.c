// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/auto.h"
#include "../common/clock.h"
#include "../common/json.h"
#include "../libmlcc/libmlcc.h"
#include "rdma.h"

#define CLASS_DIR	"/sys/class/infiniband"
#define SPELLINGS	4
#define LINE_LEN	512
#define HEAD		"# qpn on rate target alpha cnps sent job"
#define QPS_MAX		65536	/* of a device */
#define GAIN_MAX	64

bool rdma_is_name(const char *s)
{
	return !s[strspn(s, MLCC_NAME_CHARS)];
}

/* The next name of a device or a port. */
static const char *next_device(DIR *dir, size_t size)
{
	const char *name;

	while ((name = sysroot_next(dir)) && (strlen(name) >= size || !rdma_is_name(name)))
		;
	return name;
}

struct rdma_use *rdma_add(struct rdma *r)
{
	struct rdma_use *more = r->uses == RDMA_USES_MAX ? NULL :
				grow(r->use, r->uses, sizeof(*more));

	if (!more)
		return NULL;
	r->use = more;
	more[r->uses] = (struct rdma_use){ .job = 0 };
	return &more[r->uses++];
}

/*** RoCE's counters: <sysfs>/class/infiniband/DEVICE/ports/N/hw_counters ***/

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
				 grow(r->port, r->ports, sizeof(*more));

	if (!more)
		return;
	r->port = more;
	more[r->ports++] = *p;
}

static void read_port(struct rdma *r, const char *device, const char *port)
{
	struct rdma_port p = { .there = 0 };

	strcpy(p.device, device);
	strcpy(p.port, port);
	for (unsigned int c = 0; c < RDMA_COUNTERS; c++)
		if (rdma_counter(device, port, c, &p.count[c]))
			p.there |= 1U << c;
	if (p.there)
		port_add(r, &p);
}

static bool is_used(const struct rdma *r, const char *device)
{
	for (size_t i = 0; i < r->uses; i++)
		if (!strcmp(r->use[i].device, device))
			return true;
	return false;
}

static void read_ports(struct rdma *r, bool all)
{
	AUTO_CLOSEDIR DIR *devices = sysroot_dir(CLASS_DIR, NULL);

	for (const char *device; (device = next_device(devices, NAME_LEN));) {
		AUTO_CLOSEDIR DIR *ports = NULL;
		char path[DIR_LEN];

		if (!all && !is_used(r, device))
			continue;
		snprintf(path, sizeof(path), CLASS_DIR "/%s/ports", device);
		ports = sysroot_dir(path, NULL);
		for (const char *port; (port = next_device(ports, sizeof(r->port->port)));)
			read_port(r, device, port);
	}
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

/*** Soft-RoCE's QPs: a line that names the columns, of which there may be more, then one for each ***/

struct row {
	unsigned long long on, rate, cnps, sent, job;
};

static bool is_head(const char *line)
{
	return !strncmp(line, HEAD, strlen(HEAD)) && strchr(" \n", line[strlen(HEAD)]);
}

/* A number below 0 is one of more than INT64_MAX. */
static bool take_row(const char *line, struct row *r)
{
	return sscanf(line, "%*u %llu %llu %*u %*u %llu %llu %llu", &r->on, &r->rate, &r->cnps,
		      &r->sent, &r->job) == 5 &&
	       r->rate <= UINT32_MAX && r->cnps <= INT64_MAX && r->sent <= INT64_MAX && r->job &&
	       r->job <= UINT16_MAX;
}

/* Of this device's jobs, which begin at @from. */
static struct rdma_use *use_of(struct rdma *r, size_t from, const char *device, uint32_t job)
{
	struct rdma_use *u;

	for (size_t i = from; i < r->uses; i++)
		if (r->use[i].job == job)
			return &r->use[i];
	u = rdma_add(r);
	if (!u)
		return NULL;
	u->job = job;
	snprintf(u->device, sizeof(u->device), "%s", device);
	return u;
}

static void qps_count(struct rdma_qps *q, const struct row *row)
{
	q->qps++;
	q->sent += row->sent;
	q->cnps += row->cnps;
	if (!row->on)
		return;
	q->rate += row->rate;
	if (!q->paced++ || row->rate < q->slowest)
		q->slowest = row->rate;
}

static void read_qps_of(struct rdma *r, const char *device)
{
	AUTO_FCLOSE FILE *f = NULL;
	char path[2 * NAME_LEN], line[LINE_LEN];
	unsigned int lines = 0;
	size_t from = r->uses;
	struct row row;
	int fd;

	snprintf(path, sizeof(path), RXE_DIR "/%s/qps", device);
	fd = sysroot_open(path, O_RDONLY);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f || !fgets(line, sizeof(line), f) || !is_head(line))
		return;
	while (lines++ < QPS_MAX && fgets(line, sizeof(line), f)) {
		struct rdma_use *u = NULL;

		if (take_row(line, &row))
			u = use_of(r, from, device, row.job);
		if (u)
			qps_count(&u->qps, &row);
	}
}

static void read_qps(struct rdma *r)
{
	AUTO_CLOSEDIR DIR *devices = sysroot_dir(RXE_DIR, NULL);

	for (const char *device; (device = next_device(devices, NAME_LEN));)
		read_qps_of(r, device);
}

/*** What mlcc-dcqcn follow tells ***/

static bool get_name(struct json_object *o, const char *key, char *to, size_t size)
{
	struct json_object *s;
	size_t len;

	if (!json_object_object_get_ex(o, key, &s) || !json_object_is_type(s, json_type_string))
		return false;
	len = json_object_get_string_len(s);
	if (len >= size || strlen(json_object_get_string(s)) != len ||
	    !rdma_is_name(json_object_get_string(s)))
		return false;
	memcpy(to, json_object_get_string(s), len + 1);
	return true;
}

static bool is_fresh(struct json_object *o)
{
	uint64_t at, now = now_us();

	return read_u64(o, "updated_us", UINT64_MAX, &at) && at <= now &&
	       now - at < FOLLOWED_STALE_US;
}

/* What only a device that is there has, or a follow that counts. */
static void from_json_optional(struct json_object *o, struct rdma_use *u)
{
	struct json_object *gain;
	uint64_t job = 0;

	if (read_u64(o, "job", UINT16_MAX, &job))
		u->job = job;
	u->follow.has_sent = read_u64(o, "sent_bytes", INT64_MAX, &u->follow.sent);
	u->follow.has_value = read_u32(o, "value", &u->follow.value) &&
			      json_object_object_get_ex(o, "gain", &gain);
	if (!u->follow.has_value)
		return;
	u->follow.gain = json_object_get_double(gain);
	u->follow.has_value = u->follow.gain >= 0 && u->follow.gain <= GAIN_MAX;
}

static bool followed_from_json(struct json_object *o, struct rdma_use *u)
{
	struct rdma_follow *f = &u->follow;
	uint64_t version;

	*u = (struct rdma_use){ .follows = true };
	if (!json_object_is_type(o, json_type_object) ||
	    !read_u64(o, "version", UINT64_MAX, &version) || version != FOLLOWED_VERSION ||
	    !is_fresh(o))
		return false;
	from_json_optional(o, u);
	return get_name(o, "rdma", u->device, sizeof(u->device)) &&
	       get_name(o, "backend", f->backend, sizeof(f->backend)) &&
	       get_name(o, "device", f->device, sizeof(f->device)) &&
	       get_name(o, "knob", f->knob, sizeof(f->knob)) &&
	       get_name(o, "unit", f->unit, sizeof(f->unit)) &&
	       get_name(o, "scope", f->scope, sizeof(f->scope)) &&
	       get_name(o, "drive", f->drive, sizeof(f->drive)) &&
	       get_name(o, "state", f->state, sizeof(f->state)) &&
	       read_u32(o, "base", &f->base) && read_u32(o, "low", &f->low) &&
	       read_u32(o, "high", &f->high);
}

static void follow_read(struct rdma *r, const char *name)
{
	char path[DIR_LEN], text[FOLLOWED_MAX];
	AUTO_PUT struct json_object *o = NULL;
	struct rdma_use u, *to;

	snprintf(path, sizeof(path), FOLLOWED_DIR "/%.*s", 2 * NAME_LEN - 1, name);
	if (strlen(name) >= 2 * NAME_LEN || sysroot_read(path, text, sizeof(text)) <= 0)
		return;
	o = json_tokener_parse(text);
	to = followed_from_json(o, &u) ? rdma_add(r) : NULL;
	if (to)
		*to = u;
}

/* Only if nobody but root could have written there. */
static void read_follows(struct rdma *r)
{
	AUTO_CLOSEDIR DIR *files = NULL;
	struct err e;
	AUTO_CLOSE int dir = rundir_open(FOLLOWED_DIR, false, &e);

	if (dir < 0)
		return;
	files = sysroot_dir(FOLLOWED_DIR, NULL);
	for (const char *name; (name = sysroot_next(files));)
		follow_read(r, name);
}

/*** All ***/

void rdma_read(struct rdma *r, bool all_ports)
{
	r->uses = 0;
	r->ports = 0;
	read_qps(r);
	read_follows(r);
	read_ports(r, all_ports);
}

void rdma_free(struct rdma *r)
{
	free(r->use);
	free(r->port);
	*r = (struct rdma){ .use = NULL };
}
