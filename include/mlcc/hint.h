/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Phases that userspace announces: exact, where the tracker has to learn.
 *
 *	          start(D)              end        start(D)
 *	 NOTHING ---------> RUNNING ---------> OVER ---------> RUNNING
 *	    ^                  |                |  bytes before the announcement
 *	    |  beyond D, or    |                +----------------------> AHEAD
 *	    +--- silence ------+---------------------- silence ------------+
 *
 * An announcement and the first byte race: the byte may be on its way before the announcement has
 * reached the carrier.  So after the end of a phase the next silence begins one as ever, with the
 * last announcement's bytes, and an announcement that finds a phase that has just begun belongs to
 * that phase.
 *
 * An announcement is believed as far as the last one held: if a phase had other bytes than was said
 * (by more than a quarter), what was learnt counts instead, until one holds again.
 */
#ifndef MLCC_HINT_H
#define MLCC_HINT_H

#include "phase.h"

/*
 * Whether the phase that runs is the one that is being announced: it has only just begun, and not
 * by an announcement.
 */
static __always_inline bool mlcc_hint_is_late(const struct mlcc_job *j, u64 now)
{
	u64 d = mlcc_phase_sent(j);
	u64 last = MLCC_READ(j->last_us);

	if (!j->seq || (j->told != MLCC_TOLD_AHEAD && j->told != MLCC_TOLD_NOTHING))
		return false;
	return now < last + MLCC_GAP_MIN_US && d <= j->d_hint >> 2;
}

/*
 * Userspace says that a phase of @bytes begins; 0: as many as the last time.  @now: us.
 * Returns whether this could be noted; if not, a flow turns the phase right now: try again.
 */
static __always_inline bool mlcc_hint_start(struct mlcc_job *j, u64 bytes, u64 now)
{
	u64 last = MLCC_READ(j->last_us);

	if (MLCC_CAS32(&j->busy, 0, 1))
		return false;
	if (bytes && bytes <= MLCC_PHASE_BYTES_MAX)
		MLCC_WRITE(j->d_hint, bytes);
	if (mlcc_hint_is_late(j, now))
		mlcc_phase_target(j);
	else
		mlcc_phase_turn(j, now, now > last && last ? mlcc_us32(now - last) : 0);
	MLCC_WRITE(j->told, MLCC_TOLD_RUNNING);
	MLCC_CAS32(&j->busy, 1, 0);
	return true;
}

/* Userspace says that the phase is over.  Returns as mlcc_hint_start(). */
static __always_inline bool mlcc_hint_end(struct mlcc_job *j)
{
	if (MLCC_CAS32(&j->busy, 0, 1))
		return false;
	if (j->told == MLCC_TOLD_RUNNING)
		MLCC_WRITE(j->told, MLCC_TOLD_OVER);
	MLCC_CAS32(&j->busy, 1, 0);
	return true;
}

/* Userspace no longer announces phases. */
static __always_inline void mlcc_hint_none(struct mlcc_job *j)
{
	MLCC_WRITE(j->told, MLCC_TOLD_NOTHING);
}

/*
 * Another job takes the place of this one: nothing is known of it, and until the next phase there
 * is no progress.  Returns as mlcc_hint_start().
 */
static __always_inline bool mlcc_hint_reset(struct mlcc_job *j)
{
	if (MLCC_CAS32(&j->busy, 0, 1))
		return false;
	mlcc_phase_forget(j, 0);
	mlcc_job_hint(j, 0);
	mlcc_hint_none(j);
	mlcc_phase_target(j);
	MLCC_CAS32(&j->busy, 1, 0);
	return true;
}

#endif /* MLCC_HINT_H */
