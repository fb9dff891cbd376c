/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What include/mlcc/linux/tcp.h wants of a carrier, for programs that play the kernel: the unit
 * tests, and the simulator.  Whoever includes this has struct tcp_sock and struct mlcc_slot before,
 * and
 *
 *	mlcc_slot_gone(s), mlcc_slot_class(s), mlcc_profile_of(s, to), mlcc_tick(tp)
 */
#ifndef MLCC_TCP_CARRIER_H
#define MLCC_TCP_CARRIER_H

#include "../../include/mlcc/flow.h"
#include "../../include/mlcc/dctcp.h"
#include "../../include/mlcc/cubic.h"

#define TCP_ECN_DEMAND_CWR	4

enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum { ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 };
enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

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
	u32 ce, retrans;
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
#define mlcc_slot_refreshed(sk, s)	((void)(sk), (void)(s))
#define mlcc_slot_count(s, retrans, ce)	((void)(retrans), (void)(ce))
#define mlcc_send_ack(sk, seq)		((void)(sk), (void)(seq))
#define mlcc_phase_was(s, was)		((was)->none = 0)
#define mlcc_rolled_over(sk, s, was)	((void)(was))
#define mlcc_moved(sk, s, p)		((void)(p))
#define mlcc_peer(sk)			((sk)->peer)
#define mlcc_local(sk)			((void)(sk), 1U)	/* one network card */
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

#endif /* MLCC_TCP_CARRIER_H */
