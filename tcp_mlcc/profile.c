// SPDX-License-Identifier: GPL-2.0
/* The profiles as they are set now: read on every ACK, changed by people. */
#include "profile.h"

const char *const mlcc_profile_names[MLCC_PROFILE_COUNT] = MLCC_PROFILE_NAMES;

const char *const mlcc_base_names[MLCC_BASE_COUNT] = {
	[MLCC_BASE_RENO] = "reno",
	[MLCC_BASE_CUBIC] = "cubic",
};

const char *const mlcc_restart_names[MLCC_RESTART_COUNT] = {
	[MLCC_RESTART_BASE] = "base",
	[MLCC_RESTART_QUEUE] = "queue",
};

struct mlcc_profile mlcc_profiles[2][MLCC_PROFILE_COUNT] __read_mostly = { MLCC_PROFILE_TABLE };
u32 mlcc_profile_gen[MLCC_PROFILE_COUNT] __read_mostly;

static u32 mlcc_default __read_mostly = MLCC_PROFILE_INTERLEAVE;

/* Replaces profile @id by @from.  One at a time: the caller holds a lock. */
void mlcc_profile_change(u32 id, const struct mlcc_profile *from)
{
	u32 gen = mlcc_profile_gen[id] + 1;

	/* who reads this copy while it is written sees the last generation: pairs with smp_rmb() */
	smp_wmb();
	/* who does reads again */
	data_race(mlcc_profiles[gen & 1][id] = *from);
	/* pairs with the acquire in mlcc_profile_read() */
	smp_store_release(&mlcc_profile_gen[id], gen);
}

u32 mlcc_profile_default(void)
{
	return READ_ONCE(mlcc_default);
}

void mlcc_profile_set_default(u32 id)
{
	WRITE_ONCE(mlcc_default, id);
}
