/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The phases that were, and which of them comes next.
 *
 * A phase is told by what was sent in it: how many operations, and the sum of their signatures
 * (a sum, as threads finish in any order).  An iteration is what repeats: the smallest lag at which
 * the last phases equal those before them.  Runs of equal phases, such as a model's layers, so do not
 * hide where the run ends, once it has been seen twice.
 */
#ifndef MLCC_NCCL_HISTORY_H
#define MLCC_NCCL_HISTORY_H

#include <stdint.h>

#define HISTORY_PHASES	256U		/* a power of two */
#define HISTORY_LAG_MAX	(HISTORY_PHASES / 2)

struct past_phase {
	uint64_t first;			/* signature of the operation that began it */
	uint64_t sum;			/* of all operations */
	uint64_t ops;
	uint64_t bytes;			/* measured */
	uint64_t start_ns;
};

struct history {
	struct past_phase phases[HISTORY_PHASES];
	uint64_t count;			/* ever */
	uint32_t lag;			/* phases in an iteration; 0: not known */
};

void history_add(struct history *h, const struct past_phase *p);

/*
 * The phase of the previous iteration that one beginning with @first repeats; where no iteration
 * is known, the last phase that began so; NULL: none did.
 */
const struct past_phase *history_find(const struct history *h, uint64_t first);

/* Nanoseconds that an iteration takes which has come round at @now; 0: not known. */
uint64_t history_period(const struct history *h, uint64_t now);

#endif /* MLCC_NCCL_HISTORY_H */
