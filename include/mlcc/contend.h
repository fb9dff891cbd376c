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
 *		phase, goes first from then on, and runs free until it has caught up again, which
 *		shows in a phase that waits.  At most one phase in MLCC_PUSH_EVERY.  A push costs
 *		the other job as long as the phase lasts.  If it saves this job less (as when the
 *		jobs do not fit at all: then waiting in turn is the best there is), there is none
 *		for MLCC_PUSH_BARRED phases, then for twice as many, and so on.
 *
 *	starved	Who is there never finishes: an ordinary long flow.  Jobs that fit leave the link
 *		free for a moment before their iteration is over, so a flow waits for no longer than
 *		two iterations, and then takes back its window.  A phase in which the queue has
 *		never been empty quarters that patience; one in which it has been restores it.
 *		When no patience is left the job keeps its window over the compute time, as other
 *		TCP flows do.  If that does not save a quarter of the phase it is given up again,
 *		for MLCC_RETRY phases; else it goes on until a phase starts with the queue empty.
 *		MLCC_RETRY phases later, and then ever more rarely, a short wait is tried again.
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
#define MLCC_PATIENCE_FIRST_US	250000U	/* patience of who does not know its iterations yet */
#define MLCC_KEEPS		6U	/* "hurry" from which on the window is kept */
#define MLCC_KEEP_TRY		2U	/* phases without patience after which it must have paid */
#define MLCC_RETRY		64U	/* phases */
#define MLCC_RETRY_MAX		1024U	/* phases */
#define MLCC_PUSH_FOR		32U	/* phases */
#define MLCC_PUSH_EVERY		5U	/* phases */
#define MLCC_PUSH_BARRED	64U	/* phases, the first time */
#define MLCC_PUSH_BARRED_MAX	1024U	/* phases */
#define MLCC_SAVED_MAX_US	1000000000U	/* what a push saves is not counted beyond */

struct mlcc_contend {
	u32 best_us;		/* shortest phase; forgotten by 1/64 of the difference a phase */
	u32 waits;		/* phases in a row that began behind a queue and waited */
	u32 patience_us;	/* how long a flow waits */
	u32 hurry;		/* patience is two iterations / 2^hurry; none from MLCC_KEEPS on */
	u32 vain_us;		/* how long the phases took that waited in vain */
	u32 kept;		/* phases without patience */
	u32 retry;		/* how many of them until the next try */
	u32 content;		/* phases for which it waits, in vain or not */
	u32 wait_us;		/* the last wait without a push */
	u32 saved_us;		/* what the last push has saved so far, 0: not counting */
	u32 push_for;		/* phases for which the job may push */
	u32 since_push;		/* phases since it did */
	u32 barred;		/* phases for which it may not */
	u32 bar;		/* how many that were the last time */

	/* marks of this phase, left by its flows */
	u32 behind;		/* it began behind a queue */
	u32 emptied_us;		/* when after its start the queue was empty, 0: never */
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

static __always_inline void mlcc_contend_bar(struct mlcc_contend *c)
{
	c->bar = c->bar ? c->bar * 2 : MLCC_PUSH_BARRED;
	if (c->bar > MLCC_PUSH_BARRED_MAX)
		c->bar = MLCC_PUSH_BARRED_MAX;
	c->barred = c->bar;
}

/*
 * What a push is worth: it saves the wait of that phase, and of those after it until the job has
 * caught up; it costs the other job as long as the phase lasts.  @wait: us, of this phase.
 */
static __always_inline void mlcc_contend_worth(struct mlcc_contend *c, u32 wait)
{
	bool over = c->push || wait > c->wait_us >> 1;

	if (!c->saved_us)
		return;
	if (!over) {
		c->saved_us += c->wait_us - wait;
		if (c->saved_us > MLCC_SAVED_MAX_US)
			c->saved_us = MLCC_SAVED_MAX_US;
		return;
	}
	if (c->saved_us <= c->best_us) {
		mlcc_contend_bar(c);
	} else {
		c->bar = 0;
		MLCC_WRITE(c->push_for, MLCC_PUSH_FOR);
	}
	c->saved_us = 0;
}

static __always_inline void mlcc_contend_push(struct mlcc_contend *c, u32 wait, bool waited)
{
	c->barred = mlcc_down(c->barred);
	MLCC_WRITE(c->push_for, mlcc_down(c->push_for));
	mlcc_contend_worth(c, wait);
	if (c->push)
		c->saved_us = c->wait_us;
	else if (waited)
		c->wait_us = wait < MLCC_SAVED_MAX_US ? wait : MLCC_SAVED_MAX_US;
	if (c->waits >= MLCC_WAITS)
		MLCC_WRITE(c->push_for, MLCC_PUSH_FOR);
	if (c->barred)
		MLCC_WRITE(c->push_for, 0);
	MLCC_WRITE(c->since_push, c->push ? 1 : c->since_push + 1);
}

/*
 * How long a flow waits.  A job that announces its phases acts by them from the first one on,
 * before it has learnt how long they take.
 */
static __always_inline u32 mlcc_contend_patience_us(const struct mlcc_contend *c)
{
	return MLCC_READ(c->best_us) ? MLCC_READ(c->patience_us) : MLCC_PATIENCE_FIRST_US;
}

/* Whether waiting was in vain so often that the window is kept. */
static __always_inline bool mlcc_contend_keeps(const struct mlcc_contend *c)
{
	return MLCC_READ(c->hurry) >= MLCC_KEEPS;
}

/* The window has been kept for a phase of @comm_us: is that better than to wait in vain? */
static __always_inline void mlcc_contend_kept(struct mlcc_contend *c, u32 comm_us)
{
	if (!c->retry)
		c->retry = MLCC_RETRY;
	c->kept++;
	if (c->kept == MLCC_KEEP_TRY && comm_us > c->vain_us - (c->vain_us >> 2)) {
		MLCC_WRITE(c->hurry, 0);
		c->content = MLCC_RETRY;
	} else if (c->kept >= c->retry) {
		MLCC_WRITE(c->hurry, MLCC_QUARTERED);
		c->retry = c->retry < MLCC_RETRY_MAX ? c->retry * 2 : MLCC_RETRY_MAX;
	}
}

static __always_inline void mlcc_contend_patience(struct mlcc_contend *c, u32 comm_us, u32 gap_us)
{
	if (!c->behind) {
		MLCC_WRITE(c->hurry, 0);
		c->retry = MLCC_RETRY;
	} else if (c->hurry >= MLCC_KEEPS) {
		mlcc_contend_kept(c, comm_us);
	} else if (c->content || (c->emptied_us && !c->gave_up)) {
		c->content = mlcc_down(c->content);
		MLCC_WRITE(c->hurry, 0);
	} else {
		c->vain_us = c->hurry ? (c->vain_us >> 1) + (comm_us >> 1) : comm_us;
		MLCC_WRITE(c->hurry, c->hurry + MLCC_QUARTERED);
		c->kept = 0;
	}
	MLCC_WRITE(c->patience_us, (u32)(((u64)c->best_us + gap_us) * 2 >> c->hurry));
}

/* The marks of a phase are for that phase only. */
static __always_inline void mlcc_contend_unmark(struct mlcc_contend *c)
{
	MLCC_WRITE(c->behind, 0);
	MLCC_WRITE(c->emptied_us, 0);
	MLCC_WRITE(c->gave_up, 0);
	MLCC_WRITE(c->push, 0);
}

/* What was learnt of others is void; flows may be reading. */
static __always_inline void mlcc_contend_forget(struct mlcc_contend *c)
{
	c->best_us = 0;
	c->vain_us = 0;
	c->kept = 0;
	c->retry = 0;
	c->content = 0;
	c->wait_us = 0;
	c->saved_us = 0;
	c->barred = 0;
	c->bar = 0;
	MLCC_WRITE(c->waits, 0);
	MLCC_WRITE(c->patience_us, 0);
	MLCC_WRITE(c->hurry, 0);
	MLCC_WRITE(c->push_for, 0);
	MLCC_WRITE(c->since_push, 0);
	mlcc_contend_unmark(c);
}

/* A phase of @comm_us after a silence of @gap_us has ended; @confident: as it was learnt. */
static __always_inline void mlcc_contend_learn(struct mlcc_contend *c, u32 comm_us, u32 gap_us,
					       bool confident)
{
	u32 wait = !c->behind ? 0 : c->emptied_us ? c->emptied_us : comm_us;
	bool waited;

	if (!confident) {
		mlcc_contend_forget(c);
		return;
	}
	mlcc_contend_best(c, comm_us);
	waited = wait > (c->best_us + gap_us) / MLCC_WAIT_PART;
	MLCC_WRITE(c->waits, waited ? c->waits + 1 : 0);
	/* who pushes has not waited, in vain or not */
	if (!c->push)
		mlcc_contend_patience(c, comm_us, gap_us);
	mlcc_contend_push(c, wait, waited);
	mlcc_contend_unmark(c);
}

/* The queue is empty @us after the phase began. */
static __always_inline void mlcc_contend_emptied(struct mlcc_contend *c, u64 us)
{
	if (!MLCC_READ(c->emptied_us))
		MLCC_WRITE(c->emptied_us, us < 1U << 31 ? (u32)us + 1 : 1U << 31);
}

/* The job holds back (fair.h): somebody is there, and the queue that was empty was its own. */
static __always_inline void mlcc_contend_held(struct mlcc_contend *c)
{
	MLCC_WRITE(c->behind, 1);
	MLCC_WRITE(c->emptied_us, 0);
}

/* A flow has found a queue at the start of its phase.  Returns whether the job is to push. */
static __always_inline bool mlcc_contend_behind(struct mlcc_contend *c)
{
	MLCC_WRITE(c->behind, 1);
	if (MLCC_READ(c->push))
		return true;
	if (!MLCC_READ(c->push_for) || !MLCC_READ(c->waits) || mlcc_contend_keeps(c) ||
	    MLCC_READ(c->since_push) < MLCC_PUSH_EVERY)
		return false;
	MLCC_WRITE(c->push, 1);
	return true;
}

#endif /* MLCC_CONTEND_H */
