/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time-shifts over the ring: what mlccd shows there of the job's plan, and what a process that
 * waits says of it (include/mlcc/uapi/mlcc_ring.h).
 *
 * The ring is memory that another process writes.  What is read from it is a copy, taken once, and
 * shift.h waits for a valid plan only: less than a period, and no period is longer than
 * MLCC_SHIFT_PERIOD_MAX.  So nothing that is in there makes anybody wait for longer.
 */
#ifndef MLCC_HINT_SHIFT_RING_H
#define MLCC_HINT_SHIFT_RING_H

#include "../../include/mlcc/shift.h"
#include "../../include/mlcc/uapi/mlcc_ring.h"

#define MLCC_SHIFT_TRIES	8

/*
 * mlccd writes a few words: who meets it there again and again goes on with the plan that he had,
 * and so does who meets one that died while it wrote.
 */
static inline void mlcc_shift_read(struct mlcc_shift *plan, const struct mlcc_ring *r,
				   bool iteration)
{
	struct mlcc_shift shown;
	u64 seq, lead;

	for (int i = 0; i < MLCC_SHIFT_TRIES; i++) {
		seq = __atomic_load_n(&r->shift_seq, __ATOMIC_ACQUIRE);
		/* in place of a fence, of which thread sanitizers know nothing */
		shown.period = __atomic_load_n(&r->shift_period_ns, __ATOMIC_ACQUIRE);
		shown.offset = __atomic_load_n(&r->shift_offset_ns, __ATOMIC_ACQUIRE);
		lead = __atomic_load_n(&r->shift_lead_ns, __ATOMIC_ACQUIRE);
		if (seq & 1 || seq != __atomic_load_n(&r->shift_seq, __ATOMIC_RELAXED))
			continue;
		if (iteration && mlcc_shift_valid(&shown) && lead < shown.period)
			shown.offset = (shown.offset + shown.period - lead) % shown.period;
		*plan = shown;
		return;
	}
}

static inline void mlcc_shift_say(struct mlcc_ring *r, const struct mlcc_shifter *s)
{
	struct mlcc_ring_said *said = &r->shift_said;

	__atomic_store_n(&said->state, s->state, __ATOMIC_RELAXED);
	__atomic_store_n(&said->waits, s->waits, __ATOMIC_RELAXED);
	__atomic_store_n(&said->error_ns, s->error, __ATOMIC_RELAXED);
	__atomic_store_n(&said->period_ns, mlcc_shift_own(s), __ATOMIC_RELAXED);
}

/*
 * A phase is about to begin, or with @iteration the computing before it; returns how long it has to
 * wait first, as mlcc_shift_start().
 */
static inline u64 mlcc_shift_ring_start(struct mlcc_shifter *s, struct mlcc_ring *r, bool iteration,
					u64 wall, u64 mono)
{
	struct mlcc_shift plan = s->plan;
	u64 wait;

	mlcc_shift_read(&plan, r, iteration);
	wait = mlcc_shift_start(s, &plan, wall, mono);
	mlcc_shift_say(r, s);
	return wait;
}

#endif /* MLCC_HINT_SHIFT_RING_H */
