/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which congestion controls the kernel has, of whichever carrier. */
#ifndef MLCC_REGISTERED_H
#define MLCC_REGISTERED_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../common/auto.h"

static inline bool mlcc_registered(const char *cc)
{
	AUTO_FCLOSE FILE *f = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "re");
	bool found = false;
	char name[32];

	while (f && !found && fscanf(f, "%31s", name) == 1)
		found = !strcmp(name, cc);
	return found;
}

#endif /* MLCC_REGISTERED_H */
