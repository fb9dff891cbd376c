// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdio.h>

#include "json.h"

void put_string(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, json_object_new_string(value));
}

void put_u64(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

void put_double(struct json_object *o, const char *key, double value)
{
	json_object_object_add(o, key, json_object_new_double(value));
}

void put_bool(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

void put_q16(struct json_object *o, const char *key, uint32_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value / 65536.0);
	json_object_object_add(o, key, json_object_new_double_s(value / 65536.0, text));
}

struct json_object *json_member(struct json_object *list, size_t i)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_get_idx(list, i) : NULL;
}

const char *get_string(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : "";
}

uint64_t get_u64(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_uint64(v) : 0;
}

double get_double(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_double(v) : 0;
}

bool get_bool(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_get_boolean(v);
}

bool read_u64(struct json_object *o, const char *key, uint64_t max, uint64_t *value)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_int) ||
	    json_object_get_int64(v) < 0 || json_object_get_uint64(v) > max)
		return false;
	*value = json_object_get_uint64(v);
	return true;
}

bool read_u32(struct json_object *o, const char *key, uint32_t *value)
{
	uint64_t v;

	if (!read_u64(o, key, UINT32_MAX, &v))
		return false;
	*value = v;
	return true;
}
