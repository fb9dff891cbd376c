/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receives the descriptors of rings in a process of its own.
 *
 * A descriptor that has been received is flushed when it is closed, which a file system that its
 * sender serves (FUSE) delays for as long as he likes, and then not even SIGKILL ends who closes
 * it.  So a process that has nothing else receives each packet with descriptors, hands over a
 * memfd of ordinary pages and an eventfd, which nobody serves, and ends with all else.
 *
 *	mlccd --- connection ---> porter --- fork ---> one that receives, checks, answers, ends
 *	  ^                                                                  |
 *	  +------------- the descriptors, or what is wrong ------------------+
 *
 * A user has few of those that have not ended, all together have not many more.
 */
#ifndef MLCCD_PORTER_H
#define MLCCD_PORTER_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "../common/err.h"
#include "ring.h"

struct porter;

/*
 * @taken: the porter has no descriptor of the connection any more, so a close of mlccd's is not
 * one of the porter's.  @answer: 0 and the descriptors, which the callee closes, or a negative error
 * number and what is wrong.  @ended: the process has ended, after its answer or without one.
 * @lost: none of those that are not answered will be, or is known to end.
 */
struct porter_calls {
	void (*taken)(void *arg, uint32_t id);
	void (*answer)(void *arg, uint32_t id, int err, const char *why, const int fds[RING_FDS]);
	void (*ended)(void *arg, uint32_t id);
	void (*lost)(void *arg);
	void *arg;
};

/* Does what comes on the descriptor, and does not return (away.h). */
typedef void porter_work(int fd);

/* Before there is a thread.  NULL: it cannot be had. */
struct porter *porter_start(porter_work *work);
int porter_watch(struct porter *p, sd_event *events, const struct porter_calls *calls);
void porter_end(struct porter *p);

/* Has the next packet of @fd received; @id is not 0.  A negative error number: it is not. */
int porter_fetch(struct porter *p, int fd, uint32_t id);

/* Of the calling process, which needs no right to anything. */
void porter_drop_rights(void);

/* A process that works on @fd, the other end of which mlccd has. */
int porter_worker(struct porter *p, int fd);

#endif /* MLCCD_PORTER_H */
