/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Messages with descriptors between mlccd and its processes.  Nothing here takes a lock. */
#ifndef MLCCD_PASS_H
#define MLCCD_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PASS_FDS	2	/* in a message, at most */

/* @flags: for sendmsg(2).  A negative error number, or 0. */
int pass_send(int fd, const void *what, size_t size, const int *fds, unsigned int count, int flags);

/* @flags: for recvmsg(2), then what it says of the message.  A negative error number, or bytes. */
ssize_t pass_receive(int fd, void *to, size_t size, int fds[PASS_FDS], unsigned int *count,
		     int *flags);

/*
 * Whether descriptors can be sent to @fd, and to who connects to it from now on, where the kernel knows
 * that (6.16).  Some may have come before.
 */
void pass_allow(int fd, bool yes);

#endif /* MLCCD_PASS_H */
