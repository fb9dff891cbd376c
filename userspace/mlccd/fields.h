/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Members of a JSON object, taken strictly: of the right type, in range, none unknown. */
#ifndef MLCCD_FIELDS_H
#define MLCCD_FIELDS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "../common/err.h"
#include "../libmlcc/libmlcc.h"

/* One object, and nothing behind it; NULL with the reason in @e.  Free with json_object_put(). */
struct json_object *fields_parse(const char *text, size_t len, struct err *e);

/* All members are among @known, words with a blank before and behind each. */
int fields_known(struct json_object *o, const char *known, struct err *e);

bool field_given(struct json_object *o, const char *key);

/* What is not given leaves @to as it is. */
int field_string(struct json_object *o, const char *key, char *to, size_t size, struct err *e);
int field_name(struct json_object *o, const char *key, char *to, size_t size, struct err *e);
int field_number(struct json_object *o, const char *key, uint64_t min, uint64_t max, uint64_t *to,
		 struct err *e);
int field_u32(struct json_object *o, const char *key, uint32_t min, uint32_t max, uint32_t *to,
	      struct err *e);
int field_bool(struct json_object *o, const char *key, bool *to, struct err *e);
/* A decimal fraction from 0 to @max as Q16. */
int field_q16(struct json_object *o, const char *key, uint32_t max, uint32_t *to, struct err *e);
/* The field "job", which has to be there: a name, or an id in decimal. */
int field_job(struct json_object *o, char name[MLCC_NAME_LEN], struct err *e);

#endif /* MLCCD_FIELDS_H */
