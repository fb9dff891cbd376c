/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * When jobs send, so that Prometheus can tell which jobs of different hosts have sent at once.
 *
 * Phases are shorter than the time between scrapes, and of any period. So all hosts look at the
 * same OVERLAP_SAMPLES instants of each 15 s of the clock, and count in which of OVERLAP_SLOTS
 * slots a job was sending. Which slot an instant is of is drawn anew for each 15 s:
 *
 *	instants	|  .  | .   |   . |.    |  .  | ...	one in each 0.1 s
 *	slot		  17    3      29  17      8
 *
 * Let u and v be the parts of a slot's M instants at which two jobs sent. The part of all N
 * instants at which both did is on average
 *
 *	mean(u) mean(v) + cov(u, v) M / (1 - (M - 1) / (N - 1))
 *
 * with an error of at most 0.06 (standard deviation) for one window, and less the more there are.
 * Documentation/mlccd-rules.yml computes that. An instant takes 4 ms, by which a phase seems
 * longer, and clocks differ: shorter overlaps are not told from none.
 */
#ifndef MLCCD_OVERLAP_H
#define MLCCD_OVERLAP_H

#include <systemd/sd-event.h>

#include "jobs.h"

struct overlap {
	struct jobs *jobs;
	sd_event_source *due;		/* off without a link */
	uint64_t window;		/* since 1970 */
	unsigned int next;		/* instant of it */
	bool again;			/* half of it is over: has who sends sent more? */
	uint32_t at_us[OVERLAP_SAMPLES];
	uint8_t slot[OVERLAP_SAMPLES];
};

/* < 0: there can be no timer. */
int overlap_start(struct overlap *o, sd_event *events);
/* The configuration is another one. */
int overlap_configured(struct overlap *o);

/* When the last whole window ended, in which @s is known; 0: it is not. */
uint64_t overlap_told_s(const struct overlap *o, const struct job_sends *s);

#endif /* MLCCD_OVERLAP_H */
