/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The window of a job over a path: one congestion controller for all its flows there (coupled
 * congestion control, RFC 3124, RFC 6356).  A flow's window is a share of it, so 64 flows behave as
 * one; one that is done leaves its share to the others, and the last one has all.
 *
 *	share	window / flows with something in flight, or paced: with less than two segments
 *	growth	window += MSS * flows * grow, 1/32 of it at most, each round trip	rule.h
 *		(where the queue marks 1/8 of what fills the link)
 *	a mark	window -= window * alpha / 2 * yield, once a round trip			dctcp.h
 *	a loss	window -= window * beta of the base, once a round trip
 *
 * A job that comes back with the window it left with overruns the buffer or halves what the others
 * get, just when they are about to finish.  So a phase starts with ten segments for the whole job:
 *
 *	          a round trip near the path's least: nobody else uses the link
 *	+-------+ ----------------------------------------------------------> +------+
 *	| WAITS |                                                             | FREE |
 *	+-------+ -------> +-----------+ -----------------------------------> +------+
 *	  ten segments     | TIMED_OUT |   patience is over: the last window, as the base has it
 *
 *	- one short round trip is proof that the link is free, whatever noise there is: hosts, their
 *	  bursts and their interrupts only ever make round trips longer.  From there on the job has
 *	  the link, and takes at once what fills it: its best rate times the round trip that its own
 *	  hosts are known to make, and as much again as others take for a queue;
 *	- what its hosts add is learnt where the job is alone: the round trip at which a window did
 *	  not fill the link yet, or what the job waited for, though it then had its best rate;
 *	- a job that waits grows by the rule, for no longer than twice its iteration: jobs that fit
 *	  leave the link free before that is over, an ordinary long flow never does.  Each phase
 *	  whose wait does not end by itself quarters the patience; after MLCC_TIMEOUTS_MAX in a row
 *	  the job keeps its window, as its base does, until a phase finds the link free.
 *
 * So jobs are served in the order in which they come, and queues are short.
 *
 * Flows of a job run on many CPUs.  They read this line several times a round trip, and write it
 * once a round trip each; what follows from that is done by the one that wins "busy".  Windows are
 * bytes, times us of one monotonic clock, low 32 bits where differences count.
 */
#ifndef MLCC_WINDOW_H
#define MLCC_WINDOW_H

#include "path.h"
#include "phase.h"
#include "rule.h"
#include "types.h"

#define MLCC_START_BYTES	14480U	/* ten segments of 1,448 (RFC 6928) */
#define MLCC_NOISE_MAX_US	500U	/* what hosts may add before it is a queue */
#define MLCC_JITTER_SHIFT	1	/* ... and half of the least round trip, whatever they do */
#define MLCC_TIMEOUTS_MAX	3U	/* vain waits in a row before the window is kept */
#define MLCC_GROW_SHIFT		5	/* the rule adds up to 1/32 of the window a round trip */
#define MLCC_FULL_SHIFT		3	/* to 1/8 rates are known: a window above 7/8 is full */
#define MLCC_ALONE_SHIFT	1	/* alone: no slower than best rate and 1/2; two are twice */
#define MLCC_MARKED_ROUNDS	2U	/* whole round trips without a mark are a free link */
#define MLCC_PACE_SHIFT		1	/* a flow has half a segment a round trip at least */
#define MLCC_WINDOW_COST_SHIFT	28
#define MLCC_WINDOW_MAX		0x80000000U

enum mlcc_window_state {
	MLCC_WINDOW_NONE,	/* no phase with a known D_phase yet: flows do as the base does */
	MLCC_WINDOW_WAITS,
	MLCC_WINDOW_TIMED_OUT,	/* waited for too long, or does not wait any more */
	MLCC_WINDOW_FREE,
};

/*** Rates ***/

/* us a byte, Q28, so that 3 Tb/s are 700 units and 1 Mb/s still fits.  @us: below 2^36. */
static __always_inline u32 mlcc_rate_cost(u64 us, u64 bytes)
{
	return mlcc_us32(bytes ? MLCC_DIV64(us << MLCC_WINDOW_COST_SHIFT, bytes) : ~0ULL);
}

/* How long @bytes take at @cost, us; 0 as long as that is not known. */
static __always_inline u32 mlcc_rate_us(u32 bytes, u32 cost)
{
	return ((u64)bytes * cost) >> MLCC_WINDOW_COST_SHIFT;
}

/* What the link carries in @us, bytes.  Its rate is known. */
static __always_inline u32 mlcc_window_bytes(const struct mlcc_path *p, u32 us)
{
	u64 bytes = MLCC_DIV64((u64)us << MLCC_WINDOW_COST_SHIFT, (u64)MLCC_READ(p->cost));

	return bytes < MLCC_WINDOW_MAX ? bytes : MLCC_WINDOW_MAX;
}

/*** Is somebody there? ***/

/* What a round trip may be longer than the least one without anybody else, us. */
static __always_inline u32 mlcc_window_slack(const struct mlcc_path *p, u32 mss)
{
	return (MLCC_READ(p->min_rtt) >> MLCC_JITTER_SHIFT) + 1 +
	       mlcc_rate_us(mlcc_max(2 * mss, MLCC_START_BYTES), MLCC_READ(p->cost));
}

/* What fills the link while hosts add @noise us, and shows others a queue. */
static __always_inline u32 mlcc_window_fills(const struct mlcc_path *p, u32 noise, u32 mss)
{
	return mlcc_window_bytes(p, p->min_rtt + noise + 2 * mlcc_window_slack(p, mss));
}

/* What a round trip of @rtt is longer than the least one, us. */
static __always_inline u32 mlcc_window_queue(const struct mlcc_path *p, u32 rtt)
{
	return rtt > p->min_rtt ? rtt - p->min_rtt : 0;
}

/* From now on the job takes the link, and its rate says something. */
static __always_inline void mlcc_window_has(struct mlcc_path *p, u64 now)
{
	p->has_us = now;
	p->has_acked = MLCC_READ(p->acked);
}

/* Nobody is there: takes what fills the link, unless that has been too much before. */
static __always_inline void mlcc_window_free(struct mlcc_path *p, u64 now, u32 rtt, u32 mss)
{
	u32 slack = mlcc_window_slack(p, mss), queue = mlcc_window_queue(p, rtt);

	p->target = MLCC_WINDOW_MAX;
	if (p->cost) {
		p->target = mlcc_window_fills(p, p->noise, mss);
		MLCC_WRITE(p->window, mlcc_max(p->window, mlcc_min(p->target, p->ssthresh)));
	}
	/*
	 * So little cannot be told from a queue.  Half of the slack is left, or the next round trip
	 * that is a little longer was others'.
	 */
	if (p->behind <= 2 * (p->noise + slack))
		p->noise_now = mlcc_max(p->noise_now, p->behind);
	if (!p->behind && queue > slack >> 1)
		p->noise_now = mlcc_max(p->noise_now, queue - (slack >> 1));
	mlcc_window_has(p, now);
	MLCC_WRITE(p->state, MLCC_WINDOW_FREE);
}

/* Does not wait any more: back to the last window, if there is one, by slow start. */
static __always_inline void mlcc_window_give_up(struct mlcc_path *p, u64 now)
{
	p->target = p->last ? p->last : MLCC_WINDOW_MAX;
	mlcc_window_has(p, now);
	MLCC_WRITE(p->state, MLCC_WINDOW_TIMED_OUT);
}

/* Another queue than the job's own, @rtt without what ACKs have waited; @ecn: it marks. */
static __always_inline bool mlcc_window_sees(struct mlcc_path *p, u32 rtt, u32 mss, bool ecn)
{
	u32 queue = mlcc_window_queue(p, rtt);

	/* what a job starts with is marked in a queue of others only, which may be a short one */
	if (ecn && MLCC_READ(p->state) == MLCC_WINDOW_WAITS &&
	    MLCC_READ(p->round) - MLCC_READ(p->cut) <= MLCC_MARKED_ROUNDS)
		return true;
	if (queue <= p->noise + mlcc_window_slack(p, mss)) {
		mlcc_path_anew(p);
		return false;
	}
	if (MLCC_READ(p->state) == MLCC_WINDOW_WAITS && MLCC_READ(p->behind) < queue)
		MLCC_WRITE(p->behind, queue);
	return true;
}

/*** Round trips ***/

/*
 * What the job's hosts have added in this round trip, us, if the window did not fill the link: the
 * mean.  If the least one has seen no queue, all of the longest: the window is still too small.
 */
static __always_inline u32 mlcc_window_hosts(const struct mlcc_path *p, u32 mss)
{
	u32 least = mlcc_window_queue(p, p->round_least);
	u32 most = mlcc_window_queue(p, p->round_most);

	return least <= mlcc_window_slack(p, mss) ? most : ((u64)least + most) >> 1;
}

/*
 * The link is the job's, and the window does not fill it: so the round trips are not of the job's
 * own queue, but of its hosts.
 */
static __always_inline void mlcc_window_fill(struct mlcc_path *p, u32 mss)
{
	u32 noise, fills, to;

	if (p->state < MLCC_WINDOW_TIMED_OUT || !p->cost)
		return;
	noise = mlcc_min(mlcc_window_hosts(p, mss), MLCC_NOISE_MAX_US);
	fills = mlcc_window_bytes(p, p->min_rtt + noise);
	if (p->window >= fills - (fills >> MLCC_FULL_SHIFT))
		return;
	p->noise_now = mlcc_max(p->noise_now, noise);
	to = mlcc_window_fills(p, noise, mss);
	/* who does not wait any more is on the way to the last window, beside others */
	if (p->state == MLCC_WINDOW_FREE || to > p->target)
		p->target = to;
}

/*
 * What the rule adds in a round trip, bytes; more than the paper's 2 while it is a small part.
 * What is too much for a queue that marks (@ecn) is not lost: there a window that came down comes
 * back sooner.
 */
static __always_inline u32 mlcc_window_adds(const struct mlcc_path *p, u32 mss, u32 grow, bool ecn)
{
	u32 add = ((u64)mss * MLCC_READ(p->flows) * grow) >> MLCC_SHIFT;
	u32 most = p->window >> MLCC_GROW_SHIFT;

	if (ecn)
		most = mlcc_max(most, p->target >> MLCC_FULL_SHIFT);
	return mlcc_min(add, mlcc_max(most, 2 * mss));
}

/* The window of another round trip.  @grow: Q16, of the rule. */
static __always_inline void mlcc_window_grow(struct mlcc_path *p, u32 mss, u32 grow, bool ecn)
{
	u32 window = p->window, most;

	if (p->limited != p->round || p->round - p->cut <= 1)
		return;
	mlcc_window_fill(p, mss);
	most = mlcc_min(p->target, p->ssthresh);
	if (window < most)
		window = window < most >> 1 ? 2 * window : most;
	else
		window += mlcc_window_adds(p, mss, grow, ecn);
	MLCC_WRITE(p->window, mlcc_min(window, MLCC_WINDOW_MAX));
}

/* A round trip is over, and may be a wait. */
static __always_inline void mlcc_window_round(struct mlcc_path *p, u64 now, u32 mss, u32 grow,
					      bool ecn)
{
	if (p->state == MLCC_WINDOW_WAITS && (u32)now - p->began_us >= p->patience_us)
		mlcc_window_give_up(p, now);
	if (p->state != MLCC_WINDOW_NONE)
		mlcc_window_grow(p, mss, grow, ecn);
	MLCC_WRITE(p->round_us, now);
	MLCC_WRITE(p->round_least, ~0U);
	MLCC_WRITE(p->round_most, 0);
	MLCC_WRITE(p->round, p->round + 1);
}

/*
 * A flow has measured a round trip of @rtt us, without what its ACK has waited; @grow: Q16; @ecn:
 * the queue marks.  Called several times a round trip for each flow.
 */
static __always_inline void mlcc_window_look(struct mlcc_path *p, u64 now, u32 rtt, u32 mss,
					     u32 grow, bool ecn)
{
	bool waits = MLCC_READ(p->state) == MLCC_WINDOW_WAITS ||
		     MLCC_READ(p->state) == MLCC_WINDOW_TIMED_OUT;
	bool is_free = waits && !mlcc_window_sees(p, rtt, mss, ecn);

	if (rtt < MLCC_READ(p->round_least))
		MLCC_WRITE(p->round_least, rtt);
	if (rtt > MLCC_READ(p->round_most))
		MLCC_WRITE(p->round_most, rtt);
	if (!is_free && (u32)now - MLCC_READ(p->round_us) < rtt)
		return;
	if (MLCC_CAS32(&p->busy, 0, 1))
		return;
	if (is_free && p->state != MLCC_WINDOW_FREE)
		mlcc_window_free(p, now, rtt, mss);
	if ((u32)now - p->round_us >= rtt)
		mlcc_window_round(p, now, mss, grow, ecn);
	MLCC_CAS32(&p->busy, 1, 0);
}

/* A flow's @bytes were acknowledged; @limited by its window. */
static __always_inline void mlcc_window_acked(struct mlcc_path *p, u64 now, u32 bytes, bool limited)
{
	MLCC_FETCH_ADD64(&p->acked, bytes);
	MLCC_WRITE(p->last_us, now);
	if (limited && MLCC_READ(p->limited) != MLCC_READ(p->round))
		MLCC_WRITE(p->limited, p->round);
}

/* A flow has something in flight from now on. */
static __always_inline void mlcc_window_join(struct mlcc_path *p)
{
	u32 flows = MLCC_FETCH_ADD32(&p->flows, 1) + 1;

	if (MLCC_READ(p->flows_most) < flows)
		MLCC_WRITE(p->flows_most, flows);
}

/* ... and nothing any more: it leaves its share to the others. */
static __always_inline void mlcc_window_leave(struct mlcc_path *p)
{
	if (!MLCC_FETCH_ADD32(&p->flows, -1))	/* the place has been another peer's since */
		MLCC_FETCH_ADD32(&p->flows, 1);
}

/* What each of @flows has of @bytes, segments. */
static __always_inline u32 mlcc_window_part(u32 bytes, u32 flows, u32 mss)
{
	return mlcc_max(MLCC_DIV64((u64)bytes, (u64)mlcc_max(flows, 1) * mss), MLCC_LEFT_MIN);
}

/* What a flow has of the window, segments. */
static __always_inline u32 mlcc_window_share(const struct mlcc_path *p, u32 mss)
{
	return mlcc_window_part(MLCC_READ(p->window), MLCC_READ(p->flows), mss);
}

/*
 * The rate of a flow whose share is less than two segments, bytes/s; 0: it is not, or @rtt (us) is
 * not known.  Two segments at a time, for the ACK of one is delayed, and at least each fourth round
 * trip, or it is late to see that the link is free.
 */
static __always_inline u32 mlcc_window_pace(const struct mlcc_path *p, u32 mss, u32 rtt)
{
	u32 window = MLCC_READ(p->window), flows = mlcc_max(MLCC_READ(p->flows), 1);
	u64 share, rate;

	if (!rtt || window >= (u64)flows * MLCC_LEFT_MIN * mss)
		return 0;
	share = mlcc_max(MLCC_DIV64((u64)window, (u64)flows), mss >> MLCC_PACE_SHIFT);
	rate = MLCC_DIV64(share * 1000000, (u64)rtt);
	return rate < ~0U ? rate : ~0U;
}

/*
 * A flow has lost something, or seen a mark: takes @beta (Q16) of the window, once a round trip,
 * and the most that any flow asks for.  @same: the flow has asked before, for the same event.
 */
static __always_inline void mlcc_window_cut(struct mlcc_path *p, u32 beta, u32 mss, bool same)
{
	bool again = MLCC_READ(p->cut) == MLCC_READ(p->round);
	u32 window, left;

	if (MLCC_CAS32(&p->busy, 0, 1))
		return;
	window = again ? p->before : p->window;
	left = mlcc_max(window - (u32)(((u64)window * beta) >> MLCC_SHIFT), 2 * mss);
	if (!again) {
		p->before = window;
		p->before_ssthresh = p->ssthresh;
		p->lost++;
		MLCC_WRITE(p->cut, p->round);
	}
	/* what others have seen, too, was no mistake */
	MLCC_WRITE(p->undo, !again || (same && p->undo));
	if (!again || left < p->window) {
		p->ssthresh = left;
		MLCC_WRITE(p->window, left);
	}
	MLCC_CAS32(&p->busy, 1, 0);
}

/* The last decrease was none: what had seemed lost was late. */
static __always_inline void mlcc_window_undo(struct mlcc_path *p)
{
	u32 window = MLCC_READ(p->before);

	if (!MLCC_READ(p->undo) || window <= MLCC_READ(p->window))
		return;
	MLCC_WRITE(p->ssthresh, mlcc_max(p->before_ssthresh, window));
	MLCC_WRITE(p->window, window);
	MLCC_WRITE(p->lost, p->lost - 1);
	MLCC_WRITE(p->undo, 0);
}

/*** Phases ***/

/*
 * What the link took for a byte, since the job has had it, is its rate, if it is the best one yet:
 * of a good part of a phase, for hosts hand on in bursts what has come meanwhile.  Returns whether
 * the job was alone.
 */
static __always_inline bool mlcc_window_alone(struct mlcc_path *p)
{
	u64 bytes = p->acked - p->has_acked;
	u32 cost;

	if (p->state == MLCC_WINDOW_WAITS || bytes <= (p->acked - p->start_acked) >> 2)
		return false;
	cost = mlcc_rate_cost(p->last_us - p->has_us, bytes);
	if (!p->cost || cost < p->cost)
		MLCC_WRITE(p->cost, cost);
	return cost <= p->cost + (p->cost >> MLCC_ALONE_SHIFT);
}

/* @us of what looked like others' queue was of the job's hosts. */
static __always_inline void mlcc_window_learn(struct mlcc_path *p, u32 us)
{
	us = mlcc_min(us, MLCC_NOISE_MAX_US);
	if (p->noise <= us)
		p->noise = us;
	else
		p->noise -= (p->noise - us + 7) >> 3;
}

/* Whether the phase has waited until its patience was over: what it then had was no proof. */
static __always_inline bool mlcc_window_vain(const struct mlcc_path *p)
{
	return p->state != MLCC_WINDOW_FREE || p->has_us - p->began_us >= p->patience_us;
}

/* A phase has ended.  Who keeps its window, and is alone, had waited for its own hosts. */
static __always_inline void mlcc_window_ended(struct mlcc_path *p)
{
	bool alone = mlcc_window_alone(p), kept = p->timeouts >= MLCC_TIMEOUTS_MAX;
	u32 alarm = p->behind + (p->behind >> 2);

	if (p->state >= MLCC_WINDOW_TIMED_OUT && alone)
		mlcc_window_learn(p, kept && p->noise_now < alarm ? alarm : p->noise_now);
	if (!mlcc_window_vain(p))
		p->timeouts = 0;
	else if (p->state != MLCC_WINDOW_NONE && !kept)
		p->timeouts++;
	if (!p->ssthresh || (!p->lost && p->ssthresh > MLCC_WINDOW_MAX / 2))
		p->ssthresh = MLCC_WINDOW_MAX;
	else if (!p->lost)	/* nothing says that it was too large */
		p->ssthresh += p->ssthresh >> 3;
	p->cost += (p->cost >> 5) + !!p->cost;	/* what was known of the link is forgotten */
}

/* Counts from here on. */
static __always_inline void mlcc_window_reset(struct mlcc_path *p, u64 now)
{
	p->began_us = now;
	mlcc_window_has(p, now);
	p->start_acked = p->acked;
	p->noise_now = 0;
	if (p->timeouts < MLCC_TIMEOUTS_MAX)
		p->behind = 0;
	p->lost = 0;
	p->cut = p->round - MLCC_MARKED_ROUNDS;
	MLCC_WRITE(p->undo, 0);
	MLCC_WRITE(p->flows_most, 0);
	MLCC_WRITE(p->round_us, now);
	MLCC_WRITE(p->round_least, ~0U);
	MLCC_WRITE(p->round_most, 0);
}

/*
 * A flow sends in a phase that the path does not know of yet.  @coupled: its progress is known, and
 * its profile has all flows share a window.
 */
static __always_inline void mlcc_window_begin(struct mlcc_path *p, const struct mlcc_job *j,
					      u64 now, bool coupled)
{
	u64 patience = 2 * ((u64)j->best_us + j->gap_us);

	mlcc_window_ended(p);
	mlcc_window_reset(p, now);
	p->patience_us = mlcc_us32(patience >> 2 * p->timeouts);
	if (p->state != MLCC_WINDOW_WAITS)
		p->last = p->window;
	p->target = 0;
	if (!coupled) {
		MLCC_WRITE(p->state, MLCC_WINDOW_NONE);
	} else if (p->timeouts >= MLCC_TIMEOUTS_MAX) {
		mlcc_window_give_up(p, now);
	} else {
		MLCC_WRITE(p->state, MLCC_WINDOW_WAITS);
		MLCC_WRITE(p->window, MLCC_START_BYTES);
	}
}

/* A flow sends in phase @seq, low bits of the job's number. */
static __always_inline void mlcc_window_enter(struct mlcc_path *p, const struct mlcc_job *j,
					      u16 seq, u64 now, bool coupled)
{
	if (MLCC_READ(p->seq) == seq || MLCC_CAS32(&p->busy, 0, 1))
		return;
	if (p->seq != seq) {
		if (p->lost)
			mlcc_path_anew(p);
		mlcc_window_begin(p, j, now, coupled);
		mlcc_path_phase(p, seq);	/* last: flows go by it */
	}
	MLCC_CAS32(&p->busy, 1, 0);
}

#endif /* MLCC_WINDOW_H */
