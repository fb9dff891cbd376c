// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Soft-RoCE's QPs: a line that names the columns, then one for each QP.  A driver may have more
 * columns behind these.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdma.h"

#define LINE_LEN	512
#define HEAD		"# qpn on rate target alpha cnps sent job"
#define QPS_MAX		65536	/* of a device */

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

static void read_file(struct rdma *r, FILE *f, const char *device)
{
	unsigned int lines = 0;
	size_t from = r->uses;
	char line[LINE_LEN];
	struct row row;

	if (!fgets(line, sizeof(line), f) || !is_head(line))
		return;
	while (lines++ < QPS_MAX && fgets(line, sizeof(line), f)) {
		struct rdma_use *u = NULL;

		if (take_row(line, &row))
			u = use_of(r, from, device, row.job);
		if (u)
			qps_count(&u->qps, &row);
	}
}

static int qps_device_entry(const char *name, void *arg)
{
	char path[2 * NAME_LEN];
	FILE *f;
	int fd;

	if (strlen(name) >= NAME_LEN || !rdma_is_name(name))
		return 0;
	snprintf(path, sizeof(path), RXE_DIR "/%.*s/qps", NAME_LEN - 1, name);
	fd = sysroot_open(path, O_RDONLY);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (f) {
		read_file(arg, f, name);
		fclose(f);
	} else if (fd >= 0) {
		close(fd);
	}
	return 0;
}

void rdma_read_qps(struct rdma *r)
{
	sysroot_list(RXE_DIR, qps_device_entry, r);
}
