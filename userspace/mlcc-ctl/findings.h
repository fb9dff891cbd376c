/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What doctor and explain have found: a line each, or with --json an object each in a list. */
#ifndef MLCC_CTL_FINDINGS_H
#define MLCC_CTL_FINDINGS_H

enum finding { FINE, NOTE, BAD };

void findings_begin(void);

/* A line: @what was looked at, what was found, and @todo about it ("": nothing). */
void result(enum finding s, const char *what, const char *todo, const char *fmt, ...)
	__attribute__((__format__(__printf__, 4, 5)));

/* The status to end with. */
int findings_end(void);

#endif /* MLCC_CTL_FINDINGS_H */
