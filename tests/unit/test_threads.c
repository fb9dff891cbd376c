// SPDX-License-Identifier: GPL-2.0
/*
 * Flows of one job on many CPUs, for ThreadSanitizer: no byte is lost, and what is not atomic is
 * touched by one thread at a time.
 */
#include <pthread.h>
#include <stdlib.h>

/* ThreadSanitizer does not take volatile for an agreement between threads. */
#define MLCC_READ(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define MLCC_WRITE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

#include "../../include/mlcc/flow.h"
#include "random.h"
#include "tap.h"

#define THREADS	4
#define ACKS	200000
#define ACK_US	7
#define GAP_US	50000

struct worker {
	pthread_t thread;
	struct mlcc_job *job;
	u64 seed;
	u64 bytes;		/* that it has acknowledged */
	u32 turns;		/* phases that it has begun */
	u32 bad;		/* results that are no progress */
	bool starts;		/* begins phases now and then, as a flow does after a silence */
};

static u64 clock_us;

static void *work(void *arg)
{
	struct worker *w = arg;

	for (u32 i = 0; i < ACKS; i++) {
		u32 bytes = 1 + random_below(&w->seed, 65536), p;
		u64 now = __atomic_add_fetch(&clock_us, ACK_US, __ATOMIC_RELAXED);

		if (w->starts && i % 1000 == 999) {
			now = __atomic_add_fetch(&clock_us, GAP_US, __ATOMIC_RELAXED);
			w->turns += mlcc_job_tx_start(w->job, now, 100);
		}
		p = mlcc_job_acked(w->job, bytes, now);
		w->bad += p > MLCC_ONE && p != MLCC_NEUTRAL;
		w->bytes += bytes;
	}
	return NULL;
}

/* Returns the bytes of all workers. */
static u64 run_workers(struct worker *w, struct mlcc_job *job, u32 starters)
{
	u64 bytes = 0;

	clock_us = 1000000;
	for (u32 i = 0; i < THREADS; i++) {
		w[i] = (struct worker) { .job = job, .seed = i + 1, .starts = i < starters };
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			abort();
	}
	for (u32 i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		bytes += w[i].bytes;
		CHECK(!w[i].bad, "thread %u: %u results out of range", i, w[i].bad);
	}
	return bytes;
}

/* None of the flows begins phases, one does, all do. */
TEST(on_all_cpus_no_byte_is_lost_and_one_flow_begins_a_phase)
{
	for (u32 starters = 0; starters <= THREADS; starters = starters ? starters * THREADS : 1) {
		struct mlcc_job job = { };
		struct worker w[THREADS];
		u64 bytes = run_workers(w, &job, starters);
		u32 turns = 0;

		for (u32 i = 0; i < THREADS; i++)
			turns += w[i].turns;
		CHECK(job.acked == bytes, "%ju, not %ju", job.acked, bytes);
		CHECK(job.start_acked <= job.acked, "a phase began at %ju of %ju", job.start_acked,
		      job.acked);
		CHECK(job.seq == turns, "%u phases, %u flows were told of one", job.seq, turns);
		CHECK(!starters || turns > 1, "no phase has begun");
		CHECK(!job.busy, "the try-lock is still held");
	}
}

TAP_MAIN
