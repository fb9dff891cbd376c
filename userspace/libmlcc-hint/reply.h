/* SPDX-License-Identifier: BSD-2-Clause */
/* Just enough of JSON to read mlccd's replies, whatever they hold. */
#ifndef MLCC_HINT_REPLY_H
#define MLCC_HINT_REPLY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the first member "ok", at any depth, is true. */
bool reply_ok(const char *text);

/* The first member "id" that is a number from 1 to 65535; 0: there is none. */
uint32_t reply_id(const char *text);

/* The member "error", cut off at @size - 1 characters; escapes are left as they are. */
void reply_why(const char *text, char *out, unsigned int size);

#endif /* MLCC_HINT_REPLY_H */
