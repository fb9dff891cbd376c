// SPDX-License-Identifier: GPL-2.0
/* TCP's own pacing: of flows on long paths, and with a limit of those that defer (queue.h). */
#include "mlcc.h"

void mlcc_pace_on(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/*
 * Who has set a limit of his own is paced by it.  Called eight times a round trip, so it looks
 * first: most are not paced.
 */
void mlcc_pace_off(struct sock *sk)
{
	if (READ_ONCE(sk->sk_pacing_status) == SK_PACING_NEEDED &&
	    READ_ONCE(sk->sk_max_pacing_rate) == ~0UL)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED, SK_PACING_NONE);
}

void mlcc_pace(struct sock *sk, unsigned long rate)
{
	mlcc_pace_on(sk);
	WRITE_ONCE(sk->sk_max_pacing_rate, rate);
	WRITE_ONCE(sk->sk_pacing_rate, min(READ_ONCE(sk->sk_pacing_rate), rate));
}

/* TCP computes sk_pacing_rate with the next ACK; what is sent before that need not wait. */
void mlcc_pace_stop(struct sock *sk)
{
	WRITE_ONCE(sk->sk_max_pacing_rate, ~0UL);
	WRITE_ONCE(sk->sk_pacing_rate, ~0UL);
	mlcc_pace_off(sk);
}
