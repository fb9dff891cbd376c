// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
#include <stdarg.h>
#include <stdio.h>

#include "error.h"

int mlcc_fail(char error[MLCC_ERROR_LEN], int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, MLCC_ERROR_LEN, fmt, ap);
	va_end(ap);
	return err;
}
