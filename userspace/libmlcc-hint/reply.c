// SPDX-License-Identifier: BSD-2-Clause
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "reply.h"

/* @s is behind the opening quote; returns the closing one, or the end of the text. */
static const char *string_end(const char *s)
{
	for (; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	return s;
}

static const char *blanks(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

/* The value of the first member @key; a string that is no key is stepped over. */
static const char *member(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *s = text; *s; s++) {
		const char *from = s + 1, *end, *colon;

		if (*s != '"')
			continue;
		end = string_end(from);
		if (!*end)
			return NULL;
		colon = blanks(end + 1);
		if (*colon == ':' && (size_t)(end - from) == n && !memcmp(from, key, n))
			return blanks(colon + 1);
		s = end;
	}
	return NULL;
}

bool reply_ok(const char *text)
{
	const char *value = member(text, "ok");

	return value && !strncmp(value, "true", 4);
}

uint32_t reply_id(const char *text)
{
	const char *value = member(text, "id");
	unsigned long id;

	if (!value || *value < '0' || *value > '9')
		return 0;
	id = strtoul(value, NULL, 10);
	return id <= 65535 ? id : 0;
}

void reply_why(const char *text, char *out, unsigned int size)
{
	const char *value = member(text, "error");
	size_t n = 0;

	if (value && *value == '"')
		n = string_end(value + 1) - (value + 1);
	if (n >= size)
		n = size - 1;
	if (n)
		memcpy(out, value + 1, n);
	out[n] = '\0';
}
