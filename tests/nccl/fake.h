/* SPDX-License-Identifier: GPL-2.0 */
/* Plays mlccd: answers at a socket of its own, and reads the ring that it was given. */
#ifndef TEST_FAKE_H
#define TEST_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../include/mlcc/uapi/mlcc_ring.h"

#define FAKE_JOB	7

/* What it answers; NULL: what mlccd would. "": not at all. */
struct fake_answers {
	const char *job;
	const char *ring;
	bool wary;			/* takes no descriptors of whom it has not accepted: Linux 6.16 */
};

/* At a new path, which MLCC_SOCKET names from then on; @again: at the same one. */
void fake_start(const struct fake_answers *answers, bool again);

/* Connects to a listener at @path that accepts nobody; returns how many of @max fitted. */
int fake_full(const char *path, int *fds, int max);

/* As by SIGKILL: the connections end, the socket's file stays. */
void fake_kill(void);

/* How many rings were handed over; @wait: until there are so many. */
int fake_rings(int wait);

/* The newest request about a job, or for a ring. */
const char *fake_request(bool ring);

/* What the ring shows of a plan, in nanoseconds. */
void fake_plan(uint64_t period, uint64_t offset);

/* The next record of the ring, checked; false: there is none. */
bool fake_take(struct mlcc_ring_record *r);

/* Whether the eventfd was written to since the last time. */
bool fake_woken(void);

struct mlcc_ring *fake_ring(void);

#endif /* TEST_FAKE_H */
