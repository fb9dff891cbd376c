// SPDX-License-Identifier: GPL-2.0
/* How long ACKs have waited on their way back, from the timestamps of a peer made up here. */
#include "../../include/mlcc/flow.h"
#include "random.h"
#include "tap.h"

#define FORWARD_US	40U
#define BACK_US		30U
#define MIN_RTT_US	(FORWARD_US + BACK_US)
#define MS		1000U

/* The peer's clock: @tick us by our time, which we take for @unit; and where it stands. */
struct peer {
	u32 tick;
	u32 unit;
	u64 offset;	/* us */
};

static const struct peer in_ms = { 1000, 1000, 123456789 };

/* An ACK that the peer sends at @at, for data that waited @data us, and that waits @wait us. */
static u32 ack(struct mlcc_reverse *r, const struct peer *p, u64 at, u32 data, u32 wait)
{
	const struct mlcc_ack a = {
		.now = at + BACK_US + wait,
		.rtt = MIN_RTT_US + data + wait,
		.min_rtt = MIN_RTT_US,
		.tsval = (at + p->offset) / p->tick,
		.tick = p->unit,
	};

	return mlcc_reverse(r, &a);
}

/* Queues of @data and @wait us for @ms milliseconds from @at on, an ACK every 100 us or so. */
static u32 acks(struct mlcc_reverse *r, const struct peer *p, u64 at, u32 ms, u32 data, u32 wait)
{
	u64 seed = 3, end = at + ms * MS;
	u32 got = 0;

	for (; at < end; at += 80 + random_below(&seed, 40))
		got = ack(r, p, at, data, wait);
	return got;
}

TEST(the_wait_of_acks_is_told_from_that_of_data)
{
	struct mlcc_reverse r = { };
	u32 got;

	got = acks(&r, &in_ms, 0, 20, 0, 0);
	CHECK(got <= 16, "empty: %u", got);
	got = acks(&r, &in_ms, 20 * MS, 20, 5000, 0);
	CHECK(got <= 130, "data wait: %u", got);
	got = acks(&r, &in_ms, 40 * MS, 20, 0, 5000);
	CHECK(got <= 5000 + 130 && got >= 5000 - 130, "ACKs wait: %u", got);
	got = acks(&r, &in_ms, 60 * MS, 20, 3000, 2000);
	CHECK(got <= 2000 + 130 && got >= 2000 - 130, "both: %u", got);
}

TEST(microseconds_are_exact_at_once)
{
	const struct peer p = { 1, 1, 99 };
	struct mlcc_reverse r = { };
	u64 seed = 4;

	ack(&r, &p, 0, 0, 0);
	for (u32 i = 1; i < 1000; i++) {
		u32 was = random_below(&seed, 9000), wait = random_below(&seed, 9000), got;

		ack(&r, &p, i * 50000, 0, was < wait ? was : wait);
		got = ack(&r, &p, i * 50000 + 9000, random_below(&seed, 9000), wait);
		CHECK(got <= wait + 1 && got + 17 >= wait, "%u of %u", got, wait);
	}
}

/* And nothing of a peer without timestamps: a tick of 0. */
TEST(never_more_than_the_round_trip_allows)
{
	struct mlcc_reverse r = { };
	u64 seed = 5;

	for (u32 i = 0; i < 1000000; i++) {
		const struct mlcc_ack a = {
			.now = random_magnitude(&seed),
			.rtt = random_magnitude(&seed),
			.min_rtt = random_magnitude(&seed) & 0xffff,
			.tsval = random_magnitude(&seed),
			.tick = random_below(&seed, 3) * 500,
		};
		u32 got;

		/* doubts about the clock would hide the rest */
		r.odd = 0;
		got = mlcc_reverse(&r, &a);

		CHECK(!got || (a.tick && got <= a.rtt - a.min_rtt), "%u of %u over %u", got, a.rtt,
		      a.min_rtt);
	}
}

/* A clock in another unit than Linux has: no wait is made up from it for long. */
TEST(a_clock_at_another_rate_is_not_believed)
{
	static const u32 ticks[] = { 1, 100, 500, 2000, 4000, 10000 };

	for (u32 i = 0; i < sizeof(ticks) / sizeof(*ticks); i++) {
		const struct peer p = { ticks[i], 1000, 77777777 };
		struct mlcc_reverse r = { };
		u32 got;

		acks(&r, &p, 0, 500, 3000, 0);
		got = acks(&r, &p, 500 * MS, 500, 3000, 0);
		CHECK(!got, "a tick of %u us: %u", ticks[i], got);
	}
}

/* Clocks drift apart by 100 ppm; every second the queues are empty for a moment. */
TEST(drift_is_followed)
{
	for (int ppm = -100; ppm <= 100; ppm += 200) {
		struct mlcc_reverse r = { };
		struct peer p = in_ms;
		u32 got = 0;

		for (u64 at = 0; at < 600 * 1000 * MS; at += 1000 * MS) {
			p.offset += 1000 * ppm / 1000;
			acks(&r, &p, at, 10, 0, 0);
			mlcc_reverse_silence(&r);
			got = acks(&r, &p, at + 500 * MS, 20, 3000, 1000);
			CHECK(got <= 1300 && got >= 700, "%d ppm, after %ju s: %u", ppm,
			      at / 1000000, got);
		}
	}
}

TEST(a_silence_ends_what_was)
{
	struct mlcc_reverse r = { };
	u32 got;

	acks(&r, &in_ms, 0, 20, 0, 0);
	acks(&r, &in_ms, 20 * MS, 20, 0, 5000);
	mlcc_reverse_silence(&r);
	got = ack(&r, &in_ms, 900 * MS, 5000, 0);
	CHECK(got <= 130, "%u", got);
}

TAP_MAIN
