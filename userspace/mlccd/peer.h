/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The control socket: who may connect, and what they may do at what rate. */
#ifndef MLCCD_PEER_H
#define MLCCD_PEER_H

struct mlccd;

/* Takes over @fd, which listens. */
int peers_listen(struct mlccd *d, int fd);
void peers_close(struct mlccd *d);

#endif /* MLCCD_PEER_H */
