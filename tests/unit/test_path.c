// SPDX-License-Identifier: GPL-2.0
/*
 * The least round-trip time of a job's paths: what makes it go down, and what makes it go up; and the
 * table of paths: who has a place in it, and for how long.
 */
#include "../../include/mlcc/flow.h"
#include "random.h"
#include "tap.h"

#define RTT_US	100U
#define QUEUE_US	8000U

/* A round trip, of a socket that knows @known as the least. */
static u32 rtt_of(struct mlcc_path *p, u32 rtt, u32 known)
{
	const struct mlcc_ack a = { .rtt = rtt, .srtt = rtt, .min_rtt = known };

	return mlcc_path_rtt(p, &a);
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
		rtt_of(p, from + random_below(&seed, to - from + 1), from);
}

static struct mlcc_path known(u32 *seq)
{
	struct mlcc_path p = { };

	phase(&p, seq, RTT_US, 10 * RTT_US, false);
	mlcc_path_anew(&p);	/* the queue was empty */
	return p;
}

/*
 * The kernel's own least RTT is forgotten after five minutes: thousands of phases.  A new socket
 * knows only the queue that it was opened behind.
 */
TEST(beside_a_long_transfer_the_path_stays_short)
{
	u32 seq = 0;
	struct mlcc_path p = known(&seq);

	for (u32 i = 0; i < 3000; i++) {
		phase(&p, &seq, QUEUE_US / 2, QUEUE_US, i % 5 == 0);
		CHECK(p.min_rtt == RTT_US, "phase %u: %u us", i, p.min_rtt);
	}
}

TEST(a_path_that_has_become_longer_is_believed)
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

/* The least of a path of 10 ms after @few round trips of 5 ms and as many of 10 ms. */
static u32 least_after(u32 few)
{
	struct mlcc_path p = { };
	u32 srtt = 10000;

	rtt_of(&p, srtt, srtt);
	for (u32 i = 0; i < 2 * few; i++) {
		struct mlcc_ack a = { .rtt = i < few ? 5000 : 10000 };

		srtt = (7 * srtt + a.rtt) / 8;
		a.srtt = srtt;
		mlcc_path_rtt(&p, &a);
	}
	return p.min_rtt;
}

TEST(who_overtakes_is_no_shorter_path)
{
	CHECK(least_after(1) > 9000, "one packet: %u us", least_after(1));
	CHECK(least_after(40) < 5100, "all of them: %u us", least_after(40));
}

/*** Places ***/

/* The place of host @host of a subnet in phase @seq, or MLCC_PATHS. */
static u32 place_of(struct mlcc_path *table, u32 host, u32 seq)
{
	u8 to;

	mlcc_path_find(table, mlcc_path_peer(0x0100000a, host << 24 | 10), seq, &to);
	return to;
}

/* Host @host sends in phase @seq. */
static u32 sends_to(struct mlcc_path *table, u32 host, u32 seq)
{
	u32 place = place_of(table, host, seq);

	if (place < MLCC_PATHS)
		mlcc_path_phase(&table[place], seq);
	return place;
}

TEST(every_address_is_a_peer)
{
	u64 seed = 5;

	for (u32 i = 0; i < 1000000; i++) {
		u32 from = random_magnitude(&seed), to = random_magnitude(&seed);

		CHECK(mlcc_path_peer(from, to), "%#x, %#x: none", from, to);
	}
}

TEST(neighbours_have_places_of_their_own)
{
	struct mlcc_path table[MLCC_PATHS] = { };
	u32 places[MLCC_PATHS], taken = 0;

	for (u32 host = 0; host < MLCC_PATHS; host++) {
		u32 place = sends_to(table, host, 1);

		CHECK(place < MLCC_PATHS && !(taken >> place & 1), "host %u: place %u", host, place);
		taken |= 1U << place;
		places[host] = place;
	}
	for (u32 seq = 2; seq < 100; seq++)
		for (u32 host = 0; host < MLCC_PATHS; host++) {
			u32 place = sends_to(table, host, seq);

			CHECK(place == places[host], "phase %u: host %u is at %u", seq, host,
			      place);
		}
}

/* Of MLCC_PATHS peers host 1 is silent from phase 1 on. */
TEST(a_place_is_free_when_nobody_has_used_it)
{
	struct mlcc_path table[MLCC_PATHS] = { };
	u32 late = MLCC_PATHS + 1, place = 0, seq = 1;

	for (u32 host = 1; host <= MLCC_PATHS; host++)
		sends_to(table, host, seq);
	place = place_of(table, 1, seq);
	table[place].min_rtt = RTT_US;
	table[place].window = 1;
	for (; seq < 1 + MLCC_PATH_UNUSED; seq++) {
		for (u32 host = 2; host <= MLCC_PATHS; host++)
			sends_to(table, host, seq);
		CHECK(place_of(table, late, seq) == MLCC_PATHS, "phase %u: there is room", seq);
	}
	for (u32 host = 2; host <= MLCC_PATHS; host++)
		sends_to(table, host, seq);
	CHECK(sends_to(table, late, seq) == place, "phase %u: not that of host 1", seq);
	CHECK(!table[place].min_rtt && !table[place].window, "what was known of host 1 is left");
	CHECK(place_of(table, 1, seq) == MLCC_PATHS, "host 1 has another one");
}

/* More flows look for a place than there is room, each in its own phase. */
TEST(no_peer_has_two_places)
{
	struct mlcc_path table[MLCC_PATHS] = { };
	u64 seed = 6;
	u32 seq = 0;

	for (u32 i = 0; i < 100000; i++) {
		u32 host = 1 + random_below(&seed, 2 * MLCC_PATHS), count = 0;
		u32 place = sends_to(table, host, seq += !random_below(&seed, 10));
		u32 peer = mlcc_path_peer(0x0100000a, host << 24 | 10);

		for (u32 k = 0; k < MLCC_PATHS; k++)
			count += table[k].peer == peer;
		CHECK(count == (place < MLCC_PATHS), "host %u: %u places", host, count);
		CHECK(place == MLCC_PATHS || table[place].peer == peer, "host %u: not its own", host);
	}
}

/* Nothing is ever below the least round trip that there was, nor above the longest. */
TEST(nonsense_keeps_the_bounds)
{
	struct mlcc_path p = { };
	u64 seed = 3;

	for (u32 i = 0; i < 1000000; i++) {
		u32 rtt = 10 + random_below(&seed, 1000), known = 10 + random_below(&seed, 1000);
		u32 min = rtt_of(&p, rtt, known);

		CHECK(min >= 10 && min <= rtt, "%u of %u", min, rtt);
		if (random_below(&seed, 2))
			mlcc_path_phase(&p, random_magnitude(&seed));
		if (!random_below(&seed, 100))
			mlcc_path_anew(&p);
	}
}

TAP_MAIN
