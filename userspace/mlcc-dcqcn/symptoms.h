/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Signs that following has no effect, each told once until it is over: for a minute nothing was
 * heard of the job's progress; or the job was sending for a minute, and the port's reaction point
 * has handled no CNP.
 */
#ifndef MLCC_DCQCN_SYMPTOMS_H
#define MLCC_DCQCN_SYMPTOMS_H

#include <stdbool.h>
#include <stdint.h>

#define SYMPTOMS_EVERY_US	1000000
#define SYMPTOMS_AFTER_US	60000000

enum symptom {
	SYMPTOM_NONE,
	SYMPTOM_NO_PROGRESS,
	SYMPTOM_NO_CNP,
};

struct lasting {
	uint32_t us;			/* so long, so far, */
	bool told;			/* and whether that was told */
};

struct symptoms {
	uint64_t look_us;		/* when they were looked for, 0: not yet */
	struct lasting silent;		/* since something was heard of the job */
	struct lasting unmarked;	/* since a CNP was handled, as far as the job was sending */
	uint64_t cnps;
	bool sends;			/* it has since "look_us" */
};

/* Whether it is time to look for them. */
static inline bool symptoms_due(const struct symptoms *s, uint64_t now_us)
{
	return now_us >= s->look_us + SYMPTOMS_EVERY_US;
}

/* @cnps: what the port has handled, NULL: it does not say. */
enum symptom symptoms_look(struct symptoms *s, const uint64_t *cnps, uint64_t now_us);

#endif /* MLCC_DCQCN_SYMPTOMS_H */
