/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A TCP sender around include/mlcc/linux/tcp.h: the socket's fields that it uses, and the kernel's
 * calls in the order in which net/ipv4/tcp_input.c and tcp_output.c make them.
 *
 *	tcp_send()	the application sends after a silence
 *	tcp_ack()	segments are acknowledged
 *	tcp_lose()	a hole is seen: Recovery, until what was in flight then is acknowledged
 *	tcp_undo()	what seemed lost arrives: the reduction is taken back
 *	tcp_mark()	an ECN mark is echoed: CWR, likewise
 *	tcp_expire()	the retransmission timer: Loss
 *
 * The reduction of a recovery is rate-halving to ssthresh, which is enough to see who raises what.
 * A check that must hold at every call is made here.
 */
#ifndef MLCC_TCP_MODEL_H
#define MLCC_TCP_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "../../include/mlcc/path.h"
#include "../../include/mlcc/phase.h"
#include "tap.h"

#define MSS		1448U

struct tcp_sock {
	u32 snd_cwnd, snd_ssthresh, prior_cwnd, snd_cwnd_clamp;
	u32 snd_una, snd_nxt, write_seq, rcv_nxt, high_seq;
	u32 delivered, delivered_ce, total_retrans, packets_out, mss_cache, srtt_us;
	u64 bytes_acked, tcp_mstamp;
	struct { u32 rcv_tsval; } rx_opt;
	u8 ecn_flags;
	u32 min_rtt;
	bool limited;		/* by the window: the application has more to send */
};

struct mlcc_slot {
	struct mlcc_job job;
	struct mlcc_path paths[MLCC_PATHS];
	struct mlcc_profile profile;
	u8 class;
	bool gone;
};

#define mlcc_slot_gone(s)	((s)->gone)
#define mlcc_slot_class(s)	((s)->class)
#define mlcc_profile_of(s, to)	(*(to) = (s)->profile, true)
#define mlcc_tick(tp)		((void)(tp), 0U)

#include "tcp_carrier.h"

/* A job whose phases have @d_phase bytes, which it has been told; 0: it has not. */
static void tcp_job(struct mlcc_slot *s, u8 base, u64 d_phase)
{
	memset(s, 0, sizeof(*s));
	s->profile = (struct mlcc_profile) {
		.floor = MLCC_ONE, .slope = 8 * MLCC_ONE, .shape = 2, .hold = MLCC_ONE * 7 / 8,
		.base = base, .restart = MLCC_RESTART_QUEUE,
	};
	if (d_phase)
		mlcc_job_hint(&s->job, d_phase);
}

static void tcp_open(struct sock *sk, struct mlcc_slot *s, bool ecn)
{
	memset(sk, 0, sizeof(*sk));
	sk->tp = (struct tcp_sock) { .snd_cwnd = 10, .snd_ssthresh = 0x7fffffff,
				     .snd_cwnd_clamp = ~0U, .mss_cache = MSS,
				     .tcp_mstamp = 1000000, .min_rtt = ~0U };
	sk->slot = s;
	sk->sk_pacing_rate = ~0UL;
	sk->sk_max_pacing_rate = ~0UL;
	sk->peer = 1;
	sk->ca.ecn = ecn;
	mlcc_flow_init(&sk->ca.flow, 0);
	if (ecn)
		mlcc_dctcp_start(&sk->ca.dctcp, &sk->tp);
	else
		sk->ca.cubic_base = s && s->profile.base == MLCC_BASE_CUBIC;
}

/* Where the job keeps the flow's path. */
static inline struct mlcc_path *tcp_path(struct sock *sk)
{
	return mlcc_flow_path(&sk->ca.flow, &sk->slot->job, sk->slot->paths, sk->peer);
}

static void tcp_state(struct sock *sk, u8 state)
{
	mlcc_state(sk, sk->slot, state);
	sk->icsk.icsk_ca_state = state;
}

/* What the window was before a call that must not raise it. */
static struct mlcc_win tcp_win(const struct sock *sk)
{
	struct mlcc_win w;

	mlcc_win_read(sk, &w);
	return w;
}

static void tcp_check(const struct sock *sk, const struct mlcc_win *was, const char *call)
{
	const struct tcp_sock *tp = &sk->tp;

	CHECK(tp->snd_ssthresh >= 2, "%s: ssthresh %u", call, tp->snd_ssthresh);
	CHECK(was->open || tp->snd_cwnd <= was->cwnd, "%s, state %u: cwnd %u -> %u", call,
	      sk->icsk.icsk_ca_state, was->cwnd, tp->snd_cwnd);
	CHECK(was->open || tp->snd_ssthresh <= was->ssthresh, "%s, state %u: ssthresh %u -> %u",
	      call, sk->icsk.icsk_ca_state, was->ssthresh, tp->snd_ssthresh);
}

/* @bytes to send after @silence_us of silence. */
static void tcp_send(struct sock *sk, u32 bytes, u32 silence_us)
{
	struct tcp_sock *tp = &sk->tp;
	struct mlcc_win was = tcp_win(sk);

	tp->tcp_mstamp += silence_us;
	if (mlcc_starts(sk) && sk->slot)
		mlcc_start_job(sk, sk->slot);
	tcp_check(sk, &was, "start");
	tp->write_seq += bytes;
	tp->limited = true;
}

static void tcp_fill(struct sock *sk)
{
	struct tcp_sock *tp = &sk->tp;
	u32 left = (tp->write_seq - tp->snd_nxt) / MSS;
	u32 room = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd - tp->packets_out : 0;
	u32 n = left < room ? left : room;

	tp->packets_out += n;
	tp->snd_nxt += n * MSS;
	tp->limited = left > n;
}

/* What was in flight when the reduction began is acknowledged: it is over. */
static void tcp_recovered(struct sock *sk)
{
	struct tcp_sock *tp = &sk->tp;

	if (sk->icsk.icsk_ca_state <= TCP_CA_Disorder || (s32)(tp->snd_una - tp->high_seq) < 0)
		return;
	if (sk->icsk.icsk_ca_state != TCP_CA_Loss)
		tp->snd_cwnd = tp->snd_ssthresh;
	tcp_state(sk, TCP_CA_Open);
}

/* Up to @n of the segments in flight are acknowledged; @rtt_us: of the last of them. */
static void tcp_ack(struct sock *sk, u32 n, u32 rtt_us)
{
	struct tcp_sock *tp = &sk->tp;
	struct mlcc_win was;

	tcp_fill(sk);
	if (n > tp->packets_out)
		n = tp->packets_out;
	tp->packets_out -= n;
	tp->snd_una += n * MSS;
	tp->bytes_acked += (u64)n * MSS;
	tp->delivered += n;
	if (rtt_us < tp->min_rtt)
		tp->min_rtt = rtt_us;
	tp->srtt_us = rtt_us << 3;
	was = tcp_win(sk);
	if (sk->slot)
		mlcc_acked(sk, sk->slot, rtt_us);
	mlcc_acked_ce(sk);
	tcp_check(sk, &was, "ack");
	tcp_recovered(sk);
	switch (sk->icsk.icsk_ca_state) {
	case TCP_CA_CWR:
	case TCP_CA_Recovery:
		if (tp->snd_cwnd > tp->snd_ssthresh)
			tp->snd_cwnd -= (n + 1) / 2 < tp->snd_cwnd - tp->snd_ssthresh ?
					(n + 1) / 2 : tp->snd_cwnd - tp->snd_ssthresh;
		break;
	default:
		mlcc_raise(sk, sk->slot, n);
	}
	CHECK(tp->snd_ssthresh >= 2, "raise: ssthresh %u", tp->snd_ssthresh);
	tcp_fill(sk);
}

static void tcp_reduce(struct sock *sk, u8 state)
{
	struct tcp_sock *tp = &sk->tp;

	tp->high_seq = tp->snd_nxt;
	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = mlcc_reduced(sk, sk->slot);
	tcp_state(sk, state);
	CHECK(tp->snd_ssthresh <= tp->prior_cwnd || tp->snd_ssthresh == 2,
	      "decrease: cwnd %u, ssthresh %u", tp->prior_cwnd, tp->snd_ssthresh);
}

/* Of a recovery that is under way a further loss makes no other. */
static void tcp_lose(struct sock *sk)
{
	sk->tp.total_retrans++;
	if (sk->icsk.icsk_ca_state >= TCP_CA_Recovery)
		return;
	if (sk->icsk.icsk_ca_state == TCP_CA_CWR) {
		sk->tp.high_seq = sk->tp.snd_nxt;
		tcp_state(sk, TCP_CA_Recovery);
		return;
	}
	tcp_reduce(sk, TCP_CA_Recovery);
}

static inline void tcp_undo(struct sock *sk)
{
	sk->tp.snd_cwnd = mlcc_undo(sk, sk->slot);
	tcp_state(sk, TCP_CA_Open);
}

static void tcp_mark(struct sock *sk, u32 n)
{
	sk->tp.delivered_ce += n;
	if (sk->icsk.icsk_ca_state < TCP_CA_CWR)
		tcp_reduce(sk, TCP_CA_CWR);
}

static void tcp_expire(struct sock *sk)
{
	struct tcp_sock *tp = &sk->tp;

	if (sk->icsk.icsk_ca_state <= TCP_CA_Disorder) {
		tp->prior_cwnd = tp->snd_cwnd;
		tp->snd_ssthresh = mlcc_reduced(sk, sk->slot);
		mlcc_timeout(sk);
	}
	tp->high_seq = tp->snd_nxt;
	tp->snd_cwnd = 1;
	tcp_state(sk, TCP_CA_Loss);
}

#endif /* MLCC_TCP_MODEL_H */
