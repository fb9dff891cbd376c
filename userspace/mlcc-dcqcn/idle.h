/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* When a job that computes is next expected to send: until then there is little to look at. */
#ifndef MLCC_DCQCN_IDLE_H
#define MLCC_DCQCN_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#define IDLE_PERIODS	4	/* the least of so many is the job's */
#define IDLE_MAX_US	200000	/* who begins earlier than ever is seen after that */

struct idle {
	bool sends;
	uint64_t begun_us;			/* the last phase; 0: none yet */
	uint32_t period_us[IDLE_PERIODS];	/* from one phase's beginning to the next's; 0: none */
	unsigned int next;
};

/* At each look: whether the job sends. */
void idle_note(struct idle *r, bool sends, uint64_t now_us);
/* How long nothing is expected; 0: not known, or it may come at any time. */
uint32_t idle_us(const struct idle *r, uint64_t now_us);

#endif /* MLCC_DCQCN_IDLE_H */
