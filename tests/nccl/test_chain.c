// SPDX-License-Identifier: GPL-2.0
/* MLCC_CHAIN_PLUGIN: $MLCC_SECOND has v3, v4, v5 and v7, $MLCC_SECOND_V4 has v4. */
#include <dlfcn.h>

#include "case.h"
#include "second.h"

static struct second_counts *counts;

static struct comm begin(const char *second, const char *its_mask)
{
	const char *path = getenv(second);
	void *lib = dlopen(path ? path : "", RTLD_NOW | RTLD_LOCAL);

	counts = lib ? dlsym(lib, "second_counts") : NULL;
	if (!counts) {
		printf("Bail out! %s: %s\n", second, dlerror());
		exit(1);
	}
	setenv("MLCC_CHAIN_PLUGIN", path, 1);
	setenv("SECOND_MASK", its_mask, 1);
	fake_start(NULL, false);
	return nccl_init(77, 2, 2);
}

static int expected_version(void)
{
	return nccl_version == 6 ? 5 : nccl_version;
}

CASE(both_get_what_they_ask_for, 3, 7)
{
	struct comm c = begin("MLCC_SECOND", "18");
	uint64_t sent;

	CHECK(nccl_mask == (MASK | 18), "mask %d", nccl_mask);
	sent = play_coll(&c, &allreduce, 1001);
	clock_forward_ms(50);
	sent += play_coll(&c, &allreduce, 1001);
	EXPECT_START(0);
	EXPECT_END();
	EXPECT_START(sent / 2);
	EXPECT_END();
	CHECK(counts->version == expected_version(), "called as version %d", counts->version);
	CHECK(counts->starts[1] == 2 && counts->starts[3] == 4, "%d collectives, %d operations",
	      counts->starts[1], counts->starts[3]);
	CHECK(counts->parents == 4 + counts->starts[4], "%d have parents", counts->parents);
	if (nccl_version > 3) {
		CHECK(counts->starts[4] == 8, "%d steps", counts->starts[4]);
		CHECK(counts->stops == 14, "%d stops", counts->stops);
		CHECK(counts->bytes == sent, "%llu bytes", (unsigned long long)counts->bytes);
	}
	nccl_finalize(&c);
	CHECK(counts->inits == 1 && counts->finalizes == 1, "%d inits, %d finalizes", counts->inits,
	      counts->finalizes);
	CHECK(!counts->wrong, "%d calls were wrong", counts->wrong);
}

CASE(an_older_one_is_called_by_its_version, 4, 7)
{
	struct comm c = begin("MLCC_SECOND_V4", "24");

	play_coll(&c, &allreduce, 1001);
	CHECK(counts->version == 4, "called as version %d", counts->version);
	CHECK(counts->starts[3] == 2 && counts->bytes == 2002, "%d operations, %llu bytes",
	      counts->starts[3], (unsigned long long)counts->bytes);
	/* what v4 does not know */
	nccl_stop(nccl_event(&c, 1 << 8, NULL));
	nccl_stop(nccl_event(&c, 1 << 15, NULL));
	for (int i = 8; i < 16; i++)
		CHECK(!counts->starts[i], "event %d", i);
	CHECK(!counts->wrong, "%d calls were wrong", counts->wrong);
}

CASE(what_it_did_not_ask_for_it_does_not_get, 3, 7)
{
	struct comm c = begin("MLCC_SECOND", "2");

	play_coll(&c, &allreduce, 1001);
	CHECK(counts->starts[1] == 1, "%d collectives", counts->starts[1]);
	CHECK(!counts->starts[3] && !counts->starts[4], "operations or steps");
	EXPECT_START(0);
	CHECK(!counts->wrong, "%d calls were wrong", counts->wrong);
}

CASE(it_works_without_mlccd, 3, 7)
{
	struct comm c;

	setenv("MLCC_JOB", "no name", 1);
	c = begin("MLCC_SECOND", "24");
	CHECK(nccl_mask == 24, "mask %d", nccl_mask);
	play_coll(&c, &allreduce, 1001);
	CHECK(counts->starts[1] == 1 && counts->starts[3] == 2, "%d collectives, %d operations",
	      counts->starts[1], counts->starts[3]);
	CHECK(!counts->wrong, "%d calls were wrong", counts->wrong);
}

CASE(operations_of_another_process_are_ours_only, 3, 7)
{
	struct comm c = begin("MLCC_SECOND", "24");
	struct op op;

	for (int i = 0; i < 2; i++) {
		op = nccl_op_pxn();
		nccl_send(&c, &op, 500);
		nccl_stop(op.handle);
		clock_forward_ms(50);
	}
	EXPECT_START(0);
	EXPECT_END();
	EXPECT_START(500);
	CHECK(!counts->starts[3], "%d operations", counts->starts[3]);
	CHECK(!counts->wrong, "%d calls were wrong", counts->wrong);
}

/* The oldest give up their places: each start is passed on, and each stop of one that has a place. */
CASE(many_events_are_no_harm, 4, 7)
{
	enum { MANY = 100000, PLACES = 65536 };
	struct comm c = begin("MLCC_SECOND", "24");
	static void *open[MANY];

	for (int i = 0; i < MANY; i++) {
		open[i] = nccl_coll(&c, &allreduce);
		CHECK(open[i], "event %d has no handle", i);
	}
	CHECK(counts->starts[1] == MANY && !counts->stops, "%d, %d", counts->starts[1], counts->stops);
	for (int twice = 0; twice < 2; twice++)
		for (int i = 0; i < MANY; i++)
			nccl_stop(open[i]);
	CHECK(counts->stops == PLACES, "%d stops", counts->stops);
	for (int i = 0; i < MANY; i++)
		nccl_stop(nccl_coll(&c, &allreduce));
	CHECK(counts->stops == PLACES + MANY, "%d stops", counts->stops);
	CHECK(!counts->wrong, "%d calls were wrong", counts->wrong);
	still_works(&c);
}

/* With steps that are never stopped: https://github.com/NVIDIA/nccl/issues/1658 */
CASE(bursts_of_operations, 3, 7)
{
	enum { MANY = 4000 };
	struct comm c = begin("MLCC_SECOND", "26");
	static struct op ops[MANY];

	for (int burst = 0; burst < 10; burst++) {
		for (int i = 0; i < MANY; i++) {
			ops[i] = nccl_op(&c, nccl_coll(&c, &allreduce), 0, true);
			for (int n = 0; n < 8; n++)
				nccl_event(&c, 16, ops[i].handle);
			nccl_send(&c, &ops[i], 10);
		}
		for (int i = 0; i < MANY; i++)
			nccl_stop(ops[i].handle);
	}
	still_works(&c);
	CHECK(!counts->wrong, "%d calls were wrong", counts->wrong);
}

/* What was open of a communicator that ends is nobody's: neither is told of it again. */
CASE(aborts_leave_events_open, 3, 7)
{
	enum { OPEN = 1000 };
	struct comm c = begin("MLCC_SECOND", "26"), aborted;
	static struct op ops[OPEN];
	int stops, records;

	for (int turn = 0; turn < 200; turn++) {
		aborted = nccl_init(77, 2, 2);
		for (int i = 0; i < OPEN; i++) {
			ops[i] = nccl_op(&aborted, nccl_coll(&aborted, &allreduce), 0, true);
			nccl_send(&aborted, &ops[i], 10);
		}
		nccl_finalize(&aborted);
	}
	stops = counts->stops;
	records = counts->records;
	for (int i = 0; i < OPEN; i++) {
		nccl_progress(&ops[i]);
		nccl_stop(ops[i].handle);
	}
	CHECK(counts->stops == stops && counts->records == records, "%d stops, %d records more",
	      counts->stops - stops, counts->records - records);
	still_works(&c);
	CHECK(!counts->wrong, "%d calls were wrong", counts->wrong);
}

static void cannot_be_had(const char *name)
{
	struct comm c;

	setenv("MLCC_CHAIN_PLUGIN", name, 1);
	fake_start(NULL, false);
	c = nccl_init(77, 2, 2);
	c = nccl_init(77, 2, 2);
	CHECK(nccl_warnings == 1, "%d warnings", nccl_warnings);
	CHECK(nccl_mask == MASK, "mask %d", nccl_mask);
	play_coll(&c, &allreduce, 1001);
	EXPECT_START(0);
}

CASE(one_that_cannot_be_had_is_a_warning, 4, 7)
{
	const char *names[] = { "/nonexistent.so", "no-such-plugin", getenv("MLCC_PLUGIN"), "libc.so.6" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		pid_t child;

		if (tap_child(&child))
			tap_exit(cannot_be_had(names[i]));
		tap_join(child, "%s", names[i]);
	}
}

CASE(one_whose_init_fails_is_left_out, 4, 7)
{
	struct comm c;

	setenv("SECOND_FAILS", "1", 1);
	c = begin("MLCC_SECOND", "2");
	CHECK(nccl_mask == MASK, "mask %d", nccl_mask);
	CHECK(nccl_warnings == 1, "%d warnings", nccl_warnings);
	play_coll(&c, &allreduce, 1001);
	EXPECT_START(0);
	nccl_finalize(&c);
	CHECK(!counts->starts[1] && !counts->finalizes, "it is called all the same");
}

TAP_MAIN
