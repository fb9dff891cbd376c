/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A background flow takes what the others leave: it follows the delay that it adds (LEDBAT,
 * RFC 6817), and comes down by a factor, so that two of them share (LEDBAT++,
 * draft-irtf-iccrg-ledbat-plus-plus).
 *
 *	queue  = RTT - the path's least - how long the ACK has waited	path.h, reverse.h
 *	target = half of what hosts and their bursts add to a round trip
 *
 *	queue of an ACK			the window
 *	up to target / 2		doubles each round trip up to ssthresh, then as below
 *	up to target			grows by a segment a round trip
 *	more				stays
 *
 *	the least of a round trip
 *	more than target		comes down by (queue - target) / target, by half at most;
 *					the first time, ssthresh becomes what is left
 *
 * So a job that begins a phase beside a background flow finds the link free, and has it a few round
 * trips later.  The target uses the best rate that the job has had.  A loss, a mark
 * and an RTO decrease the window, and set ssthresh, as under the base; nothing here raises it
 * faster than Reno would.  It never comes down below two segments.
 *
 * A flow that is alone keeps a queue of its own, and would take it for the path in time.  So where
 * the path has not been seen empty for a whole epoch, at the end of it the window comes down to two
 * segments for a round trip, and doubles back.  Hosts agree on no epochs; the flows of one do.  A
 * path that has become longer is believed after MLCC_PATH_PHASES or twice as many, 5 to 10 minutes.
 */
#ifndef MLCC_BACKGROUND_H
#define MLCC_BACKGROUND_H

#include "flow.h"

#define MLCC_BURST_SEGMENTS	10U	/* that leave at once are no queue */
#define MLCC_JITTER_US		100U	/* what a host's timers may add to half a short RTT */
#define MLCC_EPOCH_SHIFT	24	/* an epoch has 2^24 us, 17 s */
#define MLCC_RATE_SEGMENTS	64U	/* that a rate is measured of, at least */

/* What the last look at the queue before the data has shown. */
enum mlcc_seen {
	MLCC_SEEN_SHORT,
	MLCC_SEEN_DEEP,		/* somebody is there */
	MLCC_SEEN_EMPTY,	/* nobody is there */
};

/* A flow becomes a background flow, at @now us: nothing is known yet, so it starts slowly. */
static __always_inline void mlcc_background_begin(struct mlcc_flow *f, u64 now)
{
	f->seq = now >> MLCC_EPOCH_SHIFT;
	f->seen = MLCC_SEEN_EMPTY;
	f->looked = now;
	f->least = ~0U;
	f->counted = 1;
	f->credit = 0;
}

/* It is a background flow no longer. */
static __always_inline void mlcc_background_end(struct mlcc_flow *f)
{
	f->seq = 0;
	f->seen = MLCC_SEEN_SHORT;
	f->sent = 0;
	f->counted = 0;
	f->credit = 0;
}

/* An epoch is over: does the flow have to look below its own queue? */
static __always_inline void mlcc_background_epoch(struct mlcc_flow *f, struct mlcc_job *j,
						  struct mlcc_path *path, u64 now,
						  struct mlcc_win *w)
{
	u16 epoch = now >> MLCC_EPOCH_SHIFT;

	if (f->seq == epoch)
		return;
	f->seq = epoch;
	if (MLCC_READ(path->seq) != epoch)	/* forgotten as from phase to phase */
		MLCC_WRITE(j->rate_best, j->rate_best + (j->rate_best >> 5));
	mlcc_path_phase(path, epoch);
	if (MLCC_READ(path->phases) <= 1 || w->cwnd <= MLCC_LEFT_MIN)
		return;
	w->ssthresh = w->cwnd;
	w->cwnd = MLCC_LEFT_MIN;
	f->looked = now;
	f->least = ~0U;
}

/*
 * A round trip's least queue was too long.  A flow that comes down for others several times in a
 * row may double again up to half of what filled the link; one that has only filled it does not.
 */
static __always_inline void mlcc_background_decrease(struct mlcc_flow *f, u32 target,
						     struct mlcc_win *w)
{
	u64 beta = MLCC_DIV64((u64)(f->least - target) << MLCC_SHIFT, (u64)target);

	w->cwnd = mlcc_decrease(w->cwnd, beta < MLCC_ONE / 2 ? beta : MLCC_ONE / 2, MLCC_ONE);
	if (f->counted)
		w->ssthresh = w->cwnd;
	f->counted = 0;
}

/* What hosts and their timers add to a round trip, us. */
static __always_inline u32 mlcc_background_jitter(u32 min_rtt)
{
	u32 jitter = min_rtt >> 1;

	if (jitter > MLCC_JITTER_US)
		jitter = MLCC_JITTER_US;
	return jitter > min_rtt >> 3 ? jitter : min_rtt >> 3;
}

/* us */
static __always_inline u32 mlcc_background_target(const struct mlcc_job *j,
						  const struct mlcc_ack *a)
{
	u32 burst = mlcc_rate_us(MLCC_BURST_SEGMENTS * a->mss, MLCC_READ(j->rate_best));

	return ((mlcc_background_jitter(a->min_rtt) + burst) >> 1) + 1;
}

/*
 * What the job has had of the link.  Only a rate that it had in two measurements in a row counts:
 * when a recovery ends, all that had arrived meanwhile is acknowledged at once.
 */
static __always_inline void mlcc_background_rate(struct mlcc_job *j, const struct mlcc_ack *a)
{
	u32 us, cost, last;
	u64 bytes;

	if (MLCC_CAS32(&j->busy, 0, 1))
		return;
	us = (u32)a->now - j->rate_us;
	bytes = MLCC_READ(j->acked) - j->rate_acked;
	if (bytes >= MLCC_RATE_SEGMENTS * a->mss && us >> 1 >= a->rtt) {
		last = j->rate_last;
		cost = mlcc_rate_cost(us, bytes);
		j->rate_last = cost;
		if (cost < last)
			cost = last;
		if (last && (!j->rate_best || cost < j->rate_best))
			MLCC_WRITE(j->rate_best, cost);
		j->rate_acked += bytes;
		j->rate_us = a->now;
	}
	MLCC_CAS32(&j->busy, 1, 0);
}

/*
 * A round trip has been measured; @a->min_rtt becomes the path's.  Of a change of the window only
 * what was sent after it can tell, for as long as a round trip.
 */
static __always_inline void mlcc_background_rtt(struct mlcc_flow *f, struct mlcc_job *j,
						struct mlcc_path *path, struct mlcc_ack *a,
						struct mlcc_win *w)
{
	u32 since = (u32)a->now - f->looked, queue, target, wait;

	a->min_rtt = mlcc_path_rtt(path, a);
	wait = a->min_rtt + mlcc_reverse(&f->reverse, a);
	queue = a->rtt > wait ? a->rtt - wait : 0;
	target = mlcc_background_target(j, a);
	f->seen = queue > target ? MLCC_SEEN_DEEP : MLCC_SEEN_SHORT;
	if (queue <= target >> 1) {
		f->seen = MLCC_SEEN_EMPTY;
		mlcc_path_anew(path);
	}
	if (!w->open || since < a->rtt)
		return;
	if (f->least > queue)
		f->least = queue;
	if (since >> 1 >= a->rtt) {
		if (f->least > target)
			mlcc_background_decrease(f, target, w);
		f->looked = a->now;
		f->least = ~0U;
		mlcc_background_rate(j, a);
	}
	mlcc_background_epoch(f, j, path, a->now, w);
}

/* Segments that @acked ones add to the window. */
static __always_inline u32 mlcc_background_increase(struct mlcc_flow *f, const struct mlcc_win *w,
						    u32 acked)
{
	u32 left = w->ssthresh > w->cwnd ? w->ssthresh - w->cwnd : 0;

	if (w->cwnd < MLCC_LEFT_MIN)
		return MLCC_LEFT_MIN - w->cwnd;
	if (f->seen == MLCC_SEEN_DEEP)
		return 0;
	f->counted = 1;
	if (f->seen == MLCC_SEEN_EMPTY && left)
		return acked < left ? acked : left;
	return mlcc_increase(f, w->cwnd, acked, MLCC_ONE);
}

#endif /* MLCC_BACKGROUND_H */
