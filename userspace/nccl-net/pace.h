/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a process may send: a carrier of include/mlcc/ that knows no packets, only messages that are
 * handed to a network plugin, and when they are done.
 *
 * NICs and DCQCN share a link fairly, as fair queueing does: a job sees no queue of others, but
 * its rate tells, and it defers as queue.h says: its messages are held so that they come at 1/32 of
 * the link.  So one of two jobs that begin together is done first, and their next phases are apart.
 *
 *	phase	phase.h, from the messages that are done and from the silences between them
 *	rate	bytes that are done while some connection has two messages or more under way, by the
 *		time in which that is so: what waits for the GPU says nothing of the network
 *
 * All connections of the process are one job.  Without a phase that is known nothing is held, and
 * messages of MLCC_PACE_SMALL bytes or less never are.
 */
#ifndef MLCC_NET_PACE_H
#define MLCC_NET_PACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../include/mlcc/phase.h"
#include "queue.h"

#define MLCC_PACE_SMALL	4096U

/* A job: the connections of a process.  Times are of one monotonic clock. */
struct pace_job {
	pthread_mutex_t lock;
	struct mlcc_job job;
	struct mlcc_queue queue;
	uint64_t next_ns;	/* when it may send again, as long as it defers */
	uint64_t under_way;	/* bytes */
	uint32_t least_us;	/* the shortest time that a message took */

	/* the clock that stands still while no connection has two messages under way */
	struct {
		uint32_t connections;	/* which have */
		uint64_t since_ns;
		uint64_t ns;
		uint64_t bytes;
	} backlog;
};

#define PACE_JOB_INIT	{ .lock = PTHREAD_MUTEX_INITIALIZER }

/* Of a connection; zeroes to begin with.  Its messages are sent and looked for by one thread. */
struct pace {
	uint32_t under_way;	/* messages */
	uint64_t bytes;		/* of them */
};

/* Whether the job may defer now, so that pace_holds() has to be asked.  Without the lock. */
static inline bool pace_may_hold(const struct pace_job *j, uint64_t bytes)
{
	return bytes > MLCC_PACE_SMALL && MLCC_READ(j->queue.defer_until);
}

/* Whether a message of @bytes has to wait; if not, it is taken to be sent. */
bool pace_holds(struct pace_job *j, uint64_t bytes, uint64_t now_ns);

/* A message of @bytes was sent; it is done, @took_ns after that. */
void pace_sent(struct pace_job *j, struct pace *c, uint64_t bytes, uint64_t now_ns);
void pace_done(struct pace_job *j, struct pace *c, uint64_t bytes, uint64_t took_ns,
	       uint64_t now_ns);

/* The connection is closed, with what it has under way. */
void pace_closed(struct pace_job *j, struct pace *c, uint64_t now_ns);

#endif /* MLCC_NET_PACE_H */
