/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef MLCC_CTL_DOCTOR_H
#define MLCC_CTL_DOCTOR_H

enum finding { FINE, NOTE, BAD };

/* A line: @what was looked at, what was found, and @todo about it ("": nothing). */
void result(enum finding s, const char *what, const char *todo, const char *fmt, ...)
	__attribute__((__format__(__printf__, 4, 5)));

/* doctor_rdma.c; below the root that sysroot_set() has opened. */
void check_rdma(void);

#endif /* MLCC_CTL_DOCTOR_H */
