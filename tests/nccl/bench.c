// SPDX-License-Identifier: GPL-2.0
/*
 * bench PLUGIN: what the plugin takes of NCCL's threads, in nanoseconds: a send step (start, three
 * states, stop), and an operation with one such step. Medians of rounds that take turns with handlers
 * that do nothing. One thread; NCCL's v5.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

#define ROUNDS	2001
#define BATCH	500

struct table {
	const char *name;
	int (*init)(void **ctx, uint64_t id, int *mask, const char *name, int nodes, int ranks,
		    int rank, void *log);
	int (*start)(void *ctx, void **handle, void *descr);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, void *args);
	int (*finalize)(void *ctx);
};

static int empty_start(void *ctx, void **handle, void *descr)
{
	(void)ctx;
	*handle = descr;
	return 0;
}

static int empty_stop(void *handle)
{
	(void)handle;
	return 0;
}

static int empty_record(void *handle, int state, void *args)
{
	(void)handle;
	(void)state;
	(void)args;
	return 0;
}

static const struct table empty = {
	.start = empty_start, .stop = empty_stop, .record = empty_record,
};

/* Behind a volatile pointer, so that the compiler cannot look into either. */
static const struct table *volatile tables[2] = { &empty };

struct descr {
	uint64_t type;
	void *parent;
	int rank, pad;
	int pid, channel, peer, steps, chunk_size, is_send;
	char rest[112 - 48];
};

static void *ctx;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void step(const struct table *t, struct descr *d)
{
	size_t args = 1 << 19;
	void *h;

	t->start(ctx, &h, d);
	t->record(h, 8, &args);
	t->record(h, 20, &args);
	t->record(h, 9, &args);
	t->stop(h);
}

static void op(const struct table *t, struct descr *d)
{
	struct descr s = { .type = 16 };

	t->start(ctx, &s.parent, d);
	step(t, &s);
	t->stop(s.parent);
}

static double round_of(void (*what)(const struct table *t, struct descr *d), int which,
		       struct descr *d)
{
	const struct table *t = tables[which];
	uint64_t begun = now_ns();

	for (int i = 0; i < BATCH; i++)
		what(t, d);
	return (double)(now_ns() - begun) / BATCH;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), compare);
	return v[ROUNDS / 2];
}

static void measure(const char *name, void (*what)(const struct table *t, struct descr *d),
		    struct descr *d)
{
	static double with[ROUNDS], without[ROUNDS];
	double a, b;

	for (int i = 0; i < ROUNDS; i++) {
		without[i] = round_of(what, 0, d);
		with[i] = round_of(what, 1, d);
	}
	a = median(with);
	b = median(without);
	printf("%s: %.1f ns, of which %.1f ns are calls of empty handlers\n", name, a, b);
}

static struct descr op_descr(void)
{
	return (struct descr){ .type = 8, .pid = getpid(), .peer = 1, .steps = 4,
			       .chunk_size = 1 << 20, .is_send = 1 };
}

/* Had it ignored everything, it would have been quick. */
static void must_be_seen(void)
{
	struct mlcc_ring_record r;

	while (fake_take(&r))
		if (r.type == MLCC_RING_PHASE_START)
			return;
	fprintf(stderr, "bench: no phase was announced\n");
	exit(1);
}

static void run(void)
{
	struct descr d = op_descr(), s = { .type = 16 };
	int asked;

	tables[1]->init(&ctx, 77, &asked, "bench", 2, 2, 0, NULL);
	if (asked != 24) {
		fprintf(stderr, "bench: the plugin asked for %d\n", asked);
		exit(1);
	}
	tables[1]->start(ctx, &s.parent, &d);
	measure("send step", step, &s);
	tables[1]->stop(s.parent);
	must_be_seen();
	measure("operation of one step", op, &d);
	tables[1]->finalize(ctx);
}

int main(int argc, char **argv)
{
	void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;

	tables[1] = lib ? dlsym(lib, "ncclProfiler_v5") : NULL;
	if (!tables[1]) {
		fprintf(stderr, "usage: bench PLUGIN\n");
		return 2;
	}
	setenv("MLCC_JOB", "bench", 1);
	fake_start(NULL, false);
	run();
	return 0;
}
