/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What part of the link a job gets, and when to hold back.
 *
 * Behind a queue that serves its flows in turn (fq_codel, fq, a switch with fair queueing) a flow
 * sees no queue but its own.  Who is there cannot be told from the round-trip time, and a small
 * window next to a large one gets its full share: no weight moves the phases apart.  But the rate
 * tells.  The link's rate is the best that the job has had over a 64th of a phase; a job that gets
 * less than two thirds of it is not alone.  Then it does what stations on a shared medium do:
 *
 *	- a job that has had the link in this phase goes on: it was there first;
 *	- one that has not holds back, paced at 1/32 of the link, for a random time around 1/16 of
 *	  what the phase takes alone; then it tries again, with the least window, and holds back for
 *	  twice as long, up to 1/4.
 *
 * Behind any other queue the windows share the link, and the rule is better than chance.  So only a
 * job that has begun a phase like that before holds back, and the first times are tests, short: who
 * has the least window then, and gets more than 1/5 of the link, is served in turn; who gets less
 * is not, and asks no more for MLCC_FAIR_BARRED phases.
 *
 * As with a wait behind a queue (contend.h) the patience ends, for beside flows that do not make
 * way it would be in vain.
 *
 * Times are microseconds.
 */
#ifndef MLCC_FAIR_H
#define MLCC_FAIR_H

#include "types.h"

#define MLCC_FAIR_SHIFT		6	/* a window is 1/64 of D_phase */
#define MLCC_FAIR_BYTES_MIN	65536U	/* or this: ACKs come in clusters */
#define MLCC_FAIR_US		1000U	/* and never shorter than this, or two round trips */
#define MLCC_FAIR_LITTLE	5U	/* less than 1/5 of the link is little */
#define MLCC_FAIR_SURE		2U	/* tests that must have shown more */
#define MLCC_FAIR_SLOWS		1U	/* phases in a row that begin slowly, before a test */
#define MLCC_FAIR_BARRED	64U	/* phases without one, after one that failed */
#define MLCC_FAIR_PACE		5	/* who holds back takes 1/32 of the link */
#define MLCC_FAIR_PACE_MIN	65536U	/* or so many bytes a second: its ACKs tell when to go on */
#define MLCC_FAIR_TEST		5	/* a test begins with 1/32 of a phase */
#define MLCC_FAIR_FIRST		4	/* the first hold is 1/16 of a phase */
#define MLCC_FAIR_TRIES		3U	/* and the third, and those after it, 1/4 */
#define MLCC_BYTE_COST_SHIFT	20
#define MLCC_BYTE_COST_MAX	0x800000U	/* 1 Mb/s */

struct mlcc_fair {
	u64 start_us;		/* when the window began, 0: there is none */
	u64 start_acked;	/* bytes of the job, then */
	u64 hold_us;		/* the job holds back until then */
	u32 byte_cost;		/* us that a byte takes the link at best, Q20; 0: not known */
	u32 phase_cost;		/* the same, in this phase */
	u32 last_cost;		/* of the last window, 0: there was none just before this one */
	u32 tries;		/* tests and holds in this phase */
	u32 fast;		/* the job has had the link in this phase */
	u32 slow;		/* it has had less, and more than a little, before that */
	u32 slows;		/* phases in a row of which that was so */
	u32 served;		/* tests that have shown flows to be served in turn */
	u32 barred;		/* phases for which it is not asked */
	u32 busy;		/* try-lock */
};

/* What a carrier has changed of the socket of a flow that holds back. */
enum mlcc_paced {
	MLCC_PACED_NOT,
	MLCC_PACED_RATE,	/* the limit of its rate */
	MLCC_PACED,		/* and that TCP paces at all */
};

/* us a byte, Q20.  @us: below 2^44. */
static __always_inline u32 mlcc_cost(u64 us, u64 bytes)
{
	u64 cost = bytes ? MLCC_DIV64(us << MLCC_BYTE_COST_SHIFT, bytes) : MLCC_BYTE_COST_MAX;

	return cost < MLCC_BYTE_COST_MAX ? cost : MLCC_BYTE_COST_MAX;
}

/* A phase has ended. */
static __always_inline void mlcc_fair_turn(struct mlcc_fair *f)
{
	if (f->phase_cost > f->byte_cost)
		MLCC_WRITE(f->byte_cost, f->byte_cost + ((f->phase_cost - f->byte_cost) >> 4));
	MLCC_WRITE(f->phase_cost, 0);
	MLCC_WRITE(f->last_cost, 0);
	MLCC_WRITE(f->tries, 0);
	MLCC_WRITE(f->slows, f->slow ? f->slows + 1 : 0);
	MLCC_WRITE(f->slow, 0);
	MLCC_WRITE(f->barred, f->barred - (f->barred > 0));
	MLCC_WRITE(f->fast, 0);
	MLCC_WRITE(f->start_us, 0);
	MLCC_WRITE(f->hold_us, 0);
}

/* The job does not fill the link, or not all the time: its rate says nothing. */
static __always_inline void mlcc_fair_pause(struct mlcc_fair *f)
{
	if (!MLCC_READ(f->start_us))
		return;
	MLCC_WRITE(f->start_us, 0);
	MLCC_WRITE(f->last_cost, 0);
}

static __always_inline bool mlcc_fair_holds(const struct mlcc_fair *f, u64 now)
{
	return now < MLCC_READ(f->hold_us);
}

/* Whether an empty queue says that nobody is there: not once the rate has said otherwise. */
static __always_inline bool mlcc_fair_tells(const struct mlcc_fair *f)
{
	return !MLCC_READ(f->tries) || MLCC_READ(f->fast);
}

/* The rate of who holds back, bytes a second. */
static __always_inline u32 mlcc_fair_pace(const struct mlcc_fair *f)
{
	u32 cost = MLCC_READ(f->byte_cost);
	u64 rate = cost ? MLCC_DIV64(1000000ULL << MLCC_BYTE_COST_SHIFT, (u64)cost) : 0;

	rate >>= MLCC_FAIR_PACE;
	return rate > MLCC_FAIR_PACE_MIN ? rate : MLCC_FAIR_PACE_MIN;
}

/* Half to one and a half of @us, by chance: jobs that meet must not meet again. */
static __always_inline u64 mlcc_fair_about(u64 us, u64 seed)
{
	u64 r = (seed * 0x9e3779b97f4a7c15ULL) >> 48;

	return (us >> 1) + ((us >> 16) * r) + (((us & 0xffff) * r) >> 16);
}

/* What part of a phase the job holds back: 1/2^n. */
static __always_inline u32 mlcc_fair_part(const struct mlcc_fair *f)
{
	u32 tries = MLCC_READ(f->tries);

	if (MLCC_READ(f->served) < MLCC_FAIR_SURE)
		return MLCC_FAIR_TEST;
	return MLCC_FAIR_FIRST - (tries > 1 ? tries - 1 : 0);
}

/* What @bytes take alone on the link, us. */
static __always_inline u64 mlcc_fair_alone(const struct mlcc_fair *f, u64 bytes)
{
	return ((bytes >> 10) * MLCC_READ(f->byte_cost)) >> (MLCC_BYTE_COST_SHIFT - 10);
}

/* Holds back from @now on, and not beyond @until; the phase has @d bytes. */
static __always_inline void mlcc_fair_hold(struct mlcc_fair *f, u64 now, u64 acked, u64 d,
					   u64 until)
{
	u64 about = mlcc_fair_alone(f, d) >> mlcc_fair_part(f);
	u64 end = now + mlcc_fair_about(about, now ^ acked << 20);

	if (MLCC_READ(f->tries) < MLCC_FAIR_TRIES)
		MLCC_WRITE(f->tries, f->tries + 1);
	mlcc_fair_pause(f);
	MLCC_WRITE(f->hold_us, end < until ? end : until);
}

/*
 * Whether a window of @bytes in @us is long enough to tell a rate; @rtt us.  A host that is busy
 * for a moment finds the ACKs of up to a round trip at once.
 */
static __always_inline bool mlcc_fair_full(const struct mlcc_fair *f, u64 us, u64 bytes, u64 d,
					   u32 rtt)
{
	u64 size = d >> MLCC_FAIR_SHIFT;

	if (us < MLCC_FAIR_US || us < 2ULL * rtt)
		return false;
	if (size < MLCC_FAIR_BYTES_MIN)
		size = MLCC_FAIR_BYTES_MIN;
	return bytes >= size || (f->byte_cost && us > 2 * mlcc_fair_alone(f, size));
}

static __always_inline bool mlcc_fair_slow(const struct mlcc_fair *f, u32 cost)
{
	return cost > f->byte_cost + (f->byte_cost >> 1);
}

/*
 * The rate counts that the job had in two windows in a row: when a recovery ends, all that had
 * arrived meanwhile is acknowledged at once.
 */
static __always_inline void mlcc_fair_best(struct mlcc_fair *f, u32 cost)
{
	u32 last = MLCC_READ(f->last_cost);
	u32 both = cost > last ? cost : last;

	MLCC_WRITE(f->last_cost, cost);
	if (!last)
		return;
	if (!f->phase_cost || both < f->phase_cost)
		MLCC_WRITE(f->phase_cost, both);
	if (!f->byte_cost || both < f->byte_cost)
		MLCC_WRITE(f->byte_cost, both);
	if (!mlcc_fair_slow(f, both))
		MLCC_WRITE(f->fast, 1);
}

/* The job has more than a little of the link. */
static __always_inline bool mlcc_fair_some(struct mlcc_fair *f)
{
	u32 served = f->served;

	MLCC_WRITE(f->slow, 1);
	if (MLCC_READ(f->tries) && served < MLCC_FAIR_SURE)
		MLCC_WRITE(f->served, ++served);
	return served || MLCC_READ(f->slows) >= MLCC_FAIR_SLOWS;
}

/* It has little: it is behind a queue like any other. */
static __always_inline void mlcc_fair_little(struct mlcc_fair *f)
{
	if (!MLCC_READ(f->tries))
		return;
	MLCC_WRITE(f->served, 0);
	MLCC_WRITE(f->barred, MLCC_FAIR_BARRED);
	MLCC_WRITE(f->tries, 0);
}

/* What @bytes in @us say.  Returns whether the job is to hold back. */
static __always_inline bool mlcc_fair_judge(struct mlcc_fair *f, u64 us, u64 bytes)
{
	u32 cost = mlcc_cost(us, bytes);

	mlcc_fair_best(f, cost);
	if (!f->byte_cost || !mlcc_fair_slow(f, cost) || f->fast || MLCC_READ(f->barred))
		return false;
	if (cost / MLCC_FAIR_LITTLE < f->byte_cost)
		return mlcc_fair_some(f);
	mlcc_fair_little(f);
	return false;
}

/*
 * The job fills the link as far as it can: @acked bytes at @now, of a phase of @d; @rtt us.
 * Returns whether it is to hold back.
 */
static __always_inline bool mlcc_fair_sample(struct mlcc_fair *f, u64 now, u64 acked, u64 d,
					     u32 rtt)
{
	u64 start = MLCC_READ(f->start_us);
	u64 start_acked = MLCC_READ(f->start_acked);
	bool hold;

	if (start && (now <= start || !mlcc_fair_full(f, now - start, acked - start_acked, d, rtt)))
		return false;
	if (MLCC_CAS32(&f->busy, 0, 1))
		return false;
	hold = start && start == f->start_us &&
	       mlcc_fair_judge(f, now - start, acked - start_acked);
	MLCC_WRITE(f->start_acked, acked);
	MLCC_WRITE(f->start_us, now);
	MLCC_CAS32(&f->busy, 1, 0);
	return hold;
}

#endif /* MLCC_FAIR_H */
