// SPDX-License-Identifier: GPL-2.0
/*
 * What the plugin $MLCC_PLUGIN takes of NCCL's threads, in nanoseconds: a send step (start, three
 * states, stop), and an operation with one such step. Medians of rounds. One thread; NCCL's v5.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

#define ROUNDS	2001
#define BATCH	500

static const struct {
	const char *name;
	int (*init)(void **ctx, uint64_t id, int *mask, const char *name, int nodes, int ranks,
		    int rank, void *log);
	int (*start)(void *ctx, void **handle, void *descr);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, void *args);
	int (*finalize)(void *ctx);
} *plugin;

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

static void step(struct descr *d)
{
	size_t args = 1 << 19;
	void *h;

	plugin->start(ctx, &h, d);
	plugin->record(h, 8, &args);
	plugin->record(h, 20, &args);
	plugin->record(h, 9, &args);
	plugin->stop(h);
}

static void op(struct descr *d)
{
	struct descr s = { .type = 16 };

	plugin->start(ctx, &s.parent, d);
	step(&s);
	plugin->stop(s.parent);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *name, void (*what)(struct descr *d), struct descr *d)
{
	static double took[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begun = now_ns();

		for (int k = 0; k < BATCH; k++)
			what(d);
		took[i] = (double)(now_ns() - begun) / BATCH;
	}
	qsort(took, ROUNDS, sizeof(*took), compare);
	printf("%s: %.1f ns\n", name, took[ROUNDS / 2]);
}

int main(void)
{
	struct descr d = { .type = 8, .pid = getpid(), .peer = 1, .steps = 4, .chunk_size = 1 << 20,
			   .is_send = 1 }, s = { .type = 16 };
	void *lib = dlopen(getenv("MLCC_PLUGIN"), RTLD_NOW);
	struct mlcc_ring_record r;
	int asked;

	plugin = lib ? dlsym(lib, "ncclProfiler_v5") : NULL;
	if (!plugin)
		return 1;
	setenv("MLCC_JOB", "bench", 1);
	fake_start(NULL, false);
	plugin->init(&ctx, 77, &asked, "bench", 2, 2, 0, NULL);
	plugin->start(ctx, &s.parent, &d);
	measure("send step", step, &s);
	plugin->stop(s.parent);
	/* had it ignored everything, it would have been quick */
	if (asked != 24 || !fake_take(&r)) {
		fprintf(stderr, "bench: no phase was announced\n");
		return 1;
	}
	measure("operation of one step", op, &d);
	plugin->finalize(ctx);
	return 0;
}
