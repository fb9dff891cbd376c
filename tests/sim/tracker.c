// SPDX-License-Identifier: GPL-2.0
/* What tracker.h declares. */
#include <stdlib.h>
#include <string.h>

#include "tracker.h"
#include "../../include/mlcc/phase.h"
#include "../../include/mlcc/profiles.h"

const struct mlcc_profile *profile_named(const char *name)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = MLCC_PROFILE_NAMES;

	for (u32 i = 0; i < MLCC_PROFILE_COUNT; i++)
		if (!strcmp(name, names[i]))
			return &profiles[i];
	return NULL;
}

struct mlcc_job *tracker_new(void)
{
	return calloc(1, sizeof(struct mlcc_job));
}

uint32_t tracker_phases(const struct mlcc_job *j)
{
	return j->seq;
}
