// SPDX-License-Identifier: GPL-2.0
/* The least round-trip time of a job's paths: what makes it go down, and what makes it go up. */
#include "../../include/mlcc/flow.h"
#include "random.h"
#include "tap.h"

#define PEER	7U
#define RTT_US	100U
#define QUEUE_US	8000U

/* A round trip to @peer, of whom the socket knows @known as the least. */
static u32 rtt_of(struct mlcc_path *p, u32 peer, u32 rtt, u32 known, u32 seq)
{
	const struct mlcc_ack a = { .rtt = rtt, .srtt = rtt, .min_rtt = known, .peer = peer };

	return mlcc_path_rtt(p, &a, seq);
}

/* A phase over @p: round trips between @from and @to. */
static void phase(struct mlcc_path *p, u32 *seq, u32 from, u32 to, bool lost)
{
	static u64 seed = 1;

	++*seq;
	if (lost)
		mlcc_path_anew(p);
	mlcc_path_phase(p, *seq);
	for (u32 i = 0; i < 50; i++)
		rtt_of(p, PEER, from + random_below(&seed, to - from + 1), from, *seq);
}

static struct mlcc_path known(u32 *seq)
{
	struct mlcc_path p = { };

	phase(&p, seq, RTT_US, 10 * RTT_US, false);
	mlcc_path_anew(&p);	/* the queue was empty */
	return p;
}

/* The socket knows only the queue that it was opened behind; the job has been there before. */
static void who_is_born_in_a_queue_knows_the_path(void)
{
	u32 seq = 0;
	struct mlcc_path p = known(&seq);

	CHECK(rtt_of(&p, PEER, QUEUE_US, QUEUE_US, seq) == RTT_US, "%u us", p.min_rtt);
}

/* The kernel's own least RTT is forgotten after five minutes: thousands of phases. */
static void beside_a_long_transfer_the_path_stays_short(void)
{
	u32 seq = 0;
	struct mlcc_path p = known(&seq);

	for (u32 i = 0; i < 3000; i++) {
		phase(&p, &seq, QUEUE_US / 2, QUEUE_US, i % 5 == 0);
		CHECK(p.min_rtt == RTT_US, "phase %u: %u us", i, p.min_rtt);
	}
}

static void a_path_that_has_become_longer_is_believed(void)
{
	u32 seq = 0, phases = 0;
	struct mlcc_path p = known(&seq);

	while (p.min_rtt == RTT_US && phases < 100) {
		phase(&p, &seq, 20 * RTT_US, 30 * RTT_US, false);
		phases++;
	}
	CHECK(phases > MLCC_PATH_PHASES && phases < 2 * MLCC_PATH_PHASES, "after %u phases", phases);
	CHECK(p.min_rtt >= 20 * RTT_US && p.min_rtt < 22 * RTT_US, "%u us", p.min_rtt);
}

static void a_shorter_path_is_believed_at_once(void)
{
	u32 seq = 0;
	struct mlcc_path p = known(&seq);

	CHECK(rtt_of(&p, PEER, RTT_US / 2, RTT_US, seq) == RTT_US / 2, "%u us", p.min_rtt);
}

/* The least of a path of 10 ms after @few round trips of 5 ms and as many of 10 ms. */
static u32 least_after(u32 few)
{
	struct mlcc_path p = { };
	u32 srtt = 10000, seq = 0;

	rtt_of(&p, PEER, srtt, srtt, seq);
	for (u32 i = 0; i < 2 * few; i++) {
		struct mlcc_ack a = { .rtt = i < few ? 5000 : 10000, .peer = PEER };

		srtt = (7 * srtt + a.rtt) / 8;
		a.srtt = srtt;
		mlcc_path_rtt(&p, &a, seq);
	}
	return p.min_rtt;
}

static void who_overtakes_is_no_shorter_path(void)
{
	CHECK(least_after(1) > 9000, "one packet: %u us", least_after(1));
	CHECK(least_after(40) < 5100, "all of them: %u us", least_after(40));
}

static void another_peer_takes_the_place(void)
{
	u32 seq = 0;
	struct mlcc_path p = known(&seq);

	CHECK(rtt_of(&p, PEER + MLCC_PATHS, 900, 700, seq) == 700, "%u us", p.min_rtt);
	CHECK(rtt_of(&p, PEER, 300, 200, seq) == 200, "%u us", p.min_rtt);
}

/* Addresses of one subnet are spread over the table. */
static void neighbours_have_places_of_their_own(void)
{
	struct mlcc_path table[MLCC_PATHS];
	u32 taken = 0, places = 0;

	for (u32 host = 1; host <= 64; host++) {
		u32 peer = mlcc_path_peer(0x0100000a, host << 24 | 10);

		CHECK(peer, "host %u has none", host);
		taken |= 1U << (mlcc_path_to(table, peer) - table);
	}
	for (; taken; taken &= taken - 1)
		places++;
	CHECK(places == MLCC_PATHS, "%u places", places);
}

/* Nothing is ever below the least round trip that there was, nor above the longest. */
static void nonsense_keeps_the_bounds(void)
{
	struct mlcc_path p = { };
	u64 seed = 3;

	for (u32 i = 0; i < 1000000; i++) {
		u32 rtt = 10 + random_below(&seed, 1000), known = 10 + random_below(&seed, 1000);
		u32 min = rtt_of(&p, 1 + random_below(&seed, 2), rtt, known, i);

		CHECK(min >= 10 && min <= rtt, "%u of %u", min, rtt);
		if (random_below(&seed, 2))
			mlcc_path_phase(&p, random_magnitude(&seed));
		if (!random_below(&seed, 100))
			mlcc_path_anew(&p);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(who_is_born_in_a_queue_knows_the_path),
		TAP_TEST(beside_a_long_transfer_the_path_stays_short),
		TAP_TEST(a_path_that_has_become_longer_is_believed),
		TAP_TEST(a_shorter_path_is_believed_at_once),
		TAP_TEST(who_overtakes_is_no_shorter_path),
		TAP_TEST(another_peer_takes_the_place),
		TAP_TEST(neighbours_have_places_of_their_own),
		TAP_TEST(nonsense_keeps_the_bounds),
	};

	return TAP_RUN(tests);
}
