// SPDX-License-Identifier: GPL-2.0
/* Which phases are announced for what NCCL reports. */
#include "case.h"

static struct comm begin(int nodes, int ranks)
{
	fake_start(NULL, false);
	return nccl_init(77, nodes, ranks);
}

CASE(a_phase_is_announced_with_the_bytes_of_the_last, 3, 7)
{
	struct comm c = begin(2, 2);
	uint64_t sent;

	sent = play_coll(&c, &allreduce, 3000001);
	EXPECT_START(0);
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
	CHECK(fake_ring()->sent_bytes == 4 * sent && fake_ring()->start_bytes == 3 * sent,
	      "%llu bytes, %llu at the start", (unsigned long long)fake_ring()->sent_bytes,
	      (unsigned long long)fake_ring()->start_bytes);
	nccl_finalize(&c);
	EXPECT_NOTHING();
}

CASE(appended_is_not_begun, 3, 7)
{
	struct comm c = begin(2, 2);
	void *coll = nccl_coll(&c, &allreduce);
	struct op op = nccl_op(&c, coll, 0, true);

	nccl_stop(coll);
	nccl_progress(&op);
	EXPECT_NOTHING();
	clock_forward_ms(500);
	EXPECT_NOTHING();
	nccl_send(&c, &op, 1);
	EXPECT_START(0);
}

CASE(silences_shorter_than_the_gap_end_nothing, 3, 7)
{
	struct comm c = begin(2, 2);
	uint64_t sent = 0;

	for (int i = 0; i < 3; i++) {
		sent += play_coll(&c, &allreduce, 1000);
		clock_forward_ms(4);
	}
	EXPECT_START(0);
	EXPECT_NOTHING();
	clock_forward_ms(100);
	play_coll(&c, &allreduce, 1000);
	EXPECT_END();
	EXPECT_START(sent);
	EXPECT_NOTHING();
}

CASE(a_phase_that_goes_on_after_its_end_is_one, 3, 7)
{
	struct comm c = begin(2, 2);
	uint64_t one = play_coll(&c, &allreduce, 1000);

	EXPECT_START(0);
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
	struct comm c = begin(2, 2);
	uint64_t sent[3];

	for (int i = 0; i < 4; i++) {
		for (int layer = 0; layer < 3; layer++) {
			uint64_t said;

			sent[layer] = play_layer(&c, layer);
			said = last_start();
			CHECK(i < 2 || said == sent[layer], "iteration %d layer %d: %llu", i, layer,
			      (unsigned long long)said);
		}
	}
}

CASE(only_what_leaves_the_node_counts, 3, 7)
{
	struct comm c = begin(2, 2);
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
	EXPECT_START(0);
	EXPECT_END();
	EXPECT_START(2000);
}

CASE(communicators_share_one_phase, 3, 7)
{
	struct comm a = begin(2, 2), b = nccl_init(78, 2, 2);
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
	EXPECT_START(0);
	EXPECT_END();
	EXPECT_START(4001);
	EXPECT_END();
	nccl_finalize(&a);
	play_coll(&b, &allreduce, 10);
	EXPECT_START(nccl_version == 3 ? 4001 : 0);
}

/* Each begins a phase of its own size. */
CASE(operations_are_told_apart, 3, 7)
{
	static const struct coll kinds[] = {
		{ "AllReduce", "ncclFloat32", "TREE", "LL", 1000, 1, 77 },
		{ "AllReduce", "ncclFloat32", "TREE", "LL", 1001, 1, 77 },
		{ "AllReduce", "ncclBfloat16", "TREE", "LL", 1000, 1, 77 },
		{ "Broadcast", "ncclFloat32", "TREE", "LL", 1000, 1, 77 },
		{ "AllReduce", "ncclFloat32", "TREE", "LL", 1000, 1, 78 },
	};
	struct comm c = begin(2, 2), other = nccl_init(78, 2, 2);
	/* no iteration: the order is another each time */
	static const int order[] = { 0, 1, 2, 3, 4, 2, 0, 4, 1, 3 };

	for (int i = 0; i < 10; i++) {
		const struct coll *kind = &kinds[order[i]];
		uint64_t said;

		play_coll(kind->comm_id == 77 ? &c : &other, kind, 100 + order[i]);
		said = last_start();
		CHECK(said == (i < 5 ? 0 : 100 + (uint64_t)order[i]), "phase %d: %llu", i,
		      (unsigned long long)said);
		clock_forward_ms(200);
	}
}

TAP_MAIN
