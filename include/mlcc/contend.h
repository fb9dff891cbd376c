/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a job learns about the others on its link, from how long its phases take.
 *
 * A job whose phase starts behind a queue waits (flow.h): it starts with a small window and lets
 * who is there finish.  Among jobs that fit together this costs a few milliseconds until they have
 * slid apart.  There are two cases where waiting would go on for ever, and this file finds them:
 *
 *	locked	The job has a shorter period than the one before it, catches up with it, and then
 *		waits behind it in every iteration, at the other's period.  After MLCC_WAITS such
 *		phases in a row it may push: it takes the link at once, with the window of its last
 *		phase, goes first from then on, and runs free until it has caught up again.  At most
 *		one phase in MLCC_PUSH_EVERY.  If the phase after a push waits again (jobs that do
 *		not fit at all), pushing only takes turns: none for MLCC_PUSH_BARRED phases.
 *
 *	starved	Who is there never finishes: an ordinary long flow.  The phase takes more than
 *		twice its time, MLCC_WAITS times in a row.  Then the job keeps its window over the
 *		compute time, as other TCP flows do, for MLCC_KEEP phases or until a phase starts
 *		with the queue empty.
 *
 * Times are microseconds.  Only the flow that turns the phase writes here, but for "behind" and
 * the start of a push, which any flow may set to the same value.
 */
#ifndef MLCC_CONTEND_H
#define MLCC_CONTEND_H

#include "types.h"

#define MLCC_WAITS		6U	/* phases in a row that make a pattern */
#define MLCC_WAIT_PART		7U	/* waiting: longer than 1/7 of an iteration alone */
#define MLCC_KEEP		32U	/* phases */
#define MLCC_PUSH_FOR		32U	/* phases */
#define MLCC_PUSH_EVERY		3U	/* phases */
#define MLCC_PUSH_BARRED	64U	/* phases */

struct mlcc_contend {
	u32 best_us;		/* shortest phase; forgotten by 1/64 of the difference a phase */
	u32 behind;		/* this phase began behind a queue */
	u32 waits;		/* phases in a row that began so and waited */
	u32 starved;		/* phases in a row that began so and took twice their time */
	u32 keep_for;		/* phases for which the window is kept */
	u32 push_for;		/* phases for which the job may push */
	u32 since_push;		/* phases since it did */
	u32 barred;		/* phases for which it may not */
	u32 push;		/* this phase pushes */
};

static __always_inline u32 mlcc_down(u32 n)
{
	return n ? n - 1 : 0;
}

static __always_inline void mlcc_contend_best(struct mlcc_contend *c, u32 comm_us)
{
	if (!c->best_us || comm_us < c->best_us)
		c->best_us = comm_us;
	else
		c->best_us += (comm_us - c->best_us) >> 6;
}

static __always_inline void mlcc_contend_push(struct mlcc_contend *c, bool waited)
{
	if (c->since_push == 1 && waited)
		c->barred = MLCC_PUSH_BARRED;
	else
		c->barred = mlcc_down(c->barred);
	if (c->barred)
		c->push_for = 0;
	else if (c->waits >= MLCC_WAITS)
		c->push_for = MLCC_PUSH_FOR;
	else
		c->push_for = mlcc_down(c->push_for);
	c->since_push = c->push ? 1 : c->since_push + 1;
}

/* A phase of @comm_us after a silence of @gap_us has ended; @confident: as it was learnt. */
static __always_inline void mlcc_contend_learn(struct mlcc_contend *c, u32 comm_us, u32 gap_us,
					       bool confident)
{
	u32 waited;

	if (!confident) {
		__builtin_memset(c, 0, sizeof(*c));
		return;
	}
	mlcc_contend_best(c, comm_us);
	waited = comm_us - c->best_us > (c->best_us + gap_us) / MLCC_WAIT_PART;
	c->waits = waited && c->behind ? c->waits + 1 : 0;
	c->starved = c->behind && comm_us >> 1 > c->best_us ? c->starved + 1 : 0;
	if (c->starved >= MLCC_WAITS) {
		c->keep_for = MLCC_KEEP;
		/* when that is over, one more such phase will do */
		c->starved = MLCC_WAITS - 1;
	} else if (c->keep_for) {
		c->keep_for = c->behind ? c->keep_for - 1 : 0;
		c->starved = c->behind ? MLCC_WAITS - 1 : 0;
	}
	mlcc_contend_push(c, waited);
	MLCC_WRITE(c->behind, 0);
	MLCC_WRITE(c->push, 0);
}

/* A flow has found a queue at the start of its phase.  Returns whether the job is to push. */
static __always_inline bool mlcc_contend_behind(struct mlcc_contend *c)
{
	MLCC_WRITE(c->behind, 1);
	if (MLCC_READ(c->push))
		return true;
	if (!MLCC_READ(c->push_for) || MLCC_READ(c->keep_for) ||
	    MLCC_READ(c->since_push) < MLCC_PUSH_EVERY)
		return false;
	MLCC_WRITE(c->push, 1);
	return true;
}

#endif /* MLCC_CONTEND_H */
