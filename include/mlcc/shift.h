/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Time-shifts: when a job's phase has to wait for the slot that a plan gave it, and for how long.
 *
 *	slot	clock of day = offset, modulo period
 *	late	(now - offset) mod period		how long ago the last slot began
 *	wait	period - late				until the next one
 *
 * A phase that begins within 1/MLCC_SHIFT_SLACK of the period around its slot is in it, and does
 * not wait.  Any other does, if all of this holds; else it goes at once:
 *
 *	- the period that the job has by itself is the plan's, but for 1/MLCC_SHIFT_TOLERANCE.  It
 *	  is not the time between two starts, which others on the link make longer, but what of it
 *	  is not communication, and the quickest communication, of the last MLCC_SHIFT_SEEN phases.
 *	  Before MLCC_SHIFT_ENOUGH of them the plan is trusted;
 *	- no phase has waited for MLCC_SHIFT_EVERY: twice a minute;
 *	- it is the first time under this plan, or the wait is no more than 1/MLCC_SHIFT_COST of
 *	  the time since: corrections cost a job at most 1 % of its time.
 *
 * So a wait is shorter than a period, and no period is longer than MLCC_SHIFT_PERIOD_MAX.
 *
 * Nothing here sleeps or reads a clock: the caller does, in the thread whose phase it is.  All
 * times are nanoseconds.  @wall is CLOCK_REALTIME, by which hosts agree; @mono is CLOCK_MONOTONIC,
 * by which a job knows itself.  Whatever they are, nothing overflows.
 */
#ifndef MLCC_SHIFT_H
#define MLCC_SHIFT_H

#include "types.h"

#define MLCC_SHIFT_PERIOD_MIN	1000000ULL	/* ns */
#define MLCC_SHIFT_PERIOD_MAX	60000000000ULL	/* ns */
#define MLCC_SHIFT_SLACK	20U
#define MLCC_SHIFT_TOLERANCE	8U
#define MLCC_SHIFT_COST		100U
#define MLCC_SHIFT_EVERY	30000000000ULL	/* ns */
#define MLCC_SHIFT_SEEN		8U		/* phases */
#define MLCC_SHIFT_ENOUGH	4U		/* phases */
#define MLCC_SHIFT_SPAN_MAX	0x4000000000000000ULL	/* ns; what is longer counts as this */

enum mlcc_shift_state {
	MLCC_SHIFT_NONE,	/* there is no plan for the job */
	MLCC_SHIFT_HELD,	/* the last phase began in its slot */
	MLCC_SHIFT_OFF,		/* it did not, and a correction is not due */
	MLCC_SHIFT_OTHER_PERIOD, /* the job's period is not the plan's: nothing waits */
};

/* What a plan says of a job.  @period 0: there is none. */
struct mlcc_shift {
	u64 period;
	u64 offset;		/* less than @period */
};

/* What a client of a job knows; all zero in the beginning. */
struct mlcc_shifter {
	struct mlcc_shift plan;	/* that the rest is about */
	u64 start;		/* mono: of the last phase; 0: there was none */
	u64 end;		/* mono: of it; 0: not told */
	u64 waited;		/* mono: when a phase last waited */
	u64 settled;		/* mono: that, or when one was first in the slot of this plan */
	u64 gap[MLCC_SHIFT_SEEN];	/* from end to start, waits not counted */
	u64 comm[MLCC_SHIFT_SEEN];
	s64 error;		/* of the last start against its slot, before it waited */
	u32 seen;		/* phases measured, to 2^32 - 1 */
	u32 waits;		/* phases that have waited */
	u32 state;
	bool placed;		/* has been in the slot of this plan */
};

static __always_inline bool mlcc_shift_valid(const struct mlcc_shift *p)
{
	return p->period >= MLCC_SHIFT_PERIOD_MIN && p->period <= MLCC_SHIFT_PERIOD_MAX &&
	       p->offset < p->period;
}

/* For a valid plan. */
static __always_inline u64 mlcc_shift_late(const struct mlcc_shift *p, u64 wall)
{
	u64 at = wall - MLCC_DIV64(wall, p->period) * p->period;

	return at >= p->offset ? at - p->offset : at + p->period - p->offset;
}

/* From @from to @to, if there is such a span. */
static __always_inline u64 mlcc_shift_span(u64 from, u64 to)
{
	u64 span = to > from ? to - from : 0;

	return span < MLCC_SHIFT_SPAN_MAX ? span : MLCC_SHIFT_SPAN_MAX;
}

/* The least, or the most, of what has been measured. */
static __always_inline u64 mlcc_shift_extreme(const u64 *v, u32 count, bool most)
{
	u64 found = v[0];

	for (u32 i = 1; i < count && i < MLCC_SHIFT_SEEN; i++)
		if (most ? v[i] > found : v[i] < found)
			found = v[i];
	return found;
}

/* The job's own period, the least of late; 0: not known yet. */
static __always_inline u64 mlcc_shift_own(const struct mlcc_shifter *s)
{
	if (s->seen < MLCC_SHIFT_ENOUGH)
		return 0;
	return mlcc_shift_extreme(s->gap, s->seen, false) +
	       mlcc_shift_extreme(s->comm, s->seen, false);
}

/* All measured phases are on one side of the plan's period. */
static __always_inline bool mlcc_shift_differs(const struct mlcc_shifter *s)
{
	u64 period = s->plan.period, room = period / MLCC_SHIFT_TOLERANCE;

	if (s->seen < MLCC_SHIFT_ENOUGH)
		return false;
	return mlcc_shift_own(s) > period + room ||
	       mlcc_shift_extreme(s->gap, s->seen, true) +
	       mlcc_shift_extreme(s->comm, s->seen, true) < period - room;
}

static __always_inline void mlcc_shift_measure(struct mlcc_shifter *s, u64 mono)
{
	u32 i = s->seen % MLCC_SHIFT_SEEN;

	if (!s->start)
		return;
	s->gap[i] = mlcc_shift_span(s->end ? s->end : s->start, mono);
	s->comm[i] = s->end ? mlcc_shift_span(s->start, s->end) : 0;
	/* what is never zero again keeps its place in the ring */
	s->seen = s->seen == ~0U ? MLCC_SHIFT_SEEN : s->seen + 1;
}

static __always_inline bool mlcc_shift_due(const struct mlcc_shifter *s, u64 wait, u64 mono)
{
	u64 since = mlcc_shift_span(s->settled, mono);

	if (s->waits && mlcc_shift_span(s->waited, mono) < MLCC_SHIFT_EVERY)
		return false;
	return !s->placed || (since >= MLCC_SHIFT_EVERY && wait <= since / MLCC_SHIFT_COST);
}

/* How long the phase has to wait; notes what comes of it. */
static __always_inline u64 mlcc_shift_judge(struct mlcc_shifter *s, u64 wall, u64 mono)
{
	u64 late = mlcc_shift_late(&s->plan, wall), wait = s->plan.period - late;
	bool early = late > s->plan.period / 2;

	s->error = early ? -(s64)wait : (s64)late;
	s->state = MLCC_SHIFT_OTHER_PERIOD;
	if (mlcc_shift_differs(s))
		return 0;
	s->state = MLCC_SHIFT_HELD;
	if ((early ? wait : late) <= s->plan.period / MLCC_SHIFT_SLACK) {
		s->settled = s->placed ? s->settled : mono;
		s->placed = true;
		return 0;
	}
	s->state = MLCC_SHIFT_OFF;
	if (!mlcc_shift_due(s, wait, mono))
		return 0;
	s->state = MLCC_SHIFT_HELD;
	s->placed = true;
	s->waited = mono + wait;
	s->settled = s->waited;
	s->waits++;
	return wait;
}

/* A phase is about to begin, under @plan; returns how long it has to wait first. */
static __always_inline u64 mlcc_shift_start(struct mlcc_shifter *s, const struct mlcc_shift *plan,
					    u64 wall, u64 mono)
{
	u64 wait = 0;

	mlcc_shift_measure(s, mono);
	if (plan->period != s->plan.period || plan->offset != s->plan.offset) {
		s->plan = *plan;
		s->placed = false;
	}
	s->state = MLCC_SHIFT_NONE;
	s->error = 0;
	if (mlcc_shift_valid(&s->plan))
		wait = mlcc_shift_judge(s, wall, mono);
	s->start = mono + wait;
	s->end = 0;
	return wait;
}

/* It is over. */
static __always_inline void mlcc_shift_end(struct mlcc_shifter *s, u64 mono)
{
	if (s->start && !s->end)
		s->end = mono;
}

#endif /* MLCC_SHIFT_H */
