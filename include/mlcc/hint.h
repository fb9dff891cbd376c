/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Phases that userspace announces: exact, where the tracker has to learn.
 *
 *	          start(D)              end        start(D)
 *	 NOTHING ---------> RUNNING ---------> OVER ---------> RUNNING
 *	    ^                  |                |  bytes before the announcement
 *	    |  beyond D, or    |                +----------------------> PENDING
 *	    +--- silence ------+---------------------- silence ------------+
 *
 * An announcement and the first byte race: the byte may be on its way before the announcement has
 * reached the carrier.  So after the end of a phase the next silence begins one as ever, with the
 * last announcement's bytes, and an announcement that finds a phase that has just begun belongs to
 * that phase.
 *
 * An announcement that follows another before anything was sent replaces it: no phase was empty.
 *
 * A job is set with a standing hint, which may be none (0), and which announcements replace:
 *
 *	         set(H)               start(D)              set(H)
 *	 nothing ------> H, as set ------------> D, as announced -> D: a name or a profile was set
 *	                    ^                        |
 *	                    +------- set(H2): H2 ----+
 *
 * So an announcement stands until another standing hint is set, or the job is deleted.  The hint's
 * number changes with it; a carrier takes over one with a new number.
 *
 * An announcement is believed as far as the last one held: if a phase had other bytes than were
 * announced (by more than a quarter), what was learnt counts instead, until one holds again.
 */
#ifndef MLCC_JOB_HINT_H
#define MLCC_JOB_HINT_H

#include "phase.h"

/*
 * Whether the phase that runs is the one that is being announced: it has only just begun, and not
 * by an announcement.
 */
static __always_inline bool mlcc_job_hint_is_late(const struct mlcc_job *j, u64 now)
{
	u64 last = MLCC_READ(j->last_us);

	if (!j->seq || (j->hint_state != MLCC_HINT_PENDING && j->hint_state != MLCC_HINT_NONE))
		return false;
	return now < last + MLCC_GAP_MIN_US && mlcc_phase_sent(j) <= j->d_hint >> 2;
}

/* Whether nothing was sent since the last announcement: another one replaces it. */
static __always_inline bool mlcc_job_hint_replaces(const struct mlcc_job *j)
{
	return (j->hint_state == MLCC_HINT_RUNNING || j->hint_state == MLCC_HINT_OVER) &&
	       !mlcc_phase_sent(j);
}

/*
 * Userspace says that a phase of @bytes begins, which its carrier has found to be within
 * MLCC_PHASE_BYTES_MAX; 0: as many as the last time.  @now: us.
 * Returns whether this could be noted; if not, a flow begins a phase right now: try again.
 */
static __always_inline bool mlcc_job_hint_start(struct mlcc_job *j, u64 bytes, u64 now)
{
	u64 last = MLCC_READ(j->last_us);

	if (MLCC_CAS32(&j->busy, 0, 1))
		return false;
	if (bytes)
		MLCC_WRITE(j->d_hint, bytes);
	if (mlcc_job_hint_is_late(j, now)) {
		mlcc_phase_target(j);
	} else if (mlcc_job_hint_replaces(j)) {
		mlcc_phase_target(j);
		MLCC_WRITE(j->start_us, now);
	} else {
		mlcc_gap_ends(j, now > last && last ? mlcc_us32(now - last) : 0);
		mlcc_phase_rollover(j, now);
	}
	MLCC_WRITE(j->hint_state, MLCC_HINT_RUNNING);
	MLCC_CAS32(&j->busy, 1, 0);
	return true;
}

/* Userspace says that the phase is over.  Returns as mlcc_job_hint_start(). */
static __always_inline bool mlcc_job_hint_end(struct mlcc_job *j)
{
	if (MLCC_CAS32(&j->busy, 0, 1))
		return false;
	if (j->hint_state == MLCC_HINT_RUNNING)
		MLCC_WRITE(j->hint_state, MLCC_HINT_OVER);
	MLCC_CAS32(&j->busy, 1, 0);
	return true;
}

/* Userspace no longer announces phases. */
static __always_inline void mlcc_job_hint_none(struct mlcc_job *j)
{
	MLCC_WRITE(j->hint_state, MLCC_HINT_NONE);
}

/*
 * Another job takes the place of this one: nothing is known of it, and until the next phase there
 * is no progress.  Returns as mlcc_job_hint_start().
 */
static __always_inline bool mlcc_job_hint_reset(struct mlcc_job *j)
{
	if (MLCC_CAS32(&j->busy, 0, 1))
		return false;
	mlcc_phase_forget(j);
	mlcc_job_hint(j, 0);
	mlcc_job_hint_none(j);
	mlcc_phase_target(j);
	MLCC_CAS32(&j->busy, 1, 0);
	return true;
}

/*
 * The number of a standing hint of @bytes, never 0.  @old, @old_bytes: of the one in its place
 * before; 0: there was none.  @last: the last number that any job's was given.
 */
static __always_inline u32 mlcc_job_hint_gen(u32 old, u64 old_bytes, u64 bytes, u32 *last)
{
	u32 gen;

	if (old && old_bytes == bytes)
		return old;
	gen = MLCC_FETCH_ADD32(last, 1) + 1;
	return gen ? gen : MLCC_FETCH_ADD32(last, 1) + 1;
}

/* Takes over the standing hint, if it is new.  @has: number of the one that was taken over last. */
static __always_inline void mlcc_job_hint_take(struct mlcc_job *j, u32 *has, u32 gen, u64 bytes)
{
	if (MLCC_READ(*has) == gen)
		return;
	MLCC_WRITE(*has, gen);
	mlcc_job_hint(j, bytes);
}

#endif /* MLCC_JOB_HINT_H */
