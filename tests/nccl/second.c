// SPDX-License-Identifier: GPL-2.0
/*
 * A second plugin, that is chained: checks that it is called as a plugin may expect, and counts.
 * -DONLY_V4: it has v4 and nothing else; without, all but v6.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "second.h"

struct second_counts second_counts;

struct event {
	uint64_t magic, type;
	struct event *parent;
};

#define MAGIC	0x5ec0ad

static int context;
static int its_mask;

static int init_any(void **ctx, int *mask)
{
	const char *s = getenv("SECOND_MASK");

	if (getenv("SECOND_FAILS"))
		return 3;
	second_counts.inits++;
	*ctx = &context;
	its_mask = s ? atoi(s) : 2;
	*mask = its_mask;
	return 0;
}

static int init_3(void **ctx, int *mask)
{
	return init_any(ctx, mask);
}

static int init_4(void **ctx, int *mask, const char *name, uint64_t id, int nodes, int ranks,
		  int rank, void *log)
{
	second_counts.wrong += id != 77 || nodes != 2 || ranks != 2 || rank || !log;
	return init_any(ctx, mask);
}

static int init_5(void **ctx, uint64_t id, int *mask, const char *name, int nodes, int ranks,
		  int rank, void *log)
{
	return init_4(ctx, mask, name, id, nodes, ranks, rank, log);
}

static int start(int version, void *ctx, void **handle, const uint8_t *d)
{
	struct event *e = calloc(1, sizeof(*e)), *group = NULL;

	e->magic = MAGIC;
	if (version <= 4)
		e->type = d[0];
	else
		memcpy(&e->type, d, 8);
	memcpy(&e->parent, d + 8, 8);
	if (version > 4 && e->type == 2)
		memcpy(&group, d + 104, 8);
	second_counts.wrong += ctx != &context;
	second_counts.wrong += e->parent && e->parent->magic != MAGIC;
	second_counts.wrong += group && group->magic != MAGIC;
	second_counts.wrong += (e->type == 8 && e->parent && e->parent->type != 2);
	second_counts.wrong += (e->type == 16 && (!e->parent || e->parent->type != 8));
	second_counts.starts[__builtin_ctzll(e->type)]++;
	second_counts.parents += !!e->parent;
	*handle = e;
	return 0;
}

/* As a parent it may be looked at later, so it is not freed. */
static int stop(void *handle)
{
	struct event *e = handle;

	second_counts.stops++;
	second_counts.wrong += !e || e->magic != MAGIC;
	return 0;
}

static int record(void *handle, int state, const size_t *args)
{
	struct event *e = handle;

	second_counts.records++;
	second_counts.wrong += !e || e->magic != MAGIC;
	if (e && e->type == 16 && state == 9 && args)
		second_counts.bytes += *args;
	return 0;
}

static int finalize(void *ctx)
{
	second_counts.finalizes++;
	second_counts.wrong += ctx != &context;
	return 0;
}

#define TABLE(v, i)									\
	static int start_##v(void *ctx, void **handle, const uint8_t *d)		\
	{										\
		second_counts.version = v;						\
		return start(v, ctx, handle, d);					\
	}										\
	const struct {									\
		const char *name;							\
		void *init, *start, *stop, *record, *finalize;				\
	} ncclProfiler_v##v = { "second", i, start_##v, stop, record, finalize }

#ifndef ONLY_V4
TABLE(3, init_3);
TABLE(5, init_5);
TABLE(7, init_5);
#endif
TABLE(4, init_4);

const void *const second_keep[] = { (void *)init_3, (void *)init_4, (void *)init_5 };
