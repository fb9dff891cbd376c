/* SPDX-License-Identifier: GPL-2.0 */
/* The profiles as they are set now. */
#ifndef MLCC_PROFILE_H
#define MLCC_PROFILE_H

#include "mlcc.h"

/* Every profile's name, in the order of enum mlcc_profile_id. */
extern const char *const mlcc_profile_names[MLCC_PROFILE_COUNT];

#define MLCC_BASE_COUNT		2
#define MLCC_RESTART_COUNT	2

extern const char *const mlcc_base_names[MLCC_BASE_COUNT];
extern const char *const mlcc_restart_names[MLCC_RESTART_COUNT];

/*
 * Two copies of every profile.  The generation counts a profile's changes, its lowest bit says
 * which copy holds; a change writes the other one first.
 */
extern struct mlcc_profile mlcc_profiles[2][MLCC_PROFILE_COUNT];
extern u32 mlcc_profile_gen[MLCC_PROFILE_COUNT];

/*
 * Profile @id as it is now: never the old floor beside the new slope.  Never waits, whatever it
 * has interrupted, and needs no RCU: a socket's backlog of ACKs is processed with preemption on.
 */
static __always_inline void mlcc_profile_read(u32 id, struct mlcc_profile *to)
{
	u32 gen;

	do {
		/* pairs with the release in mlcc_profile_change() */
		gen = smp_load_acquire(&mlcc_profile_gen[id]);
		/* what a change wrote meanwhile is read again */
		*to = data_race(mlcc_profiles[gen & 1][id]);
		/* the copy before the second look, pairs with the smp_wmb() there */
		smp_rmb();
	} while (unlikely(gen != READ_ONCE(mlcc_profile_gen[id])));
}

void mlcc_profile_change(u32 id, const struct mlcc_profile *from);

/* Profile of jobs that name none and base of flows without a job. */
u32 mlcc_profile_default(void);
void mlcc_profile_set_default(u32 id);

#endif /* MLCC_PROFILE_H */
