// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
/*
 * Which connections of a cgroup are not its job's, as people write it:
 * "lo,2049,6000-6100,10.9.0.0/16".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libmlcc.h"
#include "skip.h"

#define MAPPED_BITS	96	/* before the address in ::ffff:a.b.c.d */

/* A number from @least to @most that ends at one of @ends; -1: it is none. */
static long skip_number(const char *s, long least, long most, const char *ends, const char **end)
{
	char *after;
	long n;

	if (*s < '0' || *s > '9')
		return -1;
	n = strtol(s, &after, 10);
	*end = after;
	return n < least || n > most || (*after && !strchr(ends, *after)) ? -1 : n;
}

static bool add_ports(struct mlcc_skip *s, const char *word)
{
	const char *end;
	long first = skip_number(word, 1, 65535, "-", &end), last = first;

	if (first > 0 && *end == '-')
		last = skip_number(end + 1, first, 65535, "", &end);
	if (first < 0 || last < 0)
		return false;
	s->first[s->ports] = first;
	s->last[s->ports++] = last;
	return true;
}

static void set_prefix(struct mlcc_skip *s, const unsigned char address[16], unsigned int len)
{
	unsigned char *to = (unsigned char *)s->address[s->addresses];
	unsigned char *mask = (unsigned char *)s->mask[s->addresses];

	for (unsigned int i = 0; i < 16; i++) {
		unsigned int bits = len > 8 * i ? len - 8 * i : 0;

		mask[i] = bits >= 8 ? 0xff : (unsigned char)(0xff00 >> bits);
		to[i] = address[i] & mask[i];
	}
	s->addresses++;
}

/* @word is overwritten. */
static bool add_address(struct mlcc_skip *s, char *word)
{
	unsigned char address[16] = { [10] = 0xff, [11] = 0xff };
	char *slash = strchr(word, '/');
	const char *end;
	long len, most;

	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET, word, address + 12) == 1)
		most = 32;
	else if (inet_pton(AF_INET6, word, address) == 1)
		most = 128;
	else
		return false;
	len = slash ? skip_number(slash, 0, most, "", &end) : most;
	if (len < 0)
		return false;
	set_prefix(s, address, most == 32 ? MAPPED_BITS + len : len);
	return true;
}

static int skip_add(struct mlcc_skip *s, char *word, char *error)
{
	char said[64];

	snprintf(said, sizeof(said), "%s", word);
	if (!strcmp(word, "lo")) {
		s->own = 1;
		return 0;
	}
	if (s->ports == MLCC_SKIPS || s->addresses == MLCC_SKIPS)
		return mlcc_fail(error, -E2BIG, "skip: at most %d ports and %d addresses",
				 MLCC_SKIPS, MLCC_SKIPS);
	if (add_ports(s, word) || add_address(s, word))
		return 0;
	return mlcc_fail(error, -EINVAL,
			 "skip: '%s' is neither lo nor a port, a range of ports or an address", said);
}

int mlcc_skip_parse(struct mlcc_skip *s, const char *text, char error[MLCC_ERROR_LEN])
{
	char copy[MLCC_SKIP_LEN], *at = copy, *word;
	int err = 0;

	*s = (struct mlcc_skip){ };
	if (strlen(text) >= sizeof(copy))
		return mlcc_fail(error, -E2BIG, "skip: at most %zu characters", sizeof(copy) - 1);
	if (!*text || !strcmp(text, "none"))
		return 0;
	strcpy(copy, text);
	while (!err && (word = strsep(&at, ",")))
		err = skip_add(s, word + strspn(word, " "), error);
	return err;
}

int mlcc_skip_check(const char *skip, char error[MLCC_ERROR_LEN])
{
	struct mlcc_skip ignored;

	return mlcc_skip_parse(&ignored, skip, error);
}
