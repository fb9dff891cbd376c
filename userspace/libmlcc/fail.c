// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
#include <stdio.h>

#include "internal.h"

int mlcc_fail(struct mlcc *m, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->error, sizeof(m->error), fmt, ap);
	va_end(ap);
	return err;
}
