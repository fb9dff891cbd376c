/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef MLCC_CGROUP2_H
#define MLCC_CGROUP2_H

#include <linux/magic.h>
#include <stdbool.h>
#include <sys/vfs.h>

/* Whether @path is in a cgroup hierarchy: what the mount table has there may be covered. */
static inline bool is_cgroup2(const char *path)
{
	struct statfs s;

	return !statfs(path, &s) && s.f_type == CGROUP2_SUPER_MAGIC;
}

#endif /* MLCC_CGROUP2_H */
