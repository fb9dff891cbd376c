/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The porter: a process without rights or files, of which mlccd has workers forked (away.h).
 *
 * mlccd itself has too much that its children would have, too: what hangs in one of them would keep
 * it.  One that dies is replaced, and its workers die with it.
 */
#ifndef MLCCD_PORTER_H
#define MLCCD_PORTER_H

#include <systemd/sd-event.h>

struct porter;

/* Does what comes on the descriptor, until it is over. */
typedef void porter_work(int fd);

/* Before there is a thread.  NULL: it cannot be had. */
struct porter *porter_start(porter_work *work);
/* @lost: it has died. */
int porter_watch(struct porter *p, sd_event *events, void (*lost)(void *arg), void *arg);
void porter_end(struct porter *p);

/* A process that works on @fd, the other end of which mlccd has.  A negative error number: none. */
int porter_worker(struct porter *p, int fd);

#endif /* MLCCD_PORTER_H */
