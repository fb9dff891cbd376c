// SPDX-License-Identifier: GPL-2.0
/*
 * What the plugin $MLCC_PLUGIN takes of NCCL's threads, in nanoseconds: a send step (start, three
 * states, stop), and an operation with one such step. Medians of rounds. One thread; NCCL's v5.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../userspace/libmlcc-hint/clock.h"
#include "../../userspace/nccl/abi.h"
#include "fake.h"

#define ROUNDS	2001
#define BATCH	500

static const struct profiler *plugin;
static void *ctx;

static void step(struct descr *d)
{
	struct state_args args = { 1 << 19 };
	void *h;

	plugin->start(ctx, &h, d);
	plugin->record(h, 8, &args);
	plugin->record(h, 20, &args);
	plugin->record(h, ST_SEND_WAIT, &args);
	plugin->stop(h);
}

static void op(struct descr *d)
{
	struct descr s = { .type = EV_PROXY_STEP };

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
		uint64_t begun = clock_now_ns();

		for (int k = 0; k < BATCH; k++)
			what(d);
		took[i] = (double)(clock_now_ns() - begun) / BATCH;
	}
	qsort(took, ROUNDS, sizeof(*took), compare);
	printf("%s: %.1f ns\n", name, took[ROUNDS / 2]);
}

int main(void)
{
	struct descr s = { .type = EV_PROXY_STEP }, d = {
		.type = EV_PROXY_OP,
		.op = { .pid = getpid(), .peer = 1, .steps = 4, .chunk_size = 1 << 20,
			.is_send = 1 },
	};
	void *lib = dlopen(getenv("MLCC_PLUGIN"), RTLD_NOW);
	struct mlcc_ring_record r;
	int asked;

	plugin = lib ? dlsym(lib, "ncclProfiler_v5") : NULL;
	if (!plugin)
		return 1;
	setenv("MLCC_JOB", "bench", 1);
	fake_start(NULL, false);
	plugin->init.v5(&ctx, 77, &asked, "bench", 2, 2, 0, NULL);
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
