/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Each case in a process of its own, as the plugin stays in memory, and once for each version of the
 * interface that it is for.
 */
#ifndef TEST_CASE_H
#define TEST_CASE_H

#include <stdlib.h>
#include <string.h>

#include "../unit/tap.h"
#include "fake.h"
#include "nccl.h"

static inline void case_child(void (*body)(void), int version)
{
	unsetenv("MLCC_CHAIN_PLUGIN");
	unsetenv("MLCC_SHIFT");
	setenv("MLCC_JOB", "bert", 1);
	nccl_load(version);
	body();
}

static inline void case_run(void (*body)(void), int first, int last)
{
	for (int version = first; version <= last; version++) {
		pid_t child;

		if (tap_child(&child))
			tap_exit(case_child(body, version));
		tap_join(child, "version %d", version);
	}
}

#define CASE(name, first, last)				\
	static void name##_body(void);			\
	TEST(name)					\
	{						\
		case_run(name##_body, first, last);	\
	}						\
	static void name##_body(void)

/* What the cases are about: an all-reduce of 4 MiB over a ring of two nodes, on two channels. */
static const struct coll allreduce = {
	"AllReduce", "ncclFloat32", "RING", "SIMPLE", 1 << 20, 2, 77
};

/* One collective from begin to end; each of its operations sends @bytes.  Returns all of them. */
static inline uint64_t play_coll(const struct comm *c, const struct coll *what, size_t bytes)
{
	void *coll = nccl_coll(c, what);
	uint64_t sent = 0;
	struct op op[8];

	nccl_stop(coll);
	for (int i = 0; i < what->channels; i++)
		op[i] = nccl_op(c, coll, i, true);
	for (int i = 0; i < what->channels; i++) {
		nccl_progress(&op[i]);
		nccl_send(c, &op[i], bytes / 2);
		nccl_send(c, &op[i], bytes - bytes / 2);
		sent += bytes;
	}
	for (int i = 0; i < what->channels; i++)
		nccl_stop(op[i].handle);
	return sent;
}

/* Takes all records; returns the bytes of the last phase that began. */
static inline uint64_t last_start(void)
{
	struct mlcc_ring_record r;
	uint64_t bytes = 0;

	while (fake_take(&r))
		if (r.type == MLCC_RING_PHASE_START)
			bytes = r.bytes;
	return bytes;
}

/* That all is well, whatever came before: a phase is announced with the bytes of the one before. */
static inline void still_works(struct comm *c)
{
	uint64_t sent = 0, said;

	last_start();
	for (int i = 0; i < 2; i++) {
		clock_forward_ms(300);
		sent = play_coll(c, &allreduce, 123456);
	}
	said = last_start();
	CHECK(said == sent, "%llu bytes, not %llu", (unsigned long long)said,
	      (unsigned long long)sent);
}

#define EXPECT_START(n)									\
	do {										\
		struct mlcc_ring_record r = { };					\
		CHECK(fake_take(&r), "no record");					\
		CHECK(r.type == MLCC_RING_PHASE_START, "no start");			\
		CHECK(r.bytes == (uint64_t)(n), "%llu bytes, not %llu",			\
		      (unsigned long long)r.bytes, (unsigned long long)(n));		\
	} while (0)

#define EXPECT_END()									\
	do {										\
		struct mlcc_ring_record r = { };					\
		CHECK(fake_take(&r), "no record");					\
		CHECK(r.type == MLCC_RING_PHASE_END, "no end");				\
	} while (0)

#define EXPECT_NOTHING()								\
	do {										\
		struct mlcc_ring_record r = { };					\
		CHECK(!fake_take(&r), "a record of type %u, %llu bytes", r.type,	\
		      (unsigned long long)r.bytes);					\
	} while (0)

#endif /* TEST_CASE_H */
