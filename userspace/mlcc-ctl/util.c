// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../common/auto.h"
#include "ctl.h"

struct json_object *get_list(struct json_object *o, const char *key)
{
	struct json_object *v;

	if (json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_array))
		return v;
	die(EXIT_FAILED, "mlccd's reply has no list '%s'", key);
}

bool first_line(const char *path, char *line, size_t size)
{
	AUTO_FCLOSE FILE *f = fopen(path, "re");
	bool there = f && fgets(line, size, f);

	if (there)
		line[strcspn(line, "\n")] = '\0';
	return there;
}

const char *human(uint64_t v)
{
	static const char units[] = " kMGTP";
	static char buf[4][32];
	static unsigned int turn;
	unsigned int unit = 0;
	double d = v;
	char *s = buf[turn++ % 4];

	while (d >= 999.5 && units[unit + 1]) {
		d /= 1000;
		unit++;
	}
	if (unit)
		snprintf(s, sizeof(buf[0]), "%.3g%c", d, units[unit]);
	else
		snprintf(s, sizeof(buf[0]), "%llu", (unsigned long long)v);
	return s;
}

const char *milliseconds(uint64_t us)
{
	static char buf[4][32];
	static unsigned int turn;
	char *s = buf[turn++ % 4];

	snprintf(s, sizeof(buf[0]), us ? "%.1f" : "-", us / 1000.0);
	return s;
}
