/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Control groups: where they are, whose they are, whether they are there still. */
#ifndef MLCCD_CGROUP_H
#define MLCCD_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "../common/err.h"
#include "keep.h"

#define CGROUP_LEVELS	64	/* below the root, of a job's: the tagger looks at no more */

/* PIDFD_GET_INFO, which is newer than the headers of distributions, and grows. */
#define PIDFD_TOLD	_IOWR(0xff, 11, struct pidfd_told)

struct pidfd_told {
	uint64_t mask, cgroup, others[6];
};

struct cgroups {
	int root;			/* of the version 2 hierarchy, or -1 */
	char mount[PATH_MAX];
};

/* Looks for the mount.  -ENOENT: there is none. */
int cgroups_init(struct cgroups *c);

/*
 * The cgroup that @path names, below the mount or relative to it: @rel gets its path below the
 * mount, as it is stored and shown, and @look what is known of it.
 */
int cgroup_find(const struct cgroups *c, const char *path, char rel[PATH_MAX],
		struct cgroup_look *look, struct err *e);

/*
 * What @path says in the cgroup namespace of a process, where that is not ours: below what it has
 * mounted there, or relative to that, if that is to be looked at (@look), or -EINVAL.  -E2BIG: that
 * takes too long.
 */
int cgroup_seen_by(pid_t pid, bool look, char path[PATH_MAX], struct err *e);

/*
 * By the path below the mount, through neither ".." nor symbolic links, with the rights of the
 * calling process: a descriptor (O_PATH) or a negative error number; what is known of it.
 */
int cgroup_open(const struct cgroups *c, const char *rel, struct err *e);
int cgroup_look(const struct cgroups *c, const char *rel, struct cgroup_look *look, struct err *e);

/* The cgroup of a process, as its path below the mount, with a '/' before it. */
int cgroup_of_pid(pid_t pid, int pidfd, char path[PATH_MAX], struct err *e);

/*
 * To ask more than once: a descriptor, which stays that process's when its number is another's, or
 * -1; and what cgroup_of_pid() says now.  -ESRCH: the process has gone.
 *
 * That is read from /proc only where the kernel does not tell its id: a process may be thousands of
 * cgroups deep, of which the kernel goes through all above for each, a second for ten thousand.
 */
int cgroup_watch_pid(pid_t pid);
int cgroup_watched(int fd, int pidfd, char path[PATH_MAX]);

/* As the keeper sees it: likewise, or a negative error number; the path of the one of that id. */
int cgroup_open_pid(pid_t pid);
int cgroup_place(const struct cgroups *c, uint64_t id, char path[PATH_MAX], struct err *e);

/*
 * Where version 1 is in use, too, containers may be told apart there only: all of them are in the
 * cgroup of version 2 of who has started them.  -EINVAL: the process has @path in common so.
 */
int cgroup_is_shared(const struct cgroups *c, pid_t pid, const char *path, struct err *e);

/* How many there are above it and itself. */
unsigned int cgroup_levels(const char *rel);

/* What the kernel knows it by; 0 on failure. */
uint64_t cgroup_id(int fd);

/* Is the cgroup delegated to the user: the directory and its cgroup.procs are theirs? */
bool cgroup_delegated(const struct cgroup_look *look, uid_t uid);

/* Is it there still, and the same? */
bool cgroup_there(const struct cgroups *c, const char *rel, uint64_t id);

/* Is @inner the cgroup @outer, or below it?  Both as cgroup_open() gives them. */
bool cgroup_within(const char *inner, const char *outer);

#endif /* MLCCD_CGROUP_H */
