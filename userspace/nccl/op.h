/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pool of send ProxyOps: all that keeps a state.
 *
 *	FREE --start--> APPENDED --first byte--> BEGUN --stop--> FREE
 *	                    +--------------stop-------------------^
 *
 * Each place has a generation, which its handle names: a stop without start, a second stop or a
 * handle of long ago finds another one and changes nothing.  Nobody waits: where no place is free
 * after a few looks, the oldest operation around is taken to be over.
 */
#ifndef MLCC_NCCL_OP_H
#define MLCC_NCCL_OP_H

#include <stdbool.h>

#include "handle.h"

struct op_counters {
	uint64_t lost;			/* gave up their place, or found none */
	uint64_t odd;			/* what no rule of NCCL's allows */
};

/* @comm: its number, or COMM_NONE; @task: its parent, or 0.  Returns 0 if there is no place. */
handle_t op_start(uint32_t comm, handle_t task, uint64_t shape);

/* One transfer of @bytes; the first one begins it. */
void op_sent(handle_t h, uint64_t bytes);

/* All that it has sent so far. */
void op_sent_total(handle_t h, uint64_t bytes);

void op_stop(handle_t h);

/* Whether it was started, and not stopped since. */
bool op_is_open(handle_t h);

/* Stops all of a communicator; COMM_NONE: all of all. */
void op_stop_all(uint32_t comm);

struct op_counters op_counters(void);

#endif /* MLCC_NCCL_OP_H */
