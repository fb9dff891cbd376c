/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Closing what a peer may have put descriptors into, in threads.
 *
 * The last close of a file waits for as long as the file likes: a TCP socket with SO_LINGER for the
 * time that its owner has set.  What is queued on a connection is closed with it, and so is what
 * comes with a packet that is received without room for it: both by whoever does that.  So the main
 * thread does neither.  A thread that waits is interrupted.
 *
 * What is never a descriptor of this process's is not flushed when it goes, and only a flush waits
 * for what nothing interrupts (FUSE): descriptors that are wanted come through the porter.
 */
#ifndef MLCCD_AWAY_H
#define MLCCD_AWAY_H

#include <systemd/sd-event.h>

struct away;

/* NULL: no memory. */
struct away *away_new(sd_event *events);
/* Whoever waits is interrupted; what is not done by then is done by the end of the process. */
void away_free(struct away *a);

typedef void away_done(void *arg);

/*
 * Nobody can send descriptors to @fd any more, nor to what is accepted from it, where the kernel knows
 * that (6.16).  Some may have come before.
 */
void away_refuse(int fd);

/* Closes @fd, a connection.  @done, NULL: nobody, is called in the main thread. */
void away_close(struct away *a, int fd, away_done *done, void *arg);

/* Takes the next packet off @fd, without what came with it. */
void away_discard(struct away *a, int fd, away_done *done, void *arg);

#endif /* MLCCD_AWAY_H */
