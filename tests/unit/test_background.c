// SPDX-License-Identifier: GPL-2.0
/*
 * Classes of jobs, as traces of one socket: what a background flow takes and gives, that a latency
 * flow is its base, and that a flow follows its job's class.
 */
#include "tcp_model.h"

#define BASE_US		100U
#define SEGMENT_US	12U	/* 1 Gb/s */
#define BDP		(BASE_US / SEGMENT_US)
#define TARGET_US	((BASE_US / 2 + 10 * SEGMENT_US) / 2)
#define BULK		2000000000U

/* The path, and the queue of others on it, us. */
struct link {
	u32 base, others;
};

static void open_flow(struct sock *sk, struct mlcc_slot *s, u8 class, bool ecn)
{
	tcp_job(s, MLCC_BASE_RENO, 0);
	s->class = class;
	tcp_open(sk, s, ecn);
	tcp_send(sk, BULK, 1000);
}

static u32 rtt_of(const struct sock *sk, const struct link *l)
{
	u32 own = sk->tp.snd_cwnd * SEGMENT_US;

	return l->base + l->others + (own > l->base ? own - l->base : 0);
}

/* A window is acknowledged, two segments an ACK. */
static void round_trip(struct sock *sk, const struct link *l)
{
	u32 rtt = rtt_of(sk, l), acks = sk->tp.snd_cwnd / 2 + 1;

	for (u32 i = 0; i < acks; i++) {
		sk->tp.tcp_mstamp += rtt / acks + 1;
		tcp_ack(sk, 2, rtt);
	}
	sk->tp.write_seq = sk->tp.snd_nxt + BULK;
}

static void round_trips(struct sock *sk, const struct link *l, u32 count)
{
	while (count--)
		round_trip(sk, l);
}

/* For so long, by its own clock. */
static void seconds(struct sock *sk, const struct link *l, u32 count)
{
	u64 end = sk->tp.tcp_mstamp + count * 1000000ULL;

	while (sk->tp.tcp_mstamp < end)
		round_trip(sk, l);
}

static u32 queue_of(const struct sock *sk, const struct link *l)
{
	return rtt_of(sk, l) - l->base;
}

TEST(alone_it_fills_the_link)
{
	struct link l = { .base = BASE_US };
	struct mlcc_slot s;
	struct sock sk;

	open_flow(&sk, &s, MLCC_CLASS_BACKGROUND, false);
	round_trips(&sk, &l, 20);
	for (u32 i = 0; i < 1000; i++) {
		round_trip(&sk, &l);
		CHECK(sk.tp.snd_cwnd >= BDP, "%u: cwnd %u", i, sk.tp.snd_cwnd);
		CHECK(queue_of(&sk, &l) <= 2 * TARGET_US, "%u: queue %u", i, queue_of(&sk, &l));
	}
}

/* Behind a queue of 5 ms two segments are left after some round trips; it is back as soon. */
static void comes_back(u32 base_us)
{
	struct link l = { .base = base_us };
	struct mlcc_slot s;
	struct sock sk;

	open_flow(&sk, &s, MLCC_CLASS_BACKGROUND, false);
	round_trips(&sk, &l, 200);
	for (u32 i = 0; i < 5; i++) {
		l.others = 5000;
		round_trips(&sk, &l, 14);
		CHECK(sk.tp.snd_cwnd == 2, "%u: cwnd %u", i, sk.tp.snd_cwnd);
		round_trips(&sk, &l, 50);
		CHECK(sk.tp.snd_cwnd == 2, "%u: it grows again: %u", i, sk.tp.snd_cwnd);
		l.others = 0;
		round_trips(&sk, &l, 8);
		CHECK(sk.tp.snd_cwnd >= base_us / SEGMENT_US / 2, "%u us, %u: not back: cwnd %u",
		      base_us, i, sk.tp.snd_cwnd);
		round_trips(&sk, &l, base_us / SEGMENT_US / 2);
		CHECK(sk.tp.snd_cwnd >= base_us / SEGMENT_US, "%u us, %u: cwnd %u", base_us, i,
		      sk.tp.snd_cwnd);
	}
}

TEST(it_makes_way_and_comes_back)
{
	comes_back(BASE_US);
	comes_back(10 * BASE_US);
}

/* A delayed ACK for one segment of a window of one, and a path that is next to none. */
TEST(it_does_not_stall)
{
	struct link l = { .base = 3 };
	struct mlcc_slot s;
	struct sock sk;

	open_flow(&sk, &s, MLCC_CLASS_BACKGROUND, false);
	round_trips(&sk, &l, 100);
	CHECK(sk.tp.snd_cwnd >= 2, "over loopback: cwnd %u", sk.tp.snd_cwnd);
	tcp_expire(&sk);
	CHECK(sk.tp.snd_cwnd == 1, "cwnd %u", sk.tp.snd_cwnd);
	for (u32 i = 0; i < 20; i++) {
		sk.tp.tcp_mstamp += 40000;
		tcp_ack(&sk, 1, 40000);
	}
	CHECK(sk.icsk.icsk_ca_state == TCP_CA_Open, "still in recovery");
	CHECK(sk.tp.snd_cwnd >= 2, "after a time-out: cwnd %u", sk.tp.snd_cwnd);
	sk.tp.snd_cwnd = 1;
	tcp_ack(&sk, 1, 40000);
	CHECK(sk.tp.snd_cwnd == 2, "a window of one: %u", sk.tp.snd_cwnd);
	/* the clock's low 32 bits are all over */
	sk.tp.tcp_mstamp = (sk.tp.tcp_mstamp | ~0U) - 1000;
	l.base = BASE_US;
	tcp_path(&sk)->min_rtt = BASE_US;
	round_trips(&sk, &l, 100);
	CHECK(sk.tp.snd_cwnd >= BDP, "cwnd %u", sk.tp.snd_cwnd);
}

/* Its base is told no path: the same socket without a job. */
static void a_decrease_is_the_bases(bool ecn, void (*decrease)(struct sock *sk))
{
	struct link l = { .base = BASE_US };
	struct sock sk, base;
	struct mlcc_slot s;

	open_flow(&sk, &s, MLCC_CLASS_BACKGROUND, ecn);
	round_trips(&sk, &l, 50);
	sk.tp.snd_cwnd = 100;
	sk.tp.packets_out = 0;
	tcp_fill(&sk);
	base = sk;
	base.slot = NULL;
	base.ca.class = MLCC_CLASS_TRAINING;
	decrease(&sk);
	decrease(&base);
	CHECK(sk.tp.snd_ssthresh <= base.tp.snd_ssthresh, "ssthresh %u, base %u",
	      sk.tp.snd_ssthresh, base.tp.snd_ssthresh);
	CHECK(sk.tp.snd_cwnd <= base.tp.snd_cwnd, "cwnd %u, base %u", sk.tp.snd_cwnd,
	      base.tp.snd_cwnd);
	while (sk.icsk.icsk_ca_state == TCP_CA_Loss || sk.icsk.icsk_ca_state == TCP_CA_Recovery)
		tcp_ack(&sk, 2, BASE_US);
	sk.tp.snd_cwnd = sk.tp.snd_ssthresh;
	for (u32 i = 0; i < 10; i++) {
		u32 cwnd = sk.tp.snd_cwnd;

		sk.tp.tcp_mstamp += BASE_US;
		tcp_ack(&sk, cwnd, BASE_US);
		CHECK(sk.tp.snd_cwnd <= cwnd + 1, "after it, faster than Reno: %u -> %u", cwnd,
		      sk.tp.snd_cwnd);
	}
}

static void mark(struct sock *sk)
{
	sk->ca.dctcp.alpha = MLCC_ONE;
	tcp_mark(sk, 10);
}

TEST(losses_marks_and_time_outs_are_the_bases)
{
	a_decrease_is_the_bases(false, tcp_lose);
	a_decrease_is_the_bases(true, tcp_lose);
	a_decrease_is_the_bases(true, mark);
	a_decrease_is_the_bases(false, tcp_expire);
}

/* Alone for half an hour, with what TCP keeps of the path gone: its own queue is not the path. */
TEST(its_own_queue_is_not_the_path)
{
	struct mlcc_slot s;
	struct sock sk;

	for (u32 base = BASE_US; base <= 2000; base += 1900) {
		struct link l = { .base = base };

		open_flow(&sk, &s, MLCC_CLASS_BACKGROUND, false);
		for (u32 i = 0; i < 100; i++) {
			round_trips(&sk, &l, 200);
			/* an epoch passes */
			sk.tp.tcp_mstamp += 1 << MLCC_EPOCH_SHIFT;
			sk.tp.min_rtt = 1000000;
		}
		round_trips(&sk, &l, 200);
		CHECK(tcp_path(&sk)->min_rtt == base, "the path's least: %u, not %u",
		      tcp_path(&sk)->min_rtt, base);
		CHECK(queue_of(&sk, &l) <= 400, "queue %u", queue_of(&sk, &l));
	}
}

TEST(a_longer_path_is_believed)
{
	struct link l = { .base = 2000 };
	struct mlcc_slot s;
	struct sock sk;

	open_flow(&sk, &s, MLCC_CLASS_BACKGROUND, false);
	seconds(&sk, &l, 60);
	l.base = 6000;
	seconds(&sk, &l, 60);
	CHECK(sk.tp.snd_cwnd <= 3, "it might be others: cwnd %u", sk.tp.snd_cwnd);
	seconds(&sk, &l, 600);
	CHECK(sk.tp.snd_cwnd >= 6000 / SEGMENT_US, "cwnd %u", sk.tp.snd_cwnd);
}

/* Whatever its job does, or has been told of. */
TEST(latency_is_its_base)
{
	struct link l = { .base = BASE_US };
	struct sock sk, base;
	struct mlcc_slot s;

	open_flow(&sk, &s, MLCC_CLASS_LATENCY, false);
	mlcc_job_hint(&s.job, 1000000);
	tcp_open(&base, NULL, false);
	tcp_send(&base, BULK, 1000);
	for (u32 i = 0; i < 200; i++) {
		l.others = i % 50 > 25 ? 5000 : 0;
		round_trip(&sk, &l);
		round_trip(&base, &l);
		if (i % 60 == 40) {
			tcp_lose(&sk);
			tcp_lose(&base);
		}
		CHECK(sk.tp.snd_cwnd == base.tp.snd_cwnd, "%u: cwnd %u, base %u", i,
		      sk.tp.snd_cwnd, base.tp.snd_cwnd);
	}
	CHECK(s.job.acked == sk.tp.bytes_acked, "%ju of %ju bytes", s.job.acked, sk.tp.bytes_acked);
	CHECK(!s.job.seq && sk.ca.flow.p == MLCC_NEUTRAL, "it has phases");
}

/* One ACK after its job's class has changed. */
TEST(it_follows_its_jobs_class)
{
	struct link l = { .base = BASE_US, .others = 5000 };
	struct mlcc_slot s;
	struct sock sk;
	u32 cwnd;

	open_flow(&sk, &s, MLCC_CLASS_TRAINING, false);
	CHECK(s.job.seq == 1, "no phase");
	s.class = MLCC_CLASS_BACKGROUND;
	tcp_ack(&sk, 1, BASE_US);
	CHECK(sk.ca.class == MLCC_CLASS_BACKGROUND, "it does not follow");
	round_trips(&sk, &l, 20);
	CHECK(sk.tp.snd_cwnd == 2, "cwnd %u", sk.tp.snd_cwnd);
	s.class = MLCC_CLASS_LATENCY;
	round_trips(&sk, &l, 6);
	cwnd = sk.tp.snd_cwnd;
	CHECK(cwnd > 2, "latency: cwnd %u", cwnd);
	s.class = MLCC_CLASS_BACKGROUND;
	round_trips(&sk, &l, 20);
	s.gone = true;
	round_trips(&sk, &l, 6);
	CHECK(sk.tp.snd_cwnd > 2 && sk.ca.class == MLCC_CLASS_TRAINING, "deleted: cwnd %u",
	      sk.tp.snd_cwnd);
	CHECK(s.job.seq == 1 && sk.ca.flow.p == MLCC_NEUTRAL, "it has phases");
	s.gone = false;
	s.class = MLCC_CLASS_TRAINING;
	mlcc_job_hint(&s.job, 10000000);
	round_trip(&sk, &l);
	sk.tp.packets_out = 0;
	tcp_send(&sk, 0, 1000000);
	CHECK(s.job.seq == 2 && sk.ca.flow.p == 0, "phase %u, p %u", s.job.seq, sk.ca.flow.p);
}

TAP_MAIN
