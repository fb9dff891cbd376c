// SPDX-License-Identifier: GPL-2.0
/* When the rate of a job that sees no queue shows that it is not alone, and how long it defers then. */
#include "../../userspace/nccl-net/queue.h"
#include "random.h"
#include "tap.h"

#define CASES	200000U
#define GAP_US	100000U
#define RTT_US	100U
#define D	10000000ULL	/* bytes of a phase */
#define LINK	125ULL		/* bytes a us: 1 Gb/s */

/* A link, and a job on it. */
struct link {
	struct mlcc_queue q;
	u64 now;
	u64 acked;
	u64 end;	/* of the last hold */
};

/* Sends @bytes at 1/@share of the link, as an ACK for each 10,000; returns whether it defers. */
static bool sends(struct link *l, u64 bytes, u64 share)
{
	for (u64 sent = 0; sent < bytes; sent += 10000) {
		l->acked += 10000;
		l->now += 10000 * share / LINK;
		if (!mlcc_queue_sample(&l->q, l->now, l->acked, D, RTT_US))
			continue;
		mlcc_queue_defer(&l->q, l->now, l->acked, D);
		l->end = l->q.defer_until;
		return true;
	}
	return false;
}

static void turn(struct link *l)
{
	mlcc_queue_rollover(&l->q);
	l->now += GAP_US;
}

/* One that knows the link. */
static struct link known(void)
{
	struct link l = { .now = 1000000 };

	sends(&l, D, 1);
	turn(&l);
	return l;
}

/* Phases that lie on top of each other from the first to the last byte look like a slow link. */
TEST(who_does_not_know_the_link_does_not_hold_back)
{
	struct link l = { .now = 1000000 };

	for (u32 i = 0; i < 100; i++) {
		CHECK(!sends(&l, D, 3), "phase %u", i);
		turn(&l);
	}
}

TEST(who_was_there_first_goes_on)
{
	struct link l = known();

	for (u32 i = 0; i < 100; i++) {
		CHECK(!sends(&l, D / 2, 1), "phase %u, alone", i);
		CHECK(!sends(&l, D / 2, 3), "phase %u, joined by others", i);
		turn(&l);
	}
}

TEST(served_in_turn_it_holds_back)
{
	struct link l = known();

	for (u64 part = 16; part >= 8; part /= 2) {
		u64 us, want = D / LINK / part;

		CHECK(sends(&l, D, 2), "1/%ju", part);
		us = l.end - l.now;
		CHECK(us >= want / 2 - want / 20 && us <= want * 8 / 5, "1/%ju: %ju us", part, us);
		l.now = l.end;
	}
	CHECK(!sends(&l, D, 2), "for ever");
}

/* Slow for a while in @every phases; after deferring for less, if that @pays.  Phases that defer. */
static u32 defers(u32 every, bool pays)
{
	struct link l = known();
	u32 phases = 0;

	for (u32 i = 0; i < 48; i++) {
		u64 slow = l.acked + (i % every ? 0 : D * 3 / 4);
		bool deferred = false;

		while (l.acked < slow && sends(&l, slow - l.acked, 2)) {
			deferred = true;
			l.now = l.end;
			slow = pays ? l.acked : slow;
		}
		phases += deferred;
		CHECK(!sends(&l, D / 4, 1) && !sends(&l, D / 4, 2), "it has had the link");
		turn(&l);
	}
	return phases;
}

TEST(what_pays_goes_on)
{
	CHECK(defers(1, true) > 40, "%u phases of 48", defers(1, true));
}

TEST(what_does_not_pay_ends)
{
	CHECK(defers(1, false) < 9, "%u phases of 48", defers(1, false));
	CHECK(defers(2, false) < 9, "%u phases of 24", defers(2, false));
}

/* The link is half as fast from now on: that others are there is not believed for ever. */
TEST(a_slower_link_is_believed_in_the_end)
{
	struct link l = known();
	u32 phases = 0;

	l.q.fast = 0;
	while (phases < 100 && !l.q.fast) {
		turn(&l);
		while (sends(&l, D, 2))
			l.now = l.end;
		phases++;
	}
	CHECK(phases > 1 && phases < 20, "%u phases", phases);
}

/* A recovery ends: what arrived meanwhile is acknowledged at once. */
TEST(bytes_acknowledged_at_once_are_no_rate)
{
	struct link l = { .now = 1000000 };

	for (u32 i = 0; i < 100; i++) {
		u64 us;

		sends(&l, D / 2, 1);
		l.acked += D / 4;
		l.now += 1;
		sends(&l, D / 4, 1);
		us = mlcc_burst(D, l.q.byte_cost);
		CHECK(us > D / LINK * 9 / 10, "phase %u: %ju us", i, us);
		turn(&l);
	}
}

/* All holds of a phase together are less than the phase takes. */
TEST(nonsense_keeps_the_bounds)
{
	struct mlcc_queue q = { };
	u64 seed = 12;

	for (u32 i = 0; i < CASES; i++) {
		u64 now = random_magnitude(&seed) >> 1, acked = random_magnitude(&seed);
		u64 d = random_magnitude(&seed) >> 16, alone;

		if (mlcc_queue_sample(&q, now, acked, d, random_magnitude(&seed))) {
			alone = mlcc_burst(d, q.byte_cost);
			mlcc_queue_defer(&q, now, acked, d);
			CHECK(q.defer_until - now <= alone / 2, "%ju of %ju us",
			      q.defer_until - now, alone);
		}
		if (!(i & 31))
			mlcc_queue_rollover(&q);
		CHECK(q.deferrals <= MLCC_DEFERRALS, "%u deferrals", q.deferrals);
	}
}

TAP_MAIN

