/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The control socket: who is connected, and what they may do at what rate. */
#ifndef MLCCD_PEER_H
#define MLCCD_PEER_H

#include <stdint.h>
#include <systemd/sd-event.h>

struct mlccd;
struct peer;

struct peers {
	struct peer *first;
	unsigned int count;
	sd_event_source *listener;
	/* shown by "status" and as metrics */
	uint64_t limited, dropped;
};

/* Takes over @fd, which listens. */
int peers_listen(struct mlccd *d, int fd);
void peers_close(struct mlccd *d);

#endif /* MLCCD_PEER_H */
