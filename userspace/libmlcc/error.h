/* SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later */
/* One line on what was wrong, as every part of libmlcc leaves it. */
#ifndef LIBMLCC_ERROR_H
#define LIBMLCC_ERROR_H

#include "libmlcc.h"

/* Notes what was wrong, and returns @err (a negative error number). */
int mlcc_fail(char error[MLCC_ERROR_LEN], int err, const char *fmt, ...)
	__attribute__((__format__(__printf__, 3, 4)));

#endif /* LIBMLCC_ERROR_H */
