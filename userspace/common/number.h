/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers as people write them on a command line, the same in every program.
 *
 * Each returns 0, or a negative error number with the line that says what is wanted.
 */
#ifndef MLCC_NUMBER_H
#define MLCC_NUMBER_H

#include <stdint.h>

#include "err.h"

/* Only digits, or 0x and hexadecimal ones. */
int number_whole(const char *what, const char *s, uint64_t min, uint64_t max, uint64_t *v,
		 struct err *e);
int number_fraction(const char *what, const char *s, double min, double max, double *v,
		    struct err *e);
/* 1000000, 250M, 250MB, 1.5G: powers of 1000; 64Mi, 64MiB: of 1024.  A small b would be bits. */
int number_bytes(const char *what, const char *s, uint64_t max, uint64_t *v, struct err *e);
/* 340000000, 340M, 7B, 7b */
int number_count(const char *what, const char *s, uint64_t max, uint64_t *v, struct err *e);
/* 800us, 250ms, 1.5s, 5m, 2h, in microseconds; without a unit it could be any of them */
int number_time_us(const char *what, const char *s, uint64_t min, uint64_t max, uint64_t *v,
		   struct err *e);

#endif /* MLCC_NUMBER_H */
