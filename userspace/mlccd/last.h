/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A process that has all files of mlccd's, too, and closes them when mlccd has ended.
 *
 * What ends closes what it has, and what is queued on a connection then may be what never closes
 * (away.h): mlccd could not be killed.  So it has nothing that is its own alone.  Peers are told by
 * this process that their connections are over, locks and ports are given back, and whatever does
 * not close keeps it, and nobody else.
 */
#ifndef MLCCD_LAST_H
#define MLCCD_LAST_H

/* Before there is a thread.  @handed: so many sockets are the service manager's. */
void last_start(int handed);

#endif /* MLCCD_LAST_H */
