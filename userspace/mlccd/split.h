/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How a process gives up its rights: those of the part that everybody speaks to (keep.h). */
#ifndef MLCCD_SPLIT_H
#define MLCCD_SPLIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "../common/err.h"

struct split {
	uid_t uid;
	gid_t gid;
};

/*
 * Whom the part without rights runs as: @name, a user or a number; if there is none of that name, a
 * number that is nobody's.  Without the right to that, or if this is not root, it stays who it is.
 */
void split_user(struct split *s, const char *name);

/* Becomes that user, without capabilities, for good; ends with @parent. */
int split_drop(const struct split *s, pid_t parent, struct err *e);

/* Of the calling process, which needs no right to anything. */
void split_drop_rights(void);

/*
 * From now on only system calls of a list, for this process and its children: no programs, no BPF,
 * no namespaces, no tracing, no sockets but of AF_UNIX. Made here rather than by the unit's
 * SystemCallFilter=, as containers have none, and as the keeper needs what is refused here.
 */
int filter_set(struct err *e);

#endif /* MLCCD_SPLIT_H */
