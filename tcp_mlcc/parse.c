// SPDX-License-Identifier: GPL-2.0
/* Text of the module parameters into numbers, without floating point. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "mlcc.h"
#include "parse.h"

#define MLCC_DECIMALS_MAX 9

/* Digits of *@s as a number below 10^9; returns how many there were, or -1 if that is too many. */
static int mlcc_digits(const char **s, u32 *to)
{
	const char *p = *s;

	for (*to = 0; isdigit(*p); p++) {
		if (p - *s >= MLCC_DECIMALS_MAX)
			return -1;
		*to = *to * 10 + (*p - '0');
	}
	swap(*s, p);
	return *s - p;
}

static bool mlcc_q16(const char *s, u64 *to)
{
	u32 whole, part = 0, one = 1;
	int n, decimals = 0;

	n = mlcc_digits(&s, &whole);
	if (n < 0)
		return false;
	if (*s == '.') {
		s++;
		decimals = mlcc_digits(&s, &part);
	}
	if (decimals < 0 || n + decimals == 0 || *s)
		return false;
	while (decimals--)
		one *= 10;
	*to = ((u64)whole << MLCC_SHIFT) + div_u64(((u64)part << MLCC_SHIFT) + one / 2, one);
	return true;
}

/* A decimal fraction such as 0.25, from @min to @max (Q16). */
int mlcc_parse_q16(const char *what, const char *s, u32 min, u32 max, u32 *to)
{
	u64 v;

	if (mlcc_q16(s, &v) && v >= min && v <= max) {
		*to = v;
		return 0;
	}
	pr_err("%s '%s': must be a number from %u.%03u to %u.%03u\n", what, s,
	       MLCC_WHOLE(min), MLCC_MILLI(min), MLCC_WHOLE(max), MLCC_MILLI(max));
	return -EINVAL;
}

/* A whole number; decimal, or hexadecimal after 0x. */
int mlcc_parse_u64(const char *what, const char *s, u64 min, u64 max, u64 *to)
{
	u64 v;

	if (isdigit(*s) && !kstrtou64(s, 0, &v) && v >= min && v <= max) {
		*to = v;
		return 0;
	}
	pr_err("%s '%s': must be a whole number from %llu to %llu\n", what, s, min, max);
	return -EINVAL;
}

/* One of @count names. */
int mlcc_parse_name(const char *what, const char *s, const char *const *names, u32 count, u32 *to)
{
	char all[80];
	int len = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		if (!strcmp(s, names[i])) {
			*to = i;
			return 0;
		}
		len += scnprintf(all + len, sizeof(all) - len, " %s", names[i]);
	}
	pr_err("%s '%s': must be one of:%s\n", what, s, all);
	return -EINVAL;
}

char *mlcc_parse_pair(const char *what, char *s)
{
	char *value = strchr(s, '=');

	if (!value || value == s) {
		pr_err("%s '%s': KEY=VALUE is wanted\n", what, s);
		return NULL;
	}
	*value++ = '\0';
	return value;
}

char *mlcc_parse_word(char **s)
{
	char *word;

	do {
		word = strsep(s, " \t\n");
	} while (word && !*word);
	return word;
}
