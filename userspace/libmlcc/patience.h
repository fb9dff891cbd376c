/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long a thread waits for whoever has the lock of the pins, and who may be stopped while he has
 * it: mlcc_patience() of libmlcc.h.
 */
#ifndef MLCC_PATIENCE_H
#define MLCC_PATIENCE_H

#define MLCC_FOR_EVER	(~0U)

/*
 * flock(@fd, @how), for @ms at most, or as the thread has said.  -EAGAIN: not within that time; then
 * those that the thread tries in the next second do not wait.
 */
int mlcc_lock_wait(int fd, int how, unsigned int ms);

#endif /* MLCC_PATIENCE_H */
