// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"

#define DEPTH	4

struct json_object *fields_parse(const char *text, size_t len, struct err *e)
{
	struct json_tokener *t = json_tokener_new_ex(DEPTH);
	struct json_object *o;
	enum json_tokener_error why;
	size_t used;

	if (!t) {
		fail(e, -ENOMEM, "no memory");
		return NULL;
	}
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	o = json_tokener_parse_ex(t, text, len);
	why = json_tokener_get_error(t);
	used = json_tokener_get_parse_end(t);
	json_tokener_free(t);
	if (why != json_tokener_success)
		fail(e, -EBADMSG, "not JSON: %s", why == json_tokener_continue ?
		     "it ends too early" : json_tokener_error_desc(why));
	else if (!json_object_is_type(o, json_type_object))
		fail(e, -EBADMSG, "one JSON object is wanted");
	else if (used != len)
		fail(e, -EBADMSG, "there is something behind the JSON object");
	else
		return o;
	json_object_put(o);
	return NULL;
}

/* A key as peers gave it, for an error that quotes it: json-c escapes what is not printable. */
int fields_known(struct json_object *o, const char *known, struct err *e)
{
	char word[40];

	json_object_object_foreach(o, key, value) {
		(void)value;
		snprintf(word, sizeof(word), " %.36s ", key);
		if (!*key || strchr(key, ' ') || strlen(key) > 36 || !strstr(known, word))
			return fail(e, -EINVAL, "no field '%.36s' here; there are%s", key, known);
	}
	return 0;
}

bool field_given(struct json_object *o, const char *key)
{
	return json_object_object_get_ex(o, key, NULL);
}

int field_string(struct json_object *o, const char *key, char *to, size_t size, struct err *e)
{
	struct json_object *v;
	size_t len;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_string))
		return fail(e, -EINVAL, "%s: a string is wanted", key);
	len = json_object_get_string_len(v);
	if (strlen(json_object_get_string(v)) != len)
		return fail(e, -EINVAL, "%s: a zero byte", key);
	if (len >= size)
		return fail(e, -ENAMETOOLONG, "%s: at most %zu bytes", key, size - 1);
	memcpy(to, json_object_get_string(v), len + 1);
	return 0;
}

int field_name(struct json_object *o, const char *key, char *to, size_t size, struct err *e)
{
	int err = field_string(o, key, to, size, e);

	if (err)
		return err;
	if (to[strspn(to, MLCC_NAME_CHARS)])
		return fail(e, -EINVAL, "%s: letters, digits and any of ._:/@+- are allowed", key);
	return 0;
}

int field_number(struct json_object *o, const char *key, uint64_t min, uint64_t max, uint64_t *to,
		 struct err *e)
{
	struct json_object *v;
	uint64_t n;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	/* what is out of 64 bits comes as the largest or smallest there is: out of range, too */
	n = json_object_get_uint64(v);
	if (!json_object_is_type(v, json_type_int) || n < min || n > max ||
	    (json_object_get_int64(v) < 0))
		return fail(e, -ERANGE, "%s: a whole number from %llu to %llu is wanted", key,
			    (unsigned long long)min, (unsigned long long)max);
	*to = n;
	return 0;
}

int field_u32(struct json_object *o, const char *key, uint32_t min, uint32_t max, uint32_t *to,
	      struct err *e)
{
	uint64_t v = *to;
	int err = field_number(o, key, min, max, &v, e);

	if (!err)
		*to = v;
	return err;
}

int field_bool(struct json_object *o, const char *key, bool *to, struct err *e)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_boolean))
		return fail(e, -EINVAL, "%s: true or false is wanted", key);
	*to = json_object_get_boolean(v);
	return 0;
}

int field_q16(struct json_object *o, const char *key, uint32_t max, uint32_t *to, struct err *e)
{
	struct json_object *v;
	double d;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	d = json_object_get_double(v) * 65536;
	if ((!json_object_is_type(v, json_type_double) && !json_object_is_type(v, json_type_int)) ||
	    !(d >= 0 && d <= max))
		return fail(e, -ERANGE, "%s: a number from 0 to %g is wanted", key, max / 65536.0);
	*to = d + 0.5;
	return 0;
}

int field_job(struct json_object *o, char name[MLCC_NAME_LEN], struct err *e)
{
	struct json_object *v;
	uint32_t id = 0;
	int err;

	*name = '\0';
	if (!json_object_object_get_ex(o, "job", &v))
		return fail(e, -EINVAL, "job: its id or its name is wanted");
	if (json_object_is_type(v, json_type_string))
		return field_name(o, "job", name, MLCC_NAME_LEN, e);
	err = field_u32(o, "job", 1, UINT16_MAX, &id, e);
	snprintf(name, MLCC_NAME_LEN, "%u", id);
	return err;
}
