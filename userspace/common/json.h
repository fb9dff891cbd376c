/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Members of JSON objects: of those that are made, and of those that others have made. */
#ifndef MLCC_JSON_H
#define MLCC_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* A variable that is put at the end of its block. */
#define AUTO_PUT	__attribute__((__cleanup__(auto_put)))

static inline void auto_put(struct json_object **o)
{
	json_object_put(*o);
}

/* For each member of a list, as @item; of what is no list there are none. */
#define json_each(item, list)							\
	for (size_t item##_i = 0; ((item) = json_member((list), item##_i)); item##_i++)

void put_string(struct json_object *o, const char *key, const char *value);
void put_u64(struct json_object *o, const char *key, uint64_t value);
void put_double(struct json_object *o, const char *key, double value);
void put_bool(struct json_object *o, const char *key, bool value);
/* Q16 as a decimal fraction of few digits */
void put_q16(struct json_object *o, const char *key, uint32_t value);

/* NULL: it is no list, or has not so many. */
struct json_object *json_member(struct json_object *list, size_t i);
/* What is not there is "", 0 or false. */
const char *get_string(struct json_object *o, const char *key);
uint64_t get_u64(struct json_object *o, const char *key);
double get_double(struct json_object *o, const char *key);
bool get_bool(struct json_object *o, const char *key);

/* False: it is not there, or no whole number up to @max. */
bool read_u64(struct json_object *o, const char *key, uint64_t max, uint64_t *value);
bool read_u32(struct json_object *o, const char *key, uint32_t *value);

#endif /* MLCC_JSON_H */
