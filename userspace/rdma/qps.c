// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Soft-RoCE's QPs: a line that names the columns, then one for each QP.
 *
 *	# qpn on rate target alpha cnps sent job progress
 *
 * Columns go by their names, so that a driver may have more of them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdma.h"

#define LINE_LEN	512
#define BLANKS		" \t\n"
#define COLUMNS		32
#define QPS_MAX		65536	/* of a device */

enum column { COL_ON, COL_RATE, COL_CNPS, COL_SENT, COL_JOB, COL_COUNT };

struct table {
	unsigned int at[COL_COUNT];	/* where each is, from 1 on; 0: there is none */
};

struct row {
	uint64_t value[COL_COUNT];
};

static bool table_head(struct table *t, char *line)
{
	static const char *const names[COL_COUNT] = { "on", "rate", "cnps", "sent", "job" };
	unsigned int at = 0;
	char *save;

	*t = (struct table){ .at = { 0 } };
	if (*line++ != '#')
		return false;
	for (char *word = strtok_r(line, BLANKS, &save); word;
	     word = strtok_r(NULL, BLANKS, &save)) {
		at++;
		for (unsigned int i = 0; i < COL_COUNT; i++)
			if (!strcmp(word, names[i]))
				t->at[i] = at;
	}
	return t->at[COL_JOB] && t->at[COL_SENT];
}

static bool table_row(const struct table *t, char *line, struct row *row)
{
	char *words[COLUMNS], *save, *end;
	unsigned int count = 0;

	for (char *word = strtok_r(line, BLANKS, &save); word && count < COLUMNS;
	     word = strtok_r(NULL, BLANKS, &save))
		words[count++] = word;
	for (unsigned int i = 0; i < COL_COUNT; i++) {
		row->value[i] = 0;
		if (!t->at[i])
			continue;
		if (t->at[i] > count)
			return false;
		errno = 0;
		row->value[i] = strtoull(words[t->at[i] - 1], &end, 10);
		if (errno || *end || words[t->at[i] - 1][0] == '-')
			return false;
	}
	return row->value[COL_JOB] && row->value[COL_JOB] <= UINT16_MAX;
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
	uint64_t rate = row->value[COL_RATE];

	q->qps++;
	q->sent += row->value[COL_SENT];
	q->cnps += row->value[COL_CNPS];
	if (!row->value[COL_ON])
		return;
	q->rate += rate;
	if (!q->paced++ || rate < q->slowest)
		q->slowest = rate;
}

static void read_file(struct rdma *r, FILE *f, const char *device)
{
	unsigned int lines = 0;
	size_t from = r->uses;
	char line[LINE_LEN];
	struct table t;
	struct row row;

	if (!fgets(line, sizeof(line), f) || !table_head(&t, line))
		return;
	while (lines++ < QPS_MAX && fgets(line, sizeof(line), f)) {
		struct rdma_use *u = NULL;

		if (table_row(&t, line, &row))
			u = use_of(r, from, device, row.value[COL_JOB]);
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
