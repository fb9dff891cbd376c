// SPDX-License-Identifier: GPL-2.0
/*
 * Pacing of flows that hold back (include/mlcc/fair.h).
 *
 * The window would not do: in a rack two segments are a share of the link.  So TCP's own pacing is
 * switched on, with a limit, for as long as the flow holds back; what it was before comes back.  A
 * socket whose owner has set a limit (SO_MAX_PACING_RATE) is left alone.
 */
#include "mlcc.h"

static void mlcc_pace(struct sock *sk, struct mlcc_sk *ca, const struct mlcc_fair *fair)
{
	unsigned long rate = mlcc_fair_pace(fair);

	if (READ_ONCE(sk->sk_max_pacing_rate) != ~0UL) {
		ca->flow.held = 0;
		return;
	}
	ca->paced = MLCC_PACED_RATE;
	if (cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED) == SK_PACING_NONE)
		ca->paced = MLCC_PACED;
	WRITE_ONCE(sk->sk_max_pacing_rate, rate);
	WRITE_ONCE(sk->sk_pacing_rate, min(READ_ONCE(sk->sk_pacing_rate), rate));
}

/* TCP computes sk_pacing_rate with the next ACK; what is sent before that need not wait. */
static void mlcc_pace_stop(struct sock *sk, struct mlcc_sk *ca)
{
	if (ca->paced == MLCC_PACED)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED, SK_PACING_NONE);
	WRITE_ONCE(sk->sk_max_pacing_rate, ~0UL);
	WRITE_ONCE(sk->sk_pacing_rate, ~0UL);
	ca->paced = MLCC_PACED_NOT;
}

/* Paces a flow that has begun to hold back, and no longer one that has ceased to. */
void mlcc_pace_change(struct sock *sk, const struct mlcc_fair *fair)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (ca->flow.held)
		mlcc_pace(sk, ca, fair);
	else
		mlcc_pace_stop(sk, ca);
}

/*
 * A flow goes on whatever its job does: it has no job any more, or a recovery, in which nobody
 * looks at the time.
 */
void mlcc_pace_end(struct sock *sk)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	ca->flow.held = 0;
	if (ca->paced)
		mlcc_pace_stop(sk, ca);
}
