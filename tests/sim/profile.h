/* SPDX-License-Identifier: GPL-2.0 */
/* mlcc's profiles by their names, for both of the simulator's carriers. */
#ifndef MLCC_SIM_PROFILE_H
#define MLCC_SIM_PROFILE_H

#include <string.h>

#include "../../include/mlcc/profiles.h"

/* NULL: there is none. */
static inline const struct mlcc_profile *profile_named(const char *name)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = MLCC_PROFILE_NAMES;

	for (u32 i = 0; i < MLCC_PROFILE_COUNT; i++)
		if (!strcmp(name, names[i]))
			return &profiles[i];
	return NULL;
}

#endif /* MLCC_SIM_PROFILE_H */
