// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

void make_printable(char *s, bool ascii)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f || (ascii && (unsigned char)*s > '~'))
			*s = '?';
}

int fail(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

void note(int priority, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	make_printable(line, false);
	fprintf(stderr, "<%d>%s\n", priority, line);
}

const char *err_name(int code)
{
	const char *name = strerrorname_np(-code);

	return name ? name : "EIO";
}
