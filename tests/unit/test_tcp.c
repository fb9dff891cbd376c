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
	sk->tp.limited = false;
}

/* A flow of a job that has had one phase, alone. */
static void after_a_phase(struct sock *sk, struct mlcc_slot *s, u8 base, bool ecn)
{
	tcp_job(s, base, D);
	tcp_open(sk, s, ecn);
	whole_phase(sk);
}

/* The job has been silent, and sends; ten segments for the flow, which is alone. */
static void next_phase(struct sock *sk)
{
	tcp_send(sk, D, GAP_US);
	CHECK(sk->tp.snd_cwnd == MLCC_START_BYTES / MSS, "cwnd %u", sk->tp.snd_cwnd);
	CHECK(tcp_path(sk)->state == MLCC_WINDOW_WAITS, "state %u", tcp_path(sk)->state);
}

/* A job that has to give up waiting takes back its window, but not in the middle of a recovery. */
TEST(patience_ends_in_a_recovery)
{
	struct mlcc_slot s;
	struct sock sk;
	u32 left;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	next_phase(&sk);
	tcp_ack(&sk, 10, 9000);
	tcp_lose(&sk);
	left = sk.tp.snd_ssthresh;
	sk.tp.tcp_mstamp += 10 * GAP_US;
	for (u32 i = 0; i < 3; i++)
		tcp_ack(&sk, 1, 9000);
	CHECK(tcp_path(&sk)->state == MLCC_WINDOW_TIMED_OUT, "it still waits");
	CHECK(sk.tp.snd_ssthresh == left, "ssthresh %u, was %u", sk.tp.snd_ssthresh, left);
}

/* From a millisecond on the flow is its base: what it had, halved for nothing, and doubled for nothing. */
TEST(over_a_long_path_it_is_its_base)
{
	struct mlcc_slot s;
	struct sock sk;
	u32 cwnd;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	tcp_path(&sk)->min_rtt = MLCC_PATH_LONG_US;
	sk.tp.snd_cwnd = 100;
	sk.tp.snd_ssthresh = 100;
	tcp_send(&sk, D, GAP_US);
	for (u32 i = 0; i < 10; i++) {
		cwnd = sk.tp.snd_cwnd;
		sk.tp.tcp_mstamp += MLCC_PATH_LONG_US;
		tcp_ack(&sk, cwnd, i & 1 ? 9000 : MLCC_PATH_LONG_US);
		CHECK(sk.tp.snd_cwnd == cwnd + 1, "%u -> %u: not Reno", cwnd, sk.tp.snd_cwnd);
	}
	tcp_lose(&sk);
	CHECK(sk.tp.snd_ssthresh == sk.tp.prior_cwnd / 2, "a loss: %u", sk.tp.snd_ssthresh);
}

/* Packets overtook each other: the loss was none, and the job has its window again. */
TEST(a_loss_that_was_none_is_forgotten)
{
	u32 before, window;
	struct mlcc_slot s;
	struct sock sk;

	after_a_phase(&sk, &s, MLCC_BASE_RENO, false);
	part_of_phase(&sk, 50);
	before = sk.tp.snd_cwnd;
	window = tcp_path(&sk)->window;
	tcp_lose(&sk);
	CHECK(tcp_path(&sk)->window < window, "nothing was taken of %u", window);
	tcp_undo(&sk);
	CHECK(sk.tp.snd_cwnd >= before, "cwnd %u -> %u", before, sk.tp.snd_cwnd);
	CHECK(tcp_path(&sk)->window == window, "window %u -> %u", window, tcp_path(&sk)->window);
	round_trip(&sk);
	CHECK(sk.tp.snd_cwnd + 1 >= before, "a round trip later: cwnd %u", sk.tp.snd_cwnd);
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

TEST(losses_and_time_outs_are_the_bases)
{
	a_decrease_is_the_bases(tcp_lose);
	a_decrease_is_the_bases(tcp_expire);
}

/* The retransmissions of a time-out: slow start to ssthresh, then a segment a window. */
TEST(what_follows_a_time_out_is_the_bases)
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

/* A loss right after a mark decreases no less. */
TEST(a_loss_decreases_no_less_than_a_mark)
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

/* A socket whose share is less than two segments, in state @state; @app: the application's limit. */
static u32 paced(struct sock *sk, u32 status, u8 state, unsigned long app)
{
	tcp_open(sk, NULL, false);
	sk->sk_pacing_status = status;
	sk->sk_max_pacing_rate = app;
	sk->sk_pacing_rate = 1000000;
	sk->ca.flow.pace = 1000;
	sk->icsk.icsk_ca_state = state;
	mlcc_pace(sk);
	return sk->sk_pacing_status;
}

TEST(pacing_ends_with_its_reason)
{
	struct sock sk;

	CHECK(paced(&sk, SK_PACING_NONE, TCP_CA_CWR, ~0UL) == SK_PACING_NEEDED, "not paced");
	CHECK(sk.sk_pacing_rate == 1000, "%lu bytes/s", sk.sk_pacing_rate);
	sk.sk_pacing_rate = 500;
	mlcc_pace(&sk);
	CHECK(sk.sk_pacing_rate == 500, "the kernel's was less: %lu", sk.sk_pacing_rate);
	mlcc_flow_uncouple(&sk.ca.flow);
	mlcc_pace(&sk);
	CHECK(sk.sk_pacing_status == SK_PACING_NONE, "status %u", sk.sk_pacing_status);
	CHECK(paced(&sk, SK_PACING_NONE, TCP_CA_Recovery, ~0UL) == SK_PACING_NONE, "in a recovery");
	/* bursts that may overflow are paced at the kernel's rate */
	tcp_open(&sk, NULL, false);
	sk.sk_pacing_rate = 1000000;
	sk.ca.flow.lossy = 1;
	mlcc_pace(&sk);
	CHECK(sk.sk_pacing_status == SK_PACING_NEEDED, "not paced");
	CHECK(sk.sk_pacing_rate == 1000000, "%lu bytes/s", sk.sk_pacing_rate);
	mlcc_flow_uncouple(&sk.ca.flow);
	mlcc_pace(&sk);
	CHECK(sk.sk_pacing_status == SK_PACING_NONE, "status %u", sk.sk_pacing_status);
}

TEST(pacing_of_others_goes_on)
{
	struct sock sk;

	paced(&sk, SK_PACING_NEEDED, TCP_CA_Open, 5000);
	mlcc_pace_end(&sk);
	CHECK(sk.sk_pacing_status == SK_PACING_NEEDED, "the application's: %u", sk.sk_pacing_status);
	paced(&sk, SK_PACING_FQ, TCP_CA_Open, ~0UL);
	CHECK(sk.sk_pacing_rate == 1000, "by fq: %lu bytes/s", sk.sk_pacing_rate);
	mlcc_pace_end(&sk);
	CHECK(sk.sk_pacing_status == SK_PACING_FQ, "fq's: %u", sk.sk_pacing_status);
}

TAP_MAIN
