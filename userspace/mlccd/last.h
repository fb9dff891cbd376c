/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What mlccd leaves when it ends, in whatever way: two processes, each for a while.
 *
 * One has all files of mlccd's, too, and closes them when mlccd has ended.
 *
 * What ends closes what it has, and what is queued on a connection then may be what never closes
 * (away.h): mlccd could not be killed.  So it has nothing that is its own alone.  Peers are told by
 * this process that their connections are over, locks and ports are given back, and whatever does
 * not close keeps it, and nobody else.
 *
 * The other has the socket that mlccd listens on, if no service manager has, and hands it to the
 * next mlccd: a container that has mounted the socket itself would have the old one for ever.  Who
 * comes in meanwhile waits in it.  It ends if nobody has asked for half a minute, or the folder is
 * gone.
 */
#ifndef MLCCD_LAST_H
#define MLCCD_LAST_H

struct listening;

/* Before there is a thread.  @handed: so many sockets are the service manager's. */
void last_start(int handed, const struct listening *l);

#endif /* MLCCD_LAST_H */
