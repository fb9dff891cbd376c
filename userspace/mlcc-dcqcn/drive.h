/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From a gain to what a knob is set to.
 *
 * DCQCN's additive increase is R_T += R_AI, once a period T (SIGCOMM'15, section 5).  The rule
 * scales it by the gain g (include/mlcc/rule.h).  Where the hardware adds the same to all flows,
 * g can be had in two ways:
 *
 *	R_AI' = g R_AI		so much more in a step
 *	T' = T / g		so many more steps
 *
 * Solving DCQCN's fluid model for two flows, twice the R_AI moves the ratio of their shares to
 * 1.16 or 1.18, half the T to 1.45 to 1.50 (Documentation/rdma.md).
 *
 * Values are integers, and a write is a command to the firmware.  So a value is written only if
 * the gain is away from the one written before by the hysteresis, or it is an end of the range, and
 * no more often than the budget allows.
 */
#ifndef MLCC_DRIVE_H
#define MLCC_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../include/mlcc/rule.h"

#define DRIVE_LEVELS_FEW	8	/* below that many, the gain is a coarse one */

struct drive {
	uint32_t base;		/* the knob's value at gain 1 */
	bool divide;		/* T, not R_AI */
	uint32_t cap;		/* Q16, the largest gain that is used */
	uint32_t min, max;	/* the knob's range */
	uint32_t hysteresis;	/* Q16, of the gain */
};

/* Writes a second, and as many as a tenth of a second's in a row. */
struct budget {
	uint32_t rate;
	uint64_t level;		/* millionths of a write */
	uint64_t at_us;
};

/* What the knob should have at a gain (Q16). */
uint32_t drive_value(const struct drive *d, uint32_t gain);
/*
 * Whether to write what @gain leads to where the knob has @is, of a gain of @written.
 * @ends: the values at the ends of the range.
 */
bool drive_moves(const struct drive *d, uint32_t is, uint32_t written, uint32_t gain,
		 const uint32_t ends[2]);
/* The values that the profile can lead to, base included. */
void drive_range(const struct drive *d, const struct mlcc_profile *pr, uint32_t *low,
		 uint32_t *high);

void budget_init(struct budget *b, uint32_t rate, uint64_t now_us);
bool budget_take(struct budget *b, uint64_t now_us);

#endif /* MLCC_DRIVE_H */
