/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Closing what a peer may have put descriptors into, and receiving those of rings, in processes
 * without rights.
 *
 * The last close of a file waits for as long as the file likes: a TCP socket with SO_LINGER for the
 * time that its owner has set, and then a signal ends that; a file of a FUSE mount that is to be
 * written back for an answer that never comes, and then not even SIGKILL ends who waits.  What is
 * queued on a connection is closed with it, and so is what comes with a packet that is received
 * without room for it: both by whoever does that.  So mlccd does neither, but passes the connection
 * to a worker, which the porter forks (porter.h); and as a process closes what it has when it ends,
 * in whatever way, another one closes what mlccd had (last.h).
 *
 *	mlccd --- connection ---> worker: receives, checks, answers, closes all
 *	  ^                         |
 *	  +--- a ring's memfd, of ordinary pages, and eventfd, which nobody serves, or what is wrong
 */
#ifndef MLCCD_AWAY_H
#define MLCCD_AWAY_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "ring.h"

struct away;
struct porter;

/*
 * Of @most workers.  @waits: for one that is at something, rather than having another one made.
 * @porter, NULL: there is none, and what is wanted is done here.  NULL: no memory.
 */
struct away *away_new(sd_event *events, struct porter *porter, unsigned int most, bool waits);
/* What is not closed by then is after the end of the process; what is received is done. */
void away_free(struct away *a);
/* The porter has died. */
void away_lost(struct away *a);

typedef void away_done(void *arg);
/* 0 and the descriptors, which the callee closes, or a negative error number and what is wrong. */
typedef void away_answer(void *arg, int err, const char *why, const int fds[RING_FDS]);

/* How many are not done, of which nobody has begun. */
unsigned int away_waiting(const struct away *a);

/* Closes @fd, a connection.  @done, NULL: nobody, is called when that is over, or who did it is. */
void away_close(struct away *a, int fd, away_done *done, void *arg);

/* Takes the next packet off @fd, without what came with it. */
void away_discard(struct away *a, int fd, away_done *done, void *arg);

/*
 * Has the next packet of @fd received, with the descriptors of a ring.  @done comes after @answer,
 * or without it.  Not without a porter.
 */
void away_fetch(struct away *a, int fd, away_answer *answer, away_done *done, void *arg);

/* What a worker does, whose orders come on @fd. */
void away_work(int fd) __attribute__((noreturn));

#endif /* MLCCD_AWAY_H */
