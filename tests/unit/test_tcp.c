// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion safety, as traces of one socket: what a job's phase may not do to a window, whatever
 * its progress is.  tcp_model.h checks at every call that nothing is raised outside of Open and
 * Disorder, and that ssthresh is never below two.
 */
#include "tcp_model.h"
#include "random.h"

#define D		10000000U
#define RTT_US		100U
#define GAP_US		100000U

static const struct mlcc_profile all[] = {
#define MLCC_ROW(b) { .floor = MLCC_ONE / 4, .slope = 8 * MLCC_ONE, .shape = 2, \
		      .hold = MLCC_ONE * 7 / 8, .base = b, .restart = MLCC_RESTART_QUEUE }
	MLCC_ROW(MLCC_BASE_RENO), MLCC_ROW(MLCC_BASE_CUBIC),
};

/* A job that has been told its phases: progress counts from the first one on. */
static void job(struct mlcc_slot *s, u8 base)
{
	memset(s, 0, sizeof(*s));
	s->profile = all[base];
	mlcc_job_hint(&s->job, D);
}

/* A window is acknowledged, alone on a link of 1 Gb/s. */
static void round_trip(struct sock *sk)
{
	u32 rtt = RTT_US + 12 * (sk->tp.snd_cwnd > 8 ? sk->tp.snd_cwnd - 8 : 0);

	sk->tp.tcp_mstamp += rtt;
	tcp_ack(sk, sk->tp.snd_cwnd, rtt);
}

/* The flow sends @part percent of a phase. */
static void part_of_phase(struct sock *sk, u32 part)
{
	tcp_send(sk, D, GAP_US);
	while (sk->slot->job.acked - sk->slot->job.start_acked < (u64)D * part / 100)
		round_trip(sk);
}

static void whole_phase(struct sock *sk)
{
	part_of_phase(sk, 99);
	while (sk->tp.packets_out || sk->tp.write_seq - sk->tp.snd_nxt >= MSS)
		round_trip(sk);
	sk->tp.write_seq = sk->tp.snd_nxt;
	sk->limited = false;
}

/* A flow of a job that has had one phase, alone. */
static void after_a_phase(struct sock *sk, struct mlcc_slot *s, u8 base, bool ecn)
{
	job(s, base);
	tcp_open(sk, s, ecn);
	whole_phase(sk);
}

/* A job that has to give up waiting takes back its window, but not in the middle of a recovery. */
static void patience_ends_in_a_recovery(void)
{
	struct mlcc_slot s;
	struct sock sk;
	u32 left;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	tcp_send(&sk, D, GAP_US);
	CHECK(sk.tp.snd_cwnd == 10 && sk.ca.flow.wait == MLCC_WAITING, "cwnd %u", sk.tp.snd_cwnd);
	tcp_ack(&sk, 10, 9000);
	tcp_lose(&sk);
	left = sk.tp.snd_ssthresh;
	sk.tp.tcp_mstamp += 10 * GAP_US;
	for (u32 i = 0; i < 3; i++)
		tcp_ack(&sk, 1, 9000);
	CHECK(sk.ca.flow.wait == MLCC_WAIT_TIMED_OUT, "it still waits");
	CHECK(sk.tp.snd_ssthresh == left, "ssthresh %u, was %u", sk.tp.snd_ssthresh, left);
}

static void patience_ends_with_a_slow_start(void)
{
	struct mlcc_slot s;
	struct sock sk;
	u32 last;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	last = sk.tp.snd_cwnd;
	tcp_send(&sk, D, GAP_US);
	sk.tp.tcp_mstamp += 10 * GAP_US;
	tcp_ack(&sk, 5, 9000);
	CHECK(sk.tp.snd_cwnd <= 15, "cwnd %u: a burst", sk.tp.snd_cwnd);
	CHECK(sk.tp.snd_ssthresh == last, "ssthresh %u, the last window %u", sk.tp.snd_ssthresh,
	      last);
}

static void after_a_loss_an_empty_queue_ends_at_ssthresh(void)
{
	struct mlcc_slot s;
	struct sock sk;
	u32 before;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	part_of_phase(&sk, 50);
	tcp_lose(&sk);
	while (sk.icsk.icsk_ca_state != TCP_CA_Open)
		tcp_ack(&sk, sk.tp.packets_out, RTT_US);
	before = sk.tp.snd_cwnd;
	for (u32 i = 0; i < 4; i++)
		tcp_ack(&sk, sk.tp.packets_out, RTT_US);
	/* growth by the rule, 9 segments a round trip at most; doubling would be 16 times */
	CHECK(sk.tp.snd_cwnd <= before + 4 * 9, "cwnd %u -> %u", before, sk.tp.snd_cwnd);
}

/* On a path of 10 ms TCP paces a phase until somebody is there, in a rack it does not. */
static void long_paths_are_paced(void)
{
	for (u32 rtt = RTT_US; rtt <= 100 * RTT_US; rtt *= 100) {
		struct mlcc_slot s;
		struct sock sk;

		after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
		mlcc_path_to(s.paths, mlcc_peer(&sk))->min_rtt = rtt;
		tcp_send(&sk, D, GAP_US);
		CHECK(sk.paced == (rtt > 1000), "%u us: %u", rtt, sk.paced);
		tcp_ack(&sk, 10, rtt);
		CHECK(sk.paced == (rtt > 1000), "%u us, alone: %u", rtt, sk.paced);
		sk.tp.tcp_mstamp += rtt;
		tcp_ack(&sk, 10, 3 * rtt);
		CHECK(!sk.paced, "%u us, not alone: %u", rtt, sk.paced);
	}
}

/* On a long path a loss says how fast the link is. */
static void a_loss_shows_the_rate(void)
{
	struct mlcc_slot s;
	struct sock sk;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	part_of_phase(&sk, 50);
	s.job.queue.byte_cost = 0;
	mlcc_path_to(s.paths, mlcc_peer(&sk))->min_rtt = 10000;
	sk.tp.rate_delivered = 100;
	sk.tp.rate_interval_us = 1200;
	tcp_lose(&sk);
	CHECK(s.job.queue.byte_cost > 8000 && s.job.queue.byte_cost < 9000, "1 Gb/s: %u",
	      s.job.queue.byte_cost);
}

/* Packets overtook each other: the loss was none, and the next round trips double as before. */
static void a_loss_that_was_none_is_forgotten(void)
{
	struct mlcc_slot s;
	struct sock sk;
	u32 before;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	tcp_send(&sk, D, GAP_US);
	tcp_ack(&sk, 5, RTT_US);
	before = sk.tp.snd_cwnd;
	tcp_lose(&sk);
	CHECK(sk.ca.flow.lost, "nothing was lost");
	tcp_undo(&sk);
	CHECK(sk.tp.snd_cwnd >= before, "cwnd %u -> %u", before, sk.tp.snd_cwnd);
	CHECK(!sk.ca.flow.lost, "it still counts");
	tcp_lose(&sk);
	while (sk.icsk.icsk_ca_state != TCP_CA_Open)
		tcp_ack(&sk, sk.tp.packets_out, RTT_US);
	tcp_lose(&sk);
	tcp_undo(&sk);
	CHECK(sk.ca.flow.lost, "a loss before it is forgotten, too");
}

/* At p near 1 the rule takes 7/8 of a mark's decrease away, and nothing of a loss or a time-out. */
static void a_decrease_is_the_bases(void (*decrease)(struct sock *sk))
{
	for (u8 base = 0; base < 2; base++) {
		u32 cwnd, most, after;
		struct mlcc_slot s;
		struct sock sk;

		after_a_phase(&sk, &s, base, false);
		part_of_phase(&sk, 95);
		cwnd = sk.tp.snd_cwnd;
		decrease(&sk);
		most = base == MLCC_BASE_CUBIC ? cwnd - cwnd * 3 / 10 + 1 : cwnd / 2 + 1;
		CHECK(sk.tp.snd_ssthresh <= most, "base %u: cwnd %u, ssthresh %u", base, cwnd,
		      sk.tp.snd_ssthresh);
		after = sk.tp.snd_ssthresh;
		for (u32 i = 0; i < 20 && sk.icsk.icsk_ca_state == TCP_CA_Loss; i++)
			tcp_ack(&sk, 2, RTT_US);
		CHECK(sk.tp.snd_ssthresh == after, "ssthresh %u -> %u", after, sk.tp.snd_ssthresh);
	}
}

static void a_loss_is_the_bases(void)
{
	a_decrease_is_the_bases(tcp_lose);
}

static void a_time_out_is_the_bases(void)
{
	a_decrease_is_the_bases(tcp_expire);
}

/* The retransmissions of a time-out: slow start to ssthresh, then a segment a window. */
static void what_follows_a_time_out_is_the_bases(void)
{
	struct mlcc_slot s;
	struct sock sk;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	part_of_phase(&sk, 50);
	tcp_expire(&sk);
	sk.tp.high_seq += D;	/* a long one */
	sk.tp.snd_ssthresh = 10;
	for (u32 i = 0; i < 10 && sk.tp.snd_cwnd < 10; i++)
		tcp_ack(&sk, sk.tp.snd_cwnd, RTT_US);
	CHECK(sk.tp.snd_cwnd == 10, "above ssthresh: %u", sk.tp.snd_cwnd);
	for (u32 i = 0; i < 4; i++)
		tcp_ack(&sk, sk.tp.snd_cwnd, RTT_US);
	CHECK(sk.icsk.icsk_ca_state == TCP_CA_Loss, "it is over");
	CHECK(sk.tp.snd_cwnd <= 14, "four windows: %u", sk.tp.snd_cwnd);
}

static void a_window_of_one_has_an_ssthresh_of_two(void)
{
	struct mlcc_slot s;
	struct sock sk;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	part_of_phase(&sk, 10);
	tcp_expire(&sk);
	tcp_ack(&sk, 1, 9000);
	tcp_expire(&sk);
	for (u32 i = 0; i < 50; i++)
		tcp_ack(&sk, 1, 9000);
	CHECK(sk.tp.snd_ssthresh >= 2 && sk.tp.snd_cwnd >= 2, "cwnd %u, ssthresh %u",
	      sk.tp.snd_cwnd, sk.tp.snd_ssthresh);
}

/* A loss right after a mark decreases no less. */
static void a_loss_decreases_no_less_than_a_mark(void)
{
	for (u32 part = 5; part < 100; part += 10) {
		struct mlcc_slot s;
		struct sock marked, lost;
		u32 left;

		after_a_phase(&marked, &s, MLCC_BASE_RENO, true);
		part_of_phase(&marked, part);
		marked.ca.dctcp.alpha = MLCC_ONE;
		marked.tp.snd_ssthresh = 2 * marked.tp.snd_cwnd;	/* in slow start */
		lost = marked;
		tcp_mark(&marked, 10);
		left = marked.tp.snd_ssthresh;
		tcp_lose(&lost);
		CHECK(lost.tp.snd_ssthresh <= left, "at %u %%: lost %u, marked %u", part,
		      lost.tp.snd_ssthresh, left);
		tcp_lose(&marked);
		CHECK(marked.tp.snd_ssthresh <= left, "at %u %%: lost as well %u, marked %u", part,
		      marked.tp.snd_ssthresh, left);
	}
}

/* A flow that defers is paced; @limit: what the application sets meanwhile, or 0. */
static unsigned long limit_after_a_hold(unsigned long before, unsigned long limit)
{
	struct mlcc_slot s;
	struct sock sk;

	job(&s, MLCC_BASE_RENO);
	tcp_open(&sk, &s, false);
	sk.sk_max_pacing_rate = before;
	whole_phase(&sk);
	tcp_send(&sk, D, GAP_US);
	s.job.queue.defer_until = sk.tp.tcp_mstamp + 1000;
	tcp_ack(&sk, 1, 9000);
	CHECK(sk.ca.flow.deferred == (before == ~0UL), "limit %lu: held %u", before, sk.ca.flow.deferred);
	CHECK(sk.sk_max_pacing_rate <= before, "limit %lu: %lu", before, sk.sk_max_pacing_rate);
	if (limit)
		sk.sk_max_pacing_rate = limit;
	sk.tp.tcp_mstamp += 2000;
	tcp_ack(&sk, 1, 9000);
	CHECK(!sk.ca.flow.deferred && !sk.ca.paced, "it still defers");
	return sk.sk_max_pacing_rate;
}

static void the_applications_limit_survives(void)
{
	CHECK(limit_after_a_hold(~0UL, 0) == ~0UL, "a limit is left");
	CHECK(limit_after_a_hold(1000000, 0) == 1000000, "set before");
	CHECK(limit_after_a_hold(~0UL, 2000000) == 2000000, "set meanwhile");
}

/* Without a job every call is the base's: Reno by hand. */
static void without_a_job_it_is_reno(void)
{
	struct sock sk;

	tcp_open(&sk, NULL, false);
	tcp_send(&sk, D, GAP_US);
	tcp_ack(&sk, 10, RTT_US);
	CHECK(sk.tp.snd_cwnd == 20, "slow start: %u", sk.tp.snd_cwnd);
	tcp_ack(&sk, 20, RTT_US);
	tcp_lose(&sk);
	CHECK(sk.tp.snd_ssthresh == 20, "halved: %u", sk.tp.snd_ssthresh);
	while (sk.icsk.icsk_ca_state != TCP_CA_Open)
		tcp_ack(&sk, 5, RTT_US);
	for (u32 i = 0; i < 2; i++)
		tcp_ack(&sk, 10, RTT_US);
	CHECK(sk.tp.snd_cwnd == 21, "one segment a window: %u", sk.tp.snd_cwnd);
}

/* Whatever comes, in whatever order: the checks of the model hold. */
static void any_order_of_events(void)
{
	u64 seed = 1;

	for (u32 run = 0; run < 200; run++) {
		bool ecn = random_below(&seed, 2);
		struct mlcc_slot s;
		struct sock sk;

		job(&s, random_below(&seed, 2));
		if (random_below(&seed, 3) == 0)
			mlcc_job_hint(&s.job, 0);
		tcp_open(&sk, &s, ecn);
		for (u32 i = 0; i < 2000; i++) {
			u32 rtt = RTT_US + random_below(&seed, random_below(&seed, 2) ? 50 : 9000);

			sk.tp.tcp_mstamp += 1 + random_below(&seed, rtt);
			switch (random_below(&seed, 40)) {
			case 0:
				tcp_lose(&sk);
				break;
			case 1:
				if (sk.tp.packets_out)
					tcp_expire(&sk);
				break;
			case 2:
				if (ecn)
					tcp_mark(&sk, 1 + random_below(&seed, 20));
				break;
			case 3:
				s.gone = !random_below(&seed, 8);
				break;
			case 4:
				s.class = random_below(&seed, 8) % MLCC_CLASS_COUNT;
				break;
			default:
				if (!sk.tp.packets_out && sk.tp.write_seq - sk.tp.snd_nxt < MSS)
					tcp_send(&sk, D / 4, random_below(&seed, 2 * GAP_US));
				tcp_ack(&sk, 1 + random_below(&seed, 20), rtt);
			}
		}
		CHECK(sk.tp.bytes_acked, "run %u: nothing was sent", run);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(patience_ends_in_a_recovery),
		TAP_TEST(patience_ends_with_a_slow_start),
		TAP_TEST(after_a_loss_an_empty_queue_ends_at_ssthresh),
		TAP_TEST(long_paths_are_paced),
		TAP_TEST(a_loss_shows_the_rate),
		TAP_TEST(a_loss_that_was_none_is_forgotten),
		TAP_TEST(a_loss_is_the_bases),
		TAP_TEST(a_time_out_is_the_bases),
		TAP_TEST(what_follows_a_time_out_is_the_bases),
		TAP_TEST(a_window_of_one_has_an_ssthresh_of_two),
		TAP_TEST(a_loss_decreases_no_less_than_a_mark),
		TAP_TEST(the_applications_limit_survives),
		TAP_TEST(without_a_job_it_is_reno),
		TAP_TEST(any_order_of_events),
	};

	return TAP_RUN(tests);
}
