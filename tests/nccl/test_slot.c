// SPDX-License-Identifier: GPL-2.0
/* Which phases wait for the slot of a plan, for how long, and what goes on meanwhile. */
#include <pthread.h>
#include <stdatomic.h>

#include "../../userspace/libmlcc-hint/clock.h"
#include "../../userspace/libmlcc-hint/shift_ring.h"
#include "case.h"

#define MS	1000000ULL
#define SECOND	1000000000ULL

static struct comm comm;		/* what clock_asleep() works on */

/* The clock of day is @wall_ms behind a whole minute, and so behind a whole period. */
static struct comm begin(uint64_t wall_ms)
{
	fake_start(NULL, false);
	comm = nccl_init(77, 2, 2);
	CHECK(fake_rings(1) == 1, "no ring");
	clock_set_wall_ns(1700000040 * SECOND + wall_ms * MS);
	return comm;
}

static void play_phases(const struct comm *c, int n, unsigned int gap_ms)
{
	while (n--) {
		play_coll(c, &allreduce, 1000);
		clock_forward_ms(gap_ms);
		last_start();
	}
}

static void check_said(uint32_t state, uint32_t waits)
{
	const struct mlcc_ring_said *said = &fake_ring()->shift_said;

	CHECK(said->state == state, "state %u, not %u", said->state, state);
	CHECK(said->waits == waits, "%u waits, not %u", said->waits, waits);
}

CASE(a_phase_waits_for_its_slot, 3, 7)
{
	struct comm c = begin(100);
	struct mlcc_ring_record r = { };
	uint64_t before = clock_now_ns(), sent;

	CHECK(strstr(fake_request(true), "\"job\":7"), "%s", fake_request(true));
	fake_plan(SECOND, 300 * MS);
	sent = play_coll(&c, &allreduce, 1000);
	CHECK(clock_sleeps == 1 && clock_slept_ns == 200 * MS, "%d sleeps, %llu ns", clock_sleeps,
	      (unsigned long long)clock_slept_ns);
	CHECK(fake_take(&r) && r.type == MLCC_RING_PHASE_START, "no start");
	CHECK(r.time_ns == before + 200 * MS, "announced %lld ns later",
	      (long long)(r.time_ns - before));
	EXPECT_NOTHING();
	check_said(MLCC_SHIFT_HELD, 1);
	CHECK(fake_ring()->shift_said.error_ns == -200 * (int64_t)MS, "error %lld",
	      (long long)fake_ring()->shift_said.error_ns);
	/* the next one is in its slot, and is told with all bytes of this one */
	clock_forward_ms(1000);
	play_coll(&c, &allreduce, 1000);
	EXPECT_END();
	EXPECT_START(sent);
	EXPECT_END();
	CHECK(clock_sleeps == 1, "%d sleeps", clock_sleeps);
	check_said(MLCC_SHIFT_HELD, 1);
	/* a plan that is taken away is none */
	fake_plan(0, 0);
	clock_forward_ms(100000);
	play_phases(&c, 5, 1100);
	CHECK(clock_sleeps == 1, "%d sleeps", clock_sleeps);
	check_said(MLCC_SHIFT_NONE, 1);
}

CASE(a_setting_turns_it_off, 3, 7)
{
	struct comm c;

	setenv("MLCC_SHIFT", "0", 1);
	c = begin(100);
	CHECK(!strstr(fake_request(true), "\"job\""), "%s", fake_request(true));
	fake_plan(SECOND, 300 * MS);
	play_phases(&c, 5, 1000);
	CHECK(!clock_sleeps, "%d sleeps", clock_sleeps);
	check_said(MLCC_SHIFT_NONE, 0);
	CHECK(!fake_ring()->shift_said.period_ns, "it says something");
}

CASE(a_job_of_another_period_goes_at_once, 3, 7)
{
	struct comm c = begin(100);

	play_phases(&c, MLCC_SHIFT_ENOUGH + 1, 1000);
	fake_plan(700 * MS, 0);
	play_phases(&c, 10, 1000);
	CHECK(!clock_sleeps, "%d sleeps", clock_sleeps);
	check_said(MLCC_SHIFT_OTHER_PERIOD, 0);
	fake_plan(1300 * MS, 0);
	play_phases(&c, 10, 1000);
	CHECK(!clock_sleeps, "%d sleeps", clock_sleeps);
	check_said(MLCC_SHIFT_OTHER_PERIOD, 0);
}

static atomic_bool enough;

static void *write_plans(void *arg)
{
	while (!atomic_load(&enough)) {
		fake_plan(SECOND, 100 * MS);
		fake_plan(2 * SECOND, 1500 * MS);
	}
	return NULL;
}

CASE(two_plans_are_never_mixed, 7, 7)
{
	pthread_t writer;
	int whole = 0;

	begin(100);
	CHECK(!pthread_create(&writer, NULL, write_plans, NULL), "no thread");
	/* until the writer has been met often enough; alarm() ends what never ends */
	while (whole < 50000) {
		struct mlcc_shift p = { };

		mlcc_shift_read(&p, fake_ring(), false);
		whole += p.period != 0;
		CHECK(!p.period || (p.period == SECOND && p.offset == 100 * MS) ||
		      (p.period == 2 * SECOND && p.offset == 1500 * MS), "%llu, %llu",
		      (unsigned long long)p.period, (unsigned long long)p.offset);
	}
	atomic_store(&enough, true);
	pthread_join(writer, NULL);
}

static void mlccd_dies(void)
{
	fake_kill();
}

CASE(mlccd_may_die_meanwhile, 3, 7)
{
	struct comm c = begin(100);

	fake_plan(SECOND, 300 * MS);
	clock_asleep = mlccd_dies;
	play_coll(&c, &allreduce, 1000);
	clock_asleep = NULL;
	EXPECT_NOTHING();
	CHECK(clock_sleeps == 1, "%d sleeps", clock_sleeps);
	CHECK(nccl_version == 3 || nccl_warnings == 1, "%d warnings", nccl_warnings);
	/* what it has left in the ring is nobody's plan any more */
	clock_forward_ms(100000);
	play_phases(&c, 5, 1100);
	CHECK(clock_sleeps == 1, "%d sleeps", clock_sleeps);
	fake_start(NULL, true);
	clock_forward_ms(3000);
	play_phases(&c, 1, 100);
	CHECK(fake_rings(2) == 2, "no second ring");
	CHECK(strstr(fake_request(true), "\"job\":7"), "%s", fake_request(true));
}

static struct comm other;

/* Neither events of other threads nor inits and finalizes wait for who sleeps. */
static void others_go_on(void)
{
	struct comm third = nccl_init(79, 2, 2);

	clock_asleep = NULL;
	play_coll(&other, &allreduce, 5000);
	nccl_finalize(&third);
	EXPECT_NOTHING();
	CHECK(clock_sleeps == 1, "%d sleeps", clock_sleeps);
}

CASE(nobody_waits_for_who_sleeps, 3, 7)
{
	struct comm c = begin(100);

	other = nccl_init(78, 2, 2);
	fake_plan(SECOND, 300 * MS);
	clock_asleep = others_go_on;
	play_coll(&c, &allreduce, 1000);
	CHECK(clock_sleeps == 1, "%d sleeps", clock_sleeps);
	EXPECT_START(0);
	EXPECT_NOTHING();
	clock_forward_ms(1000);
	play_coll(&c, &allreduce, 1000);
	EXPECT_END();
	/* what the other one has sent before the slot is the phase's */
	EXPECT_START(2 * 5000 + 2 * 1000);
}

static void it_ends(void)
{
	clock_asleep = NULL;
	nccl_finalize(&comm);
}

CASE(the_communicators_may_end_meanwhile, 3, 7)
{
	struct op op;

	begin(0);
	fake_plan(SECOND, 300 * MS);
	clock_asleep = it_ends;
	op = nccl_op(&comm, NULL, 0, true);
	nccl_send(&comm, &op, 10);
	CHECK(clock_sleeps == 1, "%d sleeps", clock_sleeps);
	EXPECT_NOTHING();
	comm = nccl_init(77, 2, 2);
	clock_forward_ms(1000);
	play_coll(&comm, &allreduce, 1000);
	EXPECT_START(0);
}

TAP_MAIN
