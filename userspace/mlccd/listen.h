/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where the daemon is spoken to: sockets that systemd hands over, or its own. */
#ifndef MLCCD_LISTEN_H
#define MLCCD_LISTEN_H

#include "mlccd.h"

/* Opens the control socket and those of the metrics in @dir. */
int listen_all(struct mlccd *d, const char *dir, struct err *e);

#endif /* MLCCD_LISTEN_H */
