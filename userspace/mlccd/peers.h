/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The control socket: who is connected to it, and what they may do at what rate. */
#ifndef MLCCD_PEERS_H
#define MLCCD_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "account.h"
#include "away.h"
#include "porter.h"

struct mlccd;
struct peer;

#define REFUSALS	64

/* Of the process that was refused last, of those whose numbers have the same place. */
struct refusal {
	pid_t pid;
	const char *why;
	uint64_t until_us;
};

struct peers {
	struct peer *first;
	unsigned int count;		/* connections that are open, */
	unsigned int users;		/* and of them not of administrators */
	sd_event_source *listener, *pause;
	struct bucket accepts;
	struct refusal refusals[REFUSALS];
	struct away *away;
	bool guarded;			/* who connects can send no descriptors before he is accepted */
	struct porter *porter;		/* NULL: there are no rings */
	struct away *fetcher;
	unsigned int fetches;
	/* shown by "status" and as metrics */
	uint64_t limited, dropped;
};

/* Takes over @fd, which listens. */
int peers_listen(struct mlccd *d, int fd);
void peers_close(struct mlccd *d);

#endif /* MLCCD_PEERS_H */
