/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Members of JSON objects that are being made. */
#ifndef MLCC_PUT_H
#define MLCC_PUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

void put_string(struct json_object *o, const char *key, const char *value);
void put_u64(struct json_object *o, const char *key, uint64_t value);
void put_bool(struct json_object *o, const char *key, bool value);

#endif /* MLCC_PUT_H */
