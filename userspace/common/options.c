// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <string.h>

#include "json.h"
#include "options.h"
#include "program.h"

#define OPTIONS	48		/* of a verb */
#define FIRST	0x200		/* no letter, and none of program.h's */

static const char *one_of(const char *what, const char *s, const struct option_of *o)
{
	char all[200] = "";
	size_t n = 0;

	for (unsigned int i = 0; i < o->count; i++) {
		if (!strcmp(s, o->words[i]))
			return s;
		n += snprintf(all + n, sizeof(all) - n, "%s%s",
			      !i ? "" : i < o->count - 1 ? ", " : " or ", o->words[i]);
	}
	die(EXIT_USAGE, "%s '%s': %s is wanted", what, s, all);
}

static void option_take(const struct option_of *o, struct json_object *to)
{
	const char *key = o->key ? o->key : o->name;
	char what[32];

	snprintf(what, sizeof(what), "--%s", o->name);
	switch (o->kind) {
	case OPTION_FLAG:
		put_bool(to, key, true);
		break;
	case OPTION_TEXT:
		put_string(to, key, optarg);
		break;
	case OPTION_WORD:
		put_string(to, key, one_of(what, optarg, o));
		break;
	case OPTION_WHOLE:
		put_u64(to, key, parse_number(what, optarg, o->min, o->max));
		break;
	case OPTION_BYTES:
		put_u64(to, key, parse_bytes(what, optarg, o->max));
		break;
	case OPTION_TIME:
		put_u64(to, key, parse_time_us(what, optarg, o->min, o->max));
		break;
	case OPTION_FRACTION:
		put_double(to, key, parse_fraction(what, optarg, o->min, o->max));
		break;
	case OPTION_OTHER:
		o->take(to, optarg);
	}
}

struct json_object *options_take(int argc, char **argv, const char *mode,
				 const struct option_of *table, const struct option_of *more,
				 struct json_object *request)
{
	const struct option common[] = { COMMON_OPTIONS_OF(program.place) };
	const struct option_of *const tables[] = { table, more }, *of[OPTIONS];
	struct json_object *own = json_object_new_object();
	struct option longs[OPTIONS + sizeof(common) / sizeof(*common)];
	unsigned int count = 0, at;
	char letters[16];
	int c;

	for (unsigned int i = 0; i < 2; i++)
		for (const struct option_of *o = tables[i]; o && o->name; o++) {
			c = o->letter ? o->letter : FIRST + (int)count;
			longs[count] = (struct option){ o->name, o->kind != OPTION_FLAG, NULL, c };
			of[count++] = o;
		}
	memcpy(&longs[count], common, sizeof(common));
	snprintf(letters, sizeof(letters), "%s%s", mode, COMMON_SHORT);
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		for (at = 0; at < count && longs[at].val != c; at++)
			;
		if (at == count)
			common_option(c, argv[0]);
		else
			option_take(of[at], of[at]->asked ? request : own);
	}
	return own;
}

bool flag_option(int argc, char **argv, const char *flag)
{
	const struct option_of table[] = { { flag, OPTION_FLAG }, { } };

	return get_bool(options_take(argc, argv, "", table, NULL, NULL), flag ? flag : "");
}

void options_end(int argc, char **argv)
{
	if (optind != argc)
		die(EXIT_USAGE, "%s: '%s' is no option", argv[0], argv[optind]);
}

bool given(struct json_object *o, const char *key)
{
	return json_object_object_get_ex(o, key, NULL);
}

uint64_t option_u64(struct json_object *o, const char *key, uint64_t otherwise)
{
	return given(o, key) ? get_u64(o, key) : otherwise;
}

const char *option_text(struct json_object *o, const char *key)
{
	return given(o, key) ? get_string(o, key) : NULL;
}
