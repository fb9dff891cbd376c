/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One line on what was wrong and what is allowed, next to a negative error number. */
#ifndef MLCC_ERR_H
#define MLCC_ERR_H

#include <stdbool.h>

#define ERR_LEN	400

struct err {
	char text[ERR_LEN];
};

/* What others have said and is quoted stays one line; @ascii: and nothing else is in it. */
void make_printable(char *s, bool ascii);

/* Notes the line, returns @code. */
int fail(struct err *e, int code, const char *fmt, ...)
	__attribute__((__format__(__printf__, 3, 4)));

/* A line to stderr with the priority that the journal understands (<3> ... <7>). */
void note(int priority, const char *fmt, ...) __attribute__((__format__(__printf__, 2, 3)));

/* "EINVAL" for -EINVAL */
const char *err_name(int code);

#endif /* MLCC_ERR_H */
