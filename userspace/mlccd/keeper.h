/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The process that has rights: what it is asked, and by whom, is in keep.h. */
#ifndef MLCCD_KEEPER_H
#define MLCCD_KEEPER_H

#include "keep.h"
#include "kept.h"

/*
 * Checks a question of @size bytes and does what it asks.  @fd gets a descriptor that goes with the
 * answer, and that the caller closes, or -1.
 */
void keeper_answer(struct kept *k, const struct keep_ask *a, size_t size, struct keep_told *t,
		   int *fd);

/* Answers what comes on @fd until nothing more does. */
void keeper_serve(struct kept *k, int fd);

/* The two ends of what a keeper and its child have. */
struct keeper_pair {
	int ask[2], signals[2];		/* [0]: the keeper's */
};

/* Where it fails the process is to end. */
int keeper_pair(struct keeper_pair *p);
/* One that comes before it is listened to is not lost. */
void keeper_block_signals(void);

/* As the parent of @child: serves it, and passes signals on, until it ends.  Returns its status. */
int keeper_run(struct kept *k, struct keeper_pair *p, pid_t child);

#endif /* MLCCD_KEEPER_H */
