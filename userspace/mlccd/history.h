/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What mlccd has seen of a job's iterations.
 *
 * A carrier has the last one only, and is asked when somebody wants to know, and of a few jobs in turns
 * every cgroup-poll-ms: so of shorter iterations some are seen, each of them whole.
 */
#ifndef MLCCD_HISTORY_H
#define MLCCD_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/least.h"

#define HISTORY_LAST	20
#define HISTORY_BOUNDS	12

struct mlcc_job_info;

/* How many took up to each bound, and longer than the last one. */
struct spread {
	uint32_t count[HISTORY_BOUNDS + 1];
	uint64_t sum_us;
};

extern const uint32_t history_bounds[HISTORY_BOUNDS];	/* us */

struct history {
	struct spread iteration, communication;
	uint32_t last_us[HISTORY_LAST], seen;
	uint64_t phases;		/* at the last look, */
	bool sends;			/* when it had flows */
	uint64_t alone_since;		/* phases then; nobody else had flows from there on */
	bool alone;
	uint32_t alone_us;		/* a mean; 0: unknown */
	uint64_t alone_d_phase;		/* what it sent in a phase then */
	struct least least;
	uint64_t waited_us;		/* what phases took longer */
};

/* @senders: jobs of this host that have flows, and this one if it had them at the last look. */
void history_look(struct history *h, const struct mlcc_job_info *info, uint32_t *senders);

/* The mean of the last ones that were seen, at most HISTORY_LAST; 0: none was. */
uint32_t history_mean_us(const struct history *h);

/*
 * How long an iteration takes alone, and @from where that is known: "announced", or "measured"
 * while no other job of this host had connections and nothing was lost or marked.  0: unknown.
 */
uint32_t history_alone_us(const struct history *h, const struct mlcc_job_info *info,
			  uint32_t announced_us, const char **from);

#endif /* MLCCD_HISTORY_H */
