/* SPDX-License-Identifier: GPL-2.0 */
/* Text of the module parameters into numbers.  Functions say what is wrong and return -EINVAL. */
#ifndef MLCC_PARSE_H
#define MLCC_PARSE_H

#include <linux/types.h>

/* @what names the value in messages. */
int mlcc_parse_q16(const char *what, const char *s, u32 min, u32 max, u32 *to);
int mlcc_parse_u64(const char *what, const char *s, u64 min, u64 max, u64 *to);
int mlcc_parse_name(const char *what, const char *s, const char *const *names, u32 count, u32 *to);

/* Splits "key=value" in place; returns the value. */
char *mlcc_parse_pair(const char *what, char *s);

/* Next word of *@s, which moves on; NULL at the end. */
char *mlcc_parse_word(char **s);

#endif /* MLCC_PARSE_H */
