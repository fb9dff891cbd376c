// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

/* The first of the units is for a number alone. */
static uint64_t with_unit(const char *what, const char *s, const struct unit *units,
			  const char *allowed)
{
	double v = number_with_unit(s, units);

	if (!(v >= 0.5 && v < 9e15))
		die(EXIT_USAGE, "%s '%s': a number is wanted, such as %s", what, s, allowed);
	return v + 0.5;
}

uint64_t parse_bytes(const char *what, const char *s)
{
	static const struct unit units[] = {
		{ "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 },
		{ "Ki", 1024 }, { "Mi", 1 << 20 }, { "Gi", 1 << 30 }, { }
	};

	return with_unit(what, s, units, "1000000, 250M or 1.5G (thousands), 64Mi (1024s)");
}

uint64_t parse_count(const char *what, const char *s)
{
	static const struct unit units[] = {
		{ "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "B", 1e9 }, { "G", 1e9 }, { "T", 1e12 },
		{ }
	};

	return with_unit(what, s, units, "340000000, 340M or 7B");
}

uint64_t parse_time_us(const char *what, const char *s)
{
	static const struct unit units[] = {
		{ "ms", 1e3 }, { "s", 1e6 }, { "us", 1 }, { }
	};

	return with_unit(what, s, units, "250ms, 1.5s or 800us");
}

uint64_t parse_number(const char *what, const char *s, uint64_t min, uint64_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || *s < '0' || *s > '9' || *end || v < min || v > max)
		die(EXIT_USAGE, "%s '%s': a whole number from %llu to %llu is wanted", what, s,
		    (unsigned long long)min, (unsigned long long)max);
	return v;
}

double parse_fraction(const char *what, const char *s)
{
	static const struct unit none[] = { { "", 1 }, { } };
	double v = number_with_unit(s, none);

	if (!isfinite(v))
		die(EXIT_USAGE, "%s '%s': a number of 0 or more is wanted", what, s);
	return v;
}

struct json_object *get_list(struct json_object *o, const char *key)
{
	struct json_object *v;

	if (json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_array))
		return v;
	die(EXIT_REFUSED, "mlccd's reply has no list '%s'", key);
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
