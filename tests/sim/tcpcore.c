// SPDX-License-Identifier: GPL-2.0
/* What tcpcore.h declares: what include/mlcc/linux/tcp.h wants of a carrier, and its calls. */
#include <stdlib.h>

#include "tcpcore.h"
#include "../../include/mlcc/flow.h"
#include "../../include/mlcc/dctcp.h"
#include "../../include/mlcc/cubic.h"

#define TCP_ECN_DEMAND_CWR	4

enum {
	TCP_CA_Open = TCP_CORE_OPEN, TCP_CA_Disorder = TCP_CORE_DISORDER,
	TCP_CA_CWR = TCP_CORE_CWR, TCP_CA_Recovery = TCP_CORE_RECOVERY, TCP_CA_Loss = TCP_CORE_LOSS,
};

enum { ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 };
enum { SK_PACING_NONE, SK_PACING_NEEDED };

struct inet_connection_sock {
	u8 icsk_ca_state;
	struct { u8 pending; } icsk_ack;
};

struct mlcc_sk {
	struct mlcc_flow flow;
	union {
		struct mlcc_dctcp dctcp;	/* if ecn */
		struct mlcc_cubic cubic;	/* if cubic_base */
	};
	u32 ce;
	u16 retrans;
	u8 ecn, cubic_base, class;
};

struct sock {
	struct tcp_sock tp;
	struct inet_connection_sock icsk;
	struct mlcc_sk ca;
	struct mlcc_slot *slot;
	u32 peer;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
};

struct mlcc_phase_was {
	u8 none;
};

#define tcp_sk(sk)			((struct tcp_sock *)&(sk)->tp)
#define inet_csk(sk)			((struct inet_connection_sock *)&(sk)->icsk)
#define mlcc_sk(sk)			((struct mlcc_sk *)&(sk)->ca)
#define mlcc_slot_gone(s)		((void)(s), false)
#define mlcc_slot_class(s)		((void)(s), MLCC_CLASS_TRAINING)
#define mlcc_slot_refreshed(sk, s)	((void)(sk), (void)(s))
#define mlcc_slot_count(s, retrans, ce)	((void)(retrans), (void)(ce))
#define mlcc_profile_of(s, to)		(*(to) = *(s)->profile, true)
#define mlcc_tick(tp)			((void)(tp), 1000U)
#define mlcc_send_ack(sk, seq)		((void)(sk), (void)(seq))	/* stream.cc does that */
#define mlcc_phase_was(s, was)		((was)->none = 0)
#define mlcc_rolled_over(sk, s, was)	((void)(was))
#define mlcc_moved(sk, s, p)		((void)(p))
#define mlcc_peer(sk)			((sk)->peer)
#define mlcc_local(sk)			1U	/* a simulated host has one network card */
#define tcp_is_cwnd_limited(sk)		((sk)->tp.limited)
#define tcp_min_rtt(tp)			((tp)->min_rtt)

static u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 left = tp->snd_ssthresh - tp->snd_cwnd;
	u32 add = acked < left ? acked : left;

	tp->snd_cwnd += add;
	return acked - add;
}

#include "../../include/mlcc/linux/tcp.h"

struct sock *tcp_core_new(struct mlcc_slot *job, bool ecn, uint32_t peer)
{
	struct sock *sk = calloc(1, sizeof(*sk));

	sk->slot = job;
	sk->ca.ecn = ecn;
	sk->peer = peer;
	sk->tp.snd_cwnd_clamp = ~0U;
	sk->tp.min_rtt = ~0U;
	sk->sk_max_pacing_rate = ~0UL;
	return sk;
}

struct tcp_sock *tcp_core_sock(struct sock *sk)
{
	return &sk->tp;
}

void tcp_core_begin(struct sock *sk)
{
	mlcc_flow_init(&sk->ca.flow, sk->tp.bytes_acked);
	if (sk->ca.ecn)
		mlcc_dctcp_start(&sk->ca.dctcp, &sk->tp);
	else
		sk->ca.cubic_base = !sk->slot || sk->slot->profile->base == MLCC_BASE_CUBIC;
}

void tcp_core_acked(struct sock *sk, int32_t rtt_us)
{
	if (sk->slot)
		mlcc_acked(sk, sk->slot, rtt_us);
	mlcc_acked_ce(sk);
}

void tcp_core_raise(struct sock *sk, uint32_t acked)
{
	mlcc_raise(sk, sk->slot, acked);
}

uint32_t tcp_core_reduced(struct sock *sk)
{
	return mlcc_reduced(sk, sk->slot);
}

void tcp_core_state(struct sock *sk, uint8_t state)
{
	mlcc_state(sk, sk->slot, state);
	sk->icsk.icsk_ca_state = state;
}

void tcp_core_start(struct sock *sk)
{
	if (mlcc_starts(sk) && sk->slot)
		mlcc_start_job(sk, sk->slot);
}

/* In slow start it is twice window by round trip, else 1.2 times. */
uint64_t tcp_core_rate(const struct sock *sk)
{
	const struct tcp_sock *tp = &sk->tp;
	u32 cwnd = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
	u32 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;

	return tp->srtt_us ? 80000UL * percent * tp->mss_cache * cwnd / tp->srtt_us : ~0UL;
}

uint64_t tcp_core_pace(struct sock *sk)
{
	sk->sk_pacing_rate = tcp_core_rate(sk);
	mlcc_pace(sk);
	return sk->sk_pacing_status == SK_PACING_NEEDED ? sk->sk_pacing_rate : 0;
}

void tcp_core_timeout(struct sock *sk)
{
	mlcc_timeout(sk);
}
