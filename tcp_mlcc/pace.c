// SPDX-License-Identifier: GPL-2.0
/* TCP's own pacing: of flows on long paths, and with a limit of those that defer (queue.h). */
#include "mlcc.h"

void mlcc_pace_on(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

void mlcc_pace(struct sock *sk, unsigned long rate)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	ca->paced = MLCC_PACED_RATE;
	if (cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED) == SK_PACING_NONE)
		ca->paced = MLCC_PACED;
	WRITE_ONCE(sk->sk_max_pacing_rate, rate);
	WRITE_ONCE(sk->sk_pacing_rate, min(READ_ONCE(sk->sk_pacing_rate), rate));
}

/* TCP computes sk_pacing_rate with the next ACK; what is sent before that need not wait. */
void mlcc_pace_stop(struct sock *sk)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (ca->paced == MLCC_PACED)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED, SK_PACING_NONE);
	WRITE_ONCE(sk->sk_max_pacing_rate, ~0UL);
	WRITE_ONCE(sk->sk_pacing_rate, ~0UL);
}
