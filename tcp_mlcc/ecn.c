// SPDX-License-Identifier: GPL-2.0
/*
 * The receiver's half of DCTCP (RFC 8257, section 3.2): every ACK says whether the packets that it
 * acknowledges were CE-marked, so that the sender can count them.
 *
 *	              CE packet: ACK what is pending with ECE = 0, then ACK now
 *	    +--------+ ------------------------------------------------> +--------+
 *	    | CE = 0 |                                                   | CE = 1 |
 *	    +--------+ <------------------------------------------------ +--------+
 *	              other packet: ACK what is pending with ECE = 1, then ACK now
 *
 * Without a change of state ACKs are delayed as usual.
 */
#include "mlcc.h"
#include "compat.h"

/* Sets what the next ACK echoes. */
static void mlcc_echo(struct sock *sk, bool ce)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* A packet came in, @ce: it was marked. */
void mlcc_ce_state(struct sock *sk, struct mlcc_dctcp *d, bool ce)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (d->ce_state != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			mlcc_echo(sk, d->ce_state);
			mlcc_send_ack(sk, d->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	d->prior_rcv_nxt = tcp_sk(sk)->rcv_nxt;
	d->ce_state = ce;
	mlcc_echo(sk, ce);
}
