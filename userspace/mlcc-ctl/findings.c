// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>

#include "ctl.h"
#include "findings.h"

static const char *const names[] = { "ok", "note", "FAIL" };

static struct json_object *results;
static bool found_bad;

void findings_begin(void)
{
	results = json_object_new_array();
}

void result(enum finding s, const char *what, const char *todo, const char *fmt, ...)
{
	struct json_object *o = json_object_new_object();
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	found_bad |= s == BAD;
	put_string(o, "check", what);
	put_string(o, "state", names[s]);
	put_string(o, "text", text);
	put_string(o, "todo", todo);
	json_object_array_add(results, o);
	if (common.json)
		return;
	printf("%-5s %-12s %s%s%s\n", names[s], what, text, *todo ? "; " : "", todo);
}

int findings_end(void)
{
	answer(results);
	return found_bad ? EXIT_REFUSED : EXIT_FINE;
}
