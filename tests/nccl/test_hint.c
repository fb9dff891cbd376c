// SPDX-License-Identifier: GPL-2.0
/* libmlcc-hint by its public header, as a training program uses it that is not NCCL. */
#include "../../userspace/libmlcc-hint/mlcc_hint.h"
#include "case.h"

#define MS	1000000ULL
#define SECOND	1000000000ULL

/* The clock of day is a tenth of a second behind a whole minute. */
static struct mlcc_hint *begin(void)
{
	struct mlcc_hint *h;

	fake_start(NULL, false);
	h = mlcc_hint_new(NULL);
	CHECK(h && !mlcc_hint_attach(h, 1000), "not attached");
	CHECK(fake_rings(1) == 1 && mlcc_hint_linked(h), "no ring");
	clock_set_wall_ns(1700000040 * SECOND + 100 * MS);
	return h;
}

static void iterate(struct mlcc_hint *h, uint64_t bytes)
{
	mlcc_hint_wait(h);
	mlcc_hint_start(h, bytes);
	clock_forward_ms(100);
	mlcc_hint_end(h);
	clock_forward_ms(900);
}

CASE(it_waits_for_its_slot, 7, 7)
{
	struct mlcc_hint *h = begin();
	struct mlcc_ring_record r = { };

	fake_plan(SECOND, 300 * MS);
	iterate(h, 5000);
	CHECK(clock_sleeps == 1 && clock_slept_ns == 200 * MS, "%d sleeps, %llu ns", clock_sleeps,
	      (unsigned long long)clock_slept_ns);
	CHECK(fake_take(&r) && r.type == MLCC_RING_PHASE_START && r.bytes == 5000, "no start");
	CHECK(fake_take(&r) && r.type == MLCC_RING_PHASE_END, "no end");
	/* in its slot from then on */
	iterate(h, 5000);
	CHECK(clock_sleeps == 1, "%d sleeps", clock_sleeps);
	mlcc_hint_free(h);
}

CASE(no_handle_says_and_waits_for_nothing, 7, 7)
{
	CHECK(mlcc_hint_attach(NULL, 1000) < 0, "attached");
	iterate(NULL, 5000);
	mlcc_hint_sent(NULL, 10);
	CHECK(!mlcc_hint_linked(NULL) && !mlcc_hint_sent_bytes(NULL), "it says something");
	CHECK(!clock_sleeps, "%d sleeps", clock_sleeps);
	mlcc_hint_free(NULL);
}

CASE(a_child_is_silent_and_does_not_wait, 7, 7)
{
	struct mlcc_hint *h = begin();
	struct mlcc_ring_record r;
	pid_t child;

	fake_plan(SECOND, 300 * MS);
	if (tap_child(&child)) {
		iterate(h, 5000);
		tap_exit(CHECK(!clock_sleeps, "%d sleeps", clock_sleeps));
	}
	tap_join(child, "the child");
	CHECK(!fake_take(&r), "it speaks");
	iterate(h, 5000);
	CHECK(fake_take(&r) && r.bytes == 5000, "its parent does not");
	mlcc_hint_free(h);
}

TAP_MAIN
