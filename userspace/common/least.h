/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What phases take beyond the shortest of as many bytes: what they have waited for others.  The
 * tracker (include/mlcc/phase.h) forgets its shortest one, best_us, where all are longer.
 */
#ifndef MLCC_LEAST_H
#define MLCC_LEAST_H

#include <stdint.h>

/* Of the bytes: phases that differ by more are of two kinds, as for the tracker. */
#define LEAST_PART	4

struct least {
	uint64_t us, bytes;
};

/* A phase of @bytes took @us. */
static inline uint64_t least_beyond(struct least *l, uint64_t bytes, uint64_t us, uint64_t best_us)
{
	uint64_t differ = bytes > l->bytes ? bytes - l->bytes : l->bytes - bytes;

	if (!best_us)
		return 0;
	if (best_us < l->us || differ > l->bytes / LEAST_PART)
		*l = (struct least){ best_us, bytes };
	return us > l->us ? us - l->us : 0;
}

#endif /* MLCC_LEAST_H */
