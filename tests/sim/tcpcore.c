// SPDX-License-Identifier: GPL-2.0
/* What tcpcore.h declares. */
#include <stdlib.h>

#include "tcpcore.h"

#define mlcc_slot_gone(s)	((void)(s), false)
#define mlcc_slot_class(s)	((void)(s), MLCC_CLASS_TRAINING)
#define mlcc_profile_of(s, to)	(*(to) = *(s)->profile, true)
#define mlcc_tick(tp)		((void)(tp), 1000U)

#include "../unit/tcp_carrier.h"	/* stream.cc does what its mlcc_send_ack() does not */

_Static_assert((int)TCP_CORE_LOSS == TCP_CA_Loss, "states have the kernel's order");

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
