/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a job learns about the others on its link, from how its waits end.
 *
 * A job whose phase starts behind a queue waits (flow.h): it starts with a small window and lets
 * who is there finish.  Among jobs that fit together this costs a few milliseconds until they have
 * slid apart.  There are two cases where waiting would go on for ever:
 *
 *	locked	The job has a shorter period than the one before it, catches up with it, and then
 *		waits behind it in every iteration, at the other's period.  After MLCC_WAITS such
 *		phases in a row it may push: it takes the link at once, with the window of its last
 *		phase, goes first from then on, and runs free until it has caught up again.  At most
 *		one phase in MLCC_PUSH_EVERY.  If the phase after a push waits again (jobs that do
 *		not fit at all), pushing only takes turns: none for MLCC_PUSH_BARRED phases.
 *
 *	starved	Who is there never finishes: an ordinary long flow.  Jobs that fit leave the link
 *		free for a moment before their iteration is over, so a flow waits for no longer than
 *		two iterations, and then takes back its window.  A phase in which the queue has
 *		never been empty quarters that patience; one in which it has been restores it.
 *		When no patience is left the job keeps its window over the compute time, as other
 *		TCP flows do, until a phase starts with the queue empty; MLCC_RETRY phases later,
 *		and then twice as rarely each time, it tries a shorter wait once more.
 *
 * Times are microseconds.  Only the flow that turns the phase writes here, but for the marks that
 * the flows leave for it, each of which any of them sets to the same value.
 */
#ifndef MLCC_CONTEND_H
#define MLCC_CONTEND_H

#include "types.h"

#define MLCC_WAITS		6U	/* phases in a row that make a pattern */
#define MLCC_WAIT_PART		7U	/* waiting: longer than 1/7 of an iteration alone */
#define MLCC_QUARTERED		2U	/* what a phase in vain adds to "hurry" */
#define MLCC_KEEPS		6U	/* "hurry" from which on the window is kept */
#define MLCC_RETRY		64U	/* phases */
#define MLCC_RETRY_MAX		1024U	/* phases */
#define MLCC_PUSH_FOR		32U	/* phases */
#define MLCC_PUSH_EVERY		3U	/* phases */
#define MLCC_PUSH_BARRED	64U	/* phases */

struct mlcc_contend {
	u32 best_us;		/* shortest phase; forgotten by 1/64 of the difference a phase */
	u32 waits;		/* phases in a row that began behind a queue and waited */
	u32 patience_us;	/* how long a flow waits */
	u32 hurry;		/* patience is two iterations / 2^hurry; none from MLCC_KEEPS on */
	u32 kept;		/* phases without patience */
	u32 retry;		/* how many of them until the next try */
	u32 push_for;		/* phases for which the job may push */
	u32 since_push;		/* phases since it did */
	u32 barred;		/* phases for which it may not */

	/* marks of this phase, left by its flows */
	u32 behind;		/* it began behind a queue */
	u32 emptied;		/* the queue has been empty */
	u32 gave_up;		/* a flow has waited for too long */
	u32 push;		/* it pushes */
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

/* Whether waiting was in vain so often that the window is kept. */
static __always_inline bool mlcc_contend_keeps(const struct mlcc_contend *c)
{
	return MLCC_READ(c->hurry) >= MLCC_KEEPS;
}

static __always_inline void mlcc_contend_patience(struct mlcc_contend *c, u32 gap_us)
{
	if (!c->behind) {
		c->hurry = 0;
		c->kept = 0;
		c->retry = MLCC_RETRY;
	} else if (c->hurry >= MLCC_KEEPS) {
		if (++c->kept >= c->retry) {
			c->hurry = MLCC_QUARTERED;
			c->kept = 0;
			c->retry = c->retry < MLCC_RETRY_MAX ? c->retry * 2 : MLCC_RETRY_MAX;
		}
	} else if (c->gave_up || !c->emptied) {
		c->hurry += MLCC_QUARTERED;
	} else {
		c->hurry = 0;
	}
	MLCC_WRITE(c->patience_us, (u32)(((u64)c->best_us + gap_us) * 2 >> c->hurry));
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
	mlcc_contend_patience(c, gap_us);
	mlcc_contend_push(c, waited);
	MLCC_WRITE(c->behind, 0);
	MLCC_WRITE(c->emptied, 0);
	MLCC_WRITE(c->gave_up, 0);
	MLCC_WRITE(c->push, 0);
}

/* A flow has found a queue at the start of its phase.  Returns whether the job is to push. */
static __always_inline bool mlcc_contend_behind(struct mlcc_contend *c)
{
	MLCC_WRITE(c->behind, 1);
	if (MLCC_READ(c->push))
		return true;
	if (!MLCC_READ(c->push_for) || mlcc_contend_keeps(c) ||
	    MLCC_READ(c->since_push) < MLCC_PUSH_EVERY)
		return false;
	MLCC_WRITE(c->push, 1);
	return true;
}

#endif /* MLCC_CONTEND_H */
