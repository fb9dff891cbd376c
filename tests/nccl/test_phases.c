// SPDX-License-Identifier: GPL-2.0
/* Which phases are announced for what NCCL reports. */
#include "case.h"

static struct comm begin(const char *mask, int nodes, int ranks)
{
	setenv("MLCC_MASK", mask, 1);
	fake_start(NULL, false);
	return nccl_init(77, nodes, ranks);
}

CASE(the_mask_is_as_asked_for, 3, 7)
{
	static const struct {
		const char *asked;
		int v3, v4, warnings;
	} cases[] = {
		{ "8", 8, 8, 0 }, { "24", 8, 24, 0 }, { "0", 0, 0, 0 }, { "0x10", 8, 24, 0 },
		{ "72", 8, 8, 1 }, { "nonsense", 8, 8, 1 }, { "-1", 8, 8, 1 }, { "", 8, 8, 1 },
	};

	fake_start(NULL, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct comm c;

		setenv("MLCC_MASK", cases[i].asked, 1);
		c = nccl_init(77, 2, 2);
		CHECK(nccl_mask == (nccl_version == 3 ? cases[i].v3 : cases[i].v4), "%s: %d",
		      cases[i].asked, nccl_mask);
		CHECK(nccl_version == 3 || nccl_warnings == cases[i].warnings, "%s: %d warnings",
		      cases[i].asked, nccl_warnings);
		nccl_finalize(&c);
	}
}

CASE(a_phase_is_announced_with_the_bytes_of_the_last, 3, 7)
{
	struct comm c = begin("24", 2, 2);
	/* two ranks: each hands on 4 MiB, as two channels */
	uint64_t sent, first = nccl_version == 3 ? 0 : 4 << 20;

	sent = play_coll(&c, &allreduce, 3000001);
	EXPECT_START(first);
	EXPECT_NOTHING();
	CHECK(fake_woken(), "nobody was woken");
	for (int i = 0; i < 3; i++) {
		clock_forward_ms(100);
		play_coll(&c, &allreduce, 3000001);
		if (!i)
			EXPECT_END();
		EXPECT_START(sent);
		EXPECT_END();
		EXPECT_NOTHING();
		CHECK(fake_woken(), "nobody was woken");
	}
	nccl_finalize(&c);
	EXPECT_NOTHING();
}

CASE(with_operations_only_the_carrier_counts_the_bytes, 4, 7)
{
	struct comm c = begin("8", 2, 2);

	CHECK(nccl_mask == MASK_OPS, "mask %d", nccl_mask);
	play_coll(&c, &allreduce, 1000);
	EXPECT_START(0);
	for (int i = 0; i < 3; i++) {
		clock_forward_ms(100);
		play_coll(&c, &allreduce, 1000);
		if (!i)
			EXPECT_END();
		EXPECT_START(0);
		EXPECT_END();
		EXPECT_NOTHING();
	}
}

CASE(appended_is_not_begun, 3, 7)
{
	struct comm c = begin("24", 2, 2);
	void *coll = nccl_coll(&c, &allreduce);
	struct op op = nccl_op(&c, coll, 0, true);

	nccl_stop(coll);
	nccl_progress(&op);
	EXPECT_NOTHING();
	clock_forward_ms(500);
	EXPECT_NOTHING();
	nccl_send(&c, &op, 1);
	EXPECT_START(nccl_version == 3 ? 0 : 2 << 20);
}

CASE(silences_shorter_than_the_gap_end_nothing, 3, 7)
{
	struct comm c = begin("24", 2, 2);
	uint64_t sent = 0;

	for (int i = 0; i < 3; i++) {
		sent += play_coll(&c, &allreduce, 1000);
		clock_forward_ms(4);
	}
	EXPECT_START(nccl_version == 3 ? 0 : 4 << 20);
	EXPECT_NOTHING();
	clock_forward_ms(100);
	play_coll(&c, &allreduce, 1000);
	EXPECT_END();
	EXPECT_START(sent);
	EXPECT_NOTHING();
}

CASE(a_stall_within_an_operation_ends_nothing, 3, 7)
{
	struct comm c = begin("24", 2, 2);
	struct op op = nccl_op(&c, NULL, 0, true);

	nccl_send(&c, &op, 1000);
	clock_forward_ms(500);
	nccl_send(&c, &op, 1000);
	nccl_stop(op.handle);
	EXPECT_START(0);
	EXPECT_NOTHING();
	clock_forward_ms(50);
	op = nccl_op(&c, NULL, 0, true);
	nccl_send(&c, &op, 1);
	EXPECT_END();
	EXPECT_START(2000);
}

CASE(a_phase_that_goes_on_after_its_end_is_one, 3, 7)
{
	struct comm c = begin("24", 2, 2);
	uint64_t one = play_coll(&c, &allreduce, 1000);

	EXPECT_START(nccl_version == 3 ? 0 : 4 << 20);
	clock_forward_ms(100);
	play_coll(&c, &allreduce, 1000);
	EXPECT_END();
	EXPECT_START(one);
	EXPECT_END();
	/* as expected, so it was said to be over; but here is more of it */
	clock_forward_ms(2);
	play_coll(&c, &allreduce, 1000);
	EXPECT_NOTHING();
	clock_forward_ms(100);
	play_coll(&c, &allreduce, 1000);
	EXPECT_START(2 * one);
	EXPECT_NOTHING();
}

/* Two layers of one kind and a third of another begin alike. */
static uint64_t play_layer(const struct comm *c, int layer)
{
	static const struct coll scatter = {
		"ReduceScatter", "ncclBfloat16", "RING", "SIMPLE", 5000, 1, 77
	};
	uint64_t sent = play_coll(c, &allreduce, 1000);

	if (layer == 2)
		sent += play_coll(c, &scatter, 77777);
	clock_forward_ms(50);
	return sent;
}

CASE(phases_are_known_by_their_place_in_the_iteration, 3, 7)
{
	struct comm c = begin("24", 2, 2);
	uint64_t sent[3];

	for (int i = 0; i < 4; i++) {
		for (int layer = 0; layer < 3; layer++) {
			struct mlcc_ring_record r, start = { };

			sent[layer] = play_layer(&c, layer);
			while (fake_take(&r))
				if (r.type == MLCC_RING_PHASE_START)
					start = r;
			CHECK(i < 2 || start.bytes == sent[layer], "iteration %d layer %d: %llu", i,
			      layer, (unsigned long long)start.bytes);
		}
	}
}

CASE(only_what_leaves_the_node_counts, 3, 7)
{
	struct comm c = begin("24", 2, 2);
	struct comm local = nccl_init(78, 1, 1);
	struct op op;

	op = nccl_op(&c, nccl_coll(&c, &allreduce), 0, false);
	CHECK(!op.handle, "a receive operation has a handle");
	nccl_send(&c, &op, 5000);
	nccl_stop(op.handle);
	if (nccl_version > 3)
		play_coll(&local, &allreduce, 5000);
	EXPECT_NOTHING();
	play_coll(&c, &allreduce, 1000);
	clock_forward_ms(50);
	play_coll(&c, &allreduce, 1000);
	EXPECT_START(nccl_version == 3 ? 0 : 4 << 20);
	EXPECT_END();
	EXPECT_START(2000);
}

CASE(communicators_share_one_phase, 3, 7)
{
	struct comm a = begin("24", 2, 2), b = nccl_init(78, 2, 2);
	struct op x, y;

	for (int i = 0; i < 2; i++) {
		x = nccl_op(&a, nccl_coll(&a, &allreduce), 0, true);
		y = nccl_op(&b, nccl_p2p(&b, "Send", 3000, 1), 0, true);
		nccl_send(&a, &x, 1000);
		nccl_send(&b, &y, 3000);
		nccl_stop(x.handle);
		clock_forward_ms(20);
		nccl_send(&b, &y, 1);
		nccl_stop(y.handle);
		clock_forward_ms(50);
	}
	/* v4 does not tell the channels of a send */
	EXPECT_START(nccl_version > 4 ? (2 << 20) + 3000 : 0);
	EXPECT_END();
	EXPECT_START(4001);
	EXPECT_END();
	nccl_finalize(&a);
	play_coll(&b, &allreduce, 10);
	EXPECT_START(nccl_version == 3 ? 4001 : 4 << 20);
}

CASE(bytes_are_those_of_the_process, 4, 7)
{
	/* four ranks on two nodes, and only one of them here: first by the ring, then as measured */
	struct comm c = begin("24", 2, 4);

	for (int i = 0; i < 3; i++) {
		play_coll(&c, &allreduce, 1000);
		clock_forward_ms(50);
	}
	EXPECT_START(6 << 20);
	EXPECT_END();
	EXPECT_START(2000);
	EXPECT_END();
	EXPECT_START(2000);
	EXPECT_END();
}

CASE(operations_of_another_process_are_sent_from_here, 3, 7)
{
	struct comm c = begin("24", 2, 2);
	struct op op;

	for (int i = 0; i < 2; i++) {
		op = nccl_op_pxn();
		CHECK(op.handle, "no handle");
		nccl_progress(&op);
		nccl_send(&c, &op, 4444);
		nccl_stop(op.handle);
		clock_forward_ms(50);
	}
	EXPECT_START(0);
	EXPECT_END();
	EXPECT_START(4444);
	EXPECT_END();
}

CASE(formulas_are_for_rings_and_sends, 5, 7)
{
	static const struct {
		struct coll what;
		int ranks;
		uint64_t bytes;
	} cases[] = {
		{ { "AllReduce", "ncclFloat32", "RING", "SIMPLE", 1000, 2, 0 }, 4, 6000 },
		{ { "AllReduce", "ncclBfloat16", "RING", "LL", 1000, 1, 0 }, 4, 6000 },
		{ { "AllGather", "ncclInt8", "RING", "SIMPLE", 1000, 1, 0 }, 4, 3000 },
		{ { "ReduceScatter", "ncclFloat64", "RING", "LL128", 1500, 1, 0 }, 2, 12800 },
		{ { "AllReduce", "ncclFloat32", "TREE", "SIMPLE", 1000, 2, 0 }, 4, 0 },
		{ { "AllReduce", "ncclNew", "RING", "SIMPLE", 1000, 2, 0 }, 4, 0 },
		{ { "AllReduce", "ncclFloat32", "RING", "NEW", 1000, 2, 0 }, 4, 0 },
		{ { "Broadcast", "ncclInt8", "RING", "SIMPLE", 1000, 2, 0 }, 4, 0 },
		{ { NULL, NULL, NULL, NULL, SIZE_MAX, 2, 0 }, 4, 0 },
		{ { "AllReduce", "ncclFloat64", "RING", "SIMPLE", SIZE_MAX, 2, 0 }, 4, 0 },
		{ { "AllReduce", "ncclFloat32", "RING", "SIMPLE", 1000, 2, 0 }, 4, 6000 },
	};

	begin("24", 2, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct comm c = nccl_init(100 + i, cases[i].ranks, cases[i].ranks);
		struct mlcc_ring_record r, start = { };

		play_coll(&c, &cases[i].what, 10);
		while (fake_take(&r))
			if (r.type == MLCC_RING_PHASE_START)
				start = r;
		CHECK(start.bytes == cases[i].bytes, "case %zu: %llu", i,
		      (unsigned long long)start.bytes);
		nccl_finalize(&c);
		clock_forward_ms(200);
	}
}

CASE(the_first_phase_is_what_was_appended, 5, 7)
{
	struct comm c = begin("24", 2, 2);
	struct op op = nccl_op(&c, nccl_coll(&c, &allreduce), 0, true);

	nccl_op(&c, nccl_coll(&c, &allreduce), 0, true);
	nccl_send(&c, &op, 10);
	EXPECT_START(4 << 20);
}

/* Each begins a phase of its own size; none has a formula that would tell them apart. */
CASE(operations_are_told_apart, 3, 7)
{
	static const struct coll kinds[] = {
		{ "AllReduce", "ncclFloat32", "TREE", "LL", 1000, 1, 77 },
		{ "AllReduce", "ncclFloat32", "TREE", "LL", 1001, 1, 77 },
		{ "AllReduce", "ncclBfloat16", "TREE", "LL", 1000, 1, 77 },
		{ "Broadcast", "ncclFloat32", "TREE", "LL", 1000, 1, 77 },
		{ "AllReduce", "ncclFloat32", "TREE", "LL", 1000, 1, 78 },
	};
	struct comm c = begin("24", 2, 2), other = nccl_init(78, 2, 2);
	/* no iteration: the order is another each time */
	static const int order[] = { 0, 1, 2, 3, 4, 2, 0, 4, 1, 3 };

	for (int i = 0; i < 10; i++) {
		const struct coll *kind = &kinds[order[i]];
		struct mlcc_ring_record r, start = { };

		play_coll(kind->comm_id == 77 ? &c : &other, kind, 100 + order[i]);
		while (fake_take(&r))
			if (r.type == MLCC_RING_PHASE_START)
				start = r;
		CHECK(start.bytes == (i < 5 ? 0 : 100 + (uint64_t)order[i]), "phase %d: %llu", i,
		      (unsigned long long)start.bytes);
		clock_forward_ms(200);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(the_mask_is_as_asked_for),
		TAP_TEST(a_phase_is_announced_with_the_bytes_of_the_last),
		TAP_TEST(with_operations_only_the_carrier_counts_the_bytes),
		TAP_TEST(appended_is_not_begun),
		TAP_TEST(silences_shorter_than_the_gap_end_nothing),
		TAP_TEST(a_stall_within_an_operation_ends_nothing),
		TAP_TEST(a_phase_that_goes_on_after_its_end_is_one),
		TAP_TEST(phases_are_known_by_their_place_in_the_iteration),
		TAP_TEST(only_what_leaves_the_node_counts),
		TAP_TEST(communicators_share_one_phase),
		TAP_TEST(bytes_are_those_of_the_process),
		TAP_TEST(operations_of_another_process_are_sent_from_here),
		TAP_TEST(formulas_are_for_rings_and_sends),
		TAP_TEST(the_first_phase_is_what_was_appended),
		TAP_TEST(operations_are_told_apart),
	};

	return TAP_RUN(tests);
}
