// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

#define DIGITS	"0123456789"

/* A decimal number, and what follows it and blanks; NAN: there is none. */
static double leading(const char *s, const char **unit)
{
	size_t n = strspn(s, DIGITS);
	char *end;
	double v;

	/* strtod() would take hexadecimal ones */
	if (!n || s[n] == 'x' || s[n] == 'X')
		return NAN;
	v = strtod(s, &end);
	*unit = end + (*end == ' ' && end[1]);
	return v;
}

int number_whole(const char *what, const char *s, uint64_t min, uint64_t max, uint64_t *v,
		 struct err *e)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(s, &end, *s == '0' && (s[1] | 0x20) == 'x' ? 16 : 10);
	if (errno || *s < '0' || *s > '9' || *end || n < min || n > max)
		return fail(e, -ERANGE, "%s '%.40s': a whole number from %llu to %llu is wanted",
			    what, s, (unsigned long long)min, (unsigned long long)max);
	*v = n;
	return 0;
}

int number_fraction(const char *what, const char *s, double min, double max, double *v,
		    struct err *e)
{
	const char *unit = "";
	double n = leading(s, &unit);

	if (*unit || !(n >= min && n <= max))
		return fail(e, -ERANGE, "%s '%.40s': a number from %g to %g is wanted", what, s, min,
			    max);
	*v = n;
	return 0;
}

/* What the prefix @c multiplies by; 0: it is none. */
static double prefix(char c, double base)
{
	static const char order[] = "kmgt";
	const char *at = c ? strchr(order, c | 0x20) : NULL;
	double factor = 1;

	for (const char *o = order; at && o <= at; o++)
		factor *= base;
	return at ? factor : 0;
}

static double bytes_unit(const char *unit)
{
	double factor = 1;

	if (*unit && *unit != 'B') {
		factor = prefix(*unit, unit[1] == 'i' ? 1024 : 1000);
		unit += 1 + (unit[1] == 'i');
	}
	return strcmp(unit, "B") && *unit ? 0 : factor;
}

static double count_unit(const char *unit)
{
	if (!*unit)
		return 1;
	if (unit[1])
		return 0;
	return (*unit | 0x20) == 'b' ? 1e9 : prefix(*unit, 1000);
}

static double time_unit(const char *unit)
{
	static const struct {
		const char *name;
		double us;
	} units[] = { { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 }, { "m", 60e6 }, { "h", 3600e6 } };

	for (unsigned int i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].us;
	return 0;
}

/* Rounded; within the range. */
static int scaled(const char *s, double (*factor)(const char *unit), uint64_t min, uint64_t max,
		  uint64_t *v)
{
	const char *unit = "";
	double n = leading(s, &unit), f;

	f = isfinite(n) ? factor(unit) : 0;
	n = n * f + 0.5;
	if (!f || !(n >= min && n < max + 1.0))
		return -ERANGE;
	*v = n;
	return 0;
}

int number_bytes(const char *what, const char *s, uint64_t max, uint64_t *v, struct err *e)
{
	if (!scaled(s, bytes_unit, 1, max, v))
		return 0;
	return fail(e, -ERANGE, "%s '%.40s': from 1 to %llu bytes is wanted, such as 1000000, 250M or 250MB (thousands), 64Mi or 64MiB (1024s)",
		    what, s, (unsigned long long)max);
}

int number_count(const char *what, const char *s, uint64_t max, uint64_t *v, struct err *e)
{
	if (!scaled(s, count_unit, 1, max, v))
		return 0;
	return fail(e, -ERANGE, "%s '%.40s': from 1 to %llu is wanted, such as 340000000, 340M or 7B",
		    what, s, (unsigned long long)max);
}

int number_time_us(const char *what, const char *s, uint64_t min, uint64_t max, uint64_t *v,
		   struct err *e)
{
	if (!scaled(s, time_unit, min, max, v))
		return 0;
	return fail(e, -ERANGE, "%s '%.40s': from %.10gms to %.10gms is wanted, such as 800us, 250ms or 1.5s",
		    what, s, min / 1e3, max / 1e3);
}
