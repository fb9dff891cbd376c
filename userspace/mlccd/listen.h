/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where the daemon is spoken to: sockets that systemd hands over, or its own. */
#ifndef MLCCD_LISTEN_H
#define MLCCD_LISTEN_H

#include <stdint.h>

#include "../common/err.h"

/* Descriptors that listen; -1: there is none. */
struct listening {
	int control;
	int metrics;
	int port;		/* of metrics, too */
	int door;		/* where the next daemon asks for @control (last.h) */
};

/* Those in @dir, and one at @address, a number, if @port is not 0. */
int listen_all(struct listening *l, const char *dir, const char *address, uint32_t port,
	       struct err *e);

/* Has the daemon that listens in @dir end, if there is one, and waits for that. */
int listen_stop_other(const char *dir, struct err *e);

#endif /* MLCCD_LISTEN_H */
