/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * When a job defers because its rate shows that it is not alone.
 *
 * A queue that serves its flows in turn (fq_codel, fq, a switch with fair queueing) looks empty to
 * each while others are there, and a small window gets a full share.  But the rate tells.  A job
 * that found the queue empty and yet gets less than two thirds of the best rate that it has had,
 * over 1/32 of its bytes, defers if it has not had the link in this phase: paced at 1/32 of the
 * link, for a random time around 1/16 of what the phase takes alone; the second time 1/8, the third
 * 1/4, as stations on a shared medium do.
 *
 * A rate may vary for other reasons.  Deferring pays if the job then has the link sooner than in a
 * phase that looked and did not defer, as the second that could, and now and then one, does.  What
 * is spent in vain is a debt, which ends deferring at a quarter of a phase, and is forgiven by 1/256
 * of one a phase.
 *
 * Times are microseconds.  Whoever calls has a lock; without it "defer_until" is looked at, as a
 * hint.
 */
#ifndef MLCC_NET_QUEUE_H
#define MLCC_NET_QUEUE_H

#include "../../include/mlcc/types.h"

#define MLCC_PART_SHIFT		5	/* rates are of 1/32 of D_phase; deferring is as slow */
#define MLCC_DEFERRALS		3U	/* in a phase: 1/16 of it, 1/8, 1/4 */
#define MLCC_WHOLE_SHIFT	10	/* parts of a phase are in 1/1024 */
#define MLCC_DEBT_MAX		256	/* spent in vain by one that has never gained */
#define MLCC_DEBT_LEAST		-512	/* one that has gained may spend so much more */
#define MLCC_DEBT_FORGIVEN	4	/* in a phase */
#define MLCC_DEFER_PHASES	12U	/* phases that defer between two that do not */
#define MLCC_COST_SHIFT		20
#define MLCC_COST_MAX		0x800000U	/* 1 Mb/s */

struct mlcc_queue {
	u64 start_us;		/* when the measurement of a rate began, 0: there is none */
	u64 start_acked;	/* bytes of the job, then */
	u64 first_acked;	/* bytes of the job at the first one of the phase */
	u64 defer_until;	/* the job defers until then, 0: it does not */
	u32 byte_cost;		/* us that a byte takes the link at best, Q20; 0: not known */
	u32 last_cost;		/* of the measurement just before, 0: none */

	/* whether deferring pays */
	s32 debt;
	u32 without;		/* "left" of the last phase that only looked */
	u32 tries;		/* phases that deferred since; 1: there was no such phase yet */

	/* of this phase */
	u32 fast;		/* the job has had the link */
	u32 left;		/* how much of the phase was to come then */
	u32 deferrals;		/* how often it has deferred */
	u32 spent;		/* for so much of what the phase takes alone */
	u32 looked;		/* it would have, but for its debt or to compare */
};

/* The phase is over: has deferring paid? */
static inline void mlcc_queue_settle(struct mlcc_queue *q)
{
	u32 left = q->fast ? q->left : 0;

	if (q->spent) {
		q->tries++;
		q->debt += q->spent;
		if (left >= q->without + (q->spent >> 1))
			q->debt = MLCC_DEBT_LEAST;
	} else if (q->looked) {
		q->tries = 2;
		q->without = left;
	}
	if (q->debt > 0)
		q->debt -= q->debt < MLCC_DEBT_FORGIVEN ? q->debt : MLCC_DEBT_FORGIVEN;
}

/*
 * Another phase begins.  What is known of the link is forgotten by 1/32; by 1/8 where a phase had
 * nothing like it and did not defer.
 */
static inline void mlcc_queue_rollover(struct mlcc_queue *q)
{
	u32 age = q->looked && !q->fast ? 3 : 5;

	mlcc_queue_settle(q);
	*q = (struct mlcc_queue){
		.byte_cost = q->byte_cost + (q->byte_cost >> age) + !!q->byte_cost,
		.debt = q->debt, .without = q->without, .tries = q->tries,
	};
}

/*** Rates ***/

/* us a byte, Q20.  @us: below 2^44. */
static inline u32 mlcc_cost(u64 us, u64 bytes)
{
	u64 cost = bytes ? (us << MLCC_COST_SHIFT) / bytes : MLCC_COST_MAX;

	return cost < MLCC_COST_MAX ? cost : MLCC_COST_MAX;
}

/* How long the link needs for @bytes, us, at @cost. */
static inline u64 mlcc_burst(u64 bytes, u32 cost)
{
	return ((bytes >> 6) * cost) >> (MLCC_COST_SHIFT - 6);
}

/* What it takes to defer once more. */
static inline u32 mlcc_queue_price(const struct mlcc_queue *q)
{
	return 1U << (MLCC_WHOLE_SHIFT - MLCC_DEFERRALS - 1 + q->deferrals);
}

/* Whether a job that is slow is to defer. */
static inline bool mlcc_queue_pays(struct mlcc_queue *q)
{
	if (q->fast || q->deferrals >= MLCC_DEFERRALS)
		return false;
	if (q->tries != 1 && q->tries < MLCC_DEFER_PHASES &&
	    q->debt + (s32)(q->spent + mlcc_queue_price(q)) <= MLCC_DEBT_MAX)
		return true;
	q->looked = 1;
	return false;
}

/*
 * A measurement that began after @part of the phase has given @cost.  Only a rate that the job had
 * in two in a row counts: when a recovery ends, all that had arrived meanwhile is acknowledged at
 * once.  Returns whether the job is to defer.
 */
static inline bool mlcc_queue_slow(struct mlcc_queue *q, u32 cost, u64 part)
{
	u32 last = q->last_cost, both = cost > last ? cost : last, most;

	q->last_cost = cost;
	if (!last)
		return false;
	if (!q->byte_cost || both < q->byte_cost)
		q->byte_cost = both;
	most = q->byte_cost + (q->byte_cost >> 1);
	if (both <= most && !q->fast) {
		q->left = part >> MLCC_WHOLE_SHIFT ? 0 : (1U << MLCC_WHOLE_SHIFT) - part;
		q->fast = 1;
	}
	return cost > most && mlcc_queue_pays(q);
}

/*
 * The job fills the link as far as it can: @acked bytes at @now, of a phase of @d; @rtt us.
 * Returns whether it is to defer.
 */
static inline bool mlcc_queue_sample(struct mlcc_queue *q, u64 now, u64 acked, u64 d, u32 rtt)
{
	u64 start = q->start_us, bytes = acked - q->start_acked;
	u64 part = d ? ((q->start_acked - q->first_acked) << MLCC_WHOLE_SHIFT) / d : 0;
	bool slow;

	if (start && (bytes < d >> MLCC_PART_SHIFT || now < start + 2ULL * rtt))
		return false;
	slow = start && mlcc_queue_slow(q, mlcc_cost(now - start, bytes), part);
	if (!start && !q->deferrals)
		q->first_acked = acked;
	q->start_acked = acked;
	q->start_us = now;
	return slow;
}

/*** Deferring ***/

static inline bool mlcc_queue_defers(const struct mlcc_queue *q, u64 now)
{
	return now < q->defer_until;
}

/* Half to one and a half of @us, at random: jobs that meet must not meet again. */
static inline u64 mlcc_queue_about(u64 us, u64 seed)
{
	u64 r = (seed * 0x9e3779b97f4a7c15ULL) >> 48;

	return (us >> 1) + ((us >> 16) * r) + (((us & 0xffff) * r) >> 16);
}

/* Defers from @now on; the phase has @d bytes. */
static inline void mlcc_queue_defer(struct mlcc_queue *q, u64 now, u64 acked, u64 d)
{
	u64 about = mlcc_burst(d, q->byte_cost) >> (MLCC_DEFERRALS + 1 - q->deferrals);

	q->spent += mlcc_queue_price(q);
	q->deferrals++;
	/* until then its rate says nothing */
	q->start_us = 0;
	q->last_cost = 0;
	MLCC_WRITE(q->defer_until, now + mlcc_queue_about(about, now ^ acked << 20));
}

#endif /* MLCC_NET_QUEUE_H */
