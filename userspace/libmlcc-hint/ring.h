/* SPDX-License-Identifier: BSD-2-Clause */
/* The producer's side of include/mlcc/uapi/mlcc_ring.h; one thread at a time. */
#ifndef MLCC_HINT_RING_H
#define MLCC_HINT_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "../../include/mlcc/uapi/mlcc_ring.h"

#define RING_SLOTS	256U

struct ring {
	struct mlcc_ring *map;
	int fds[2];			/* the memfd, the eventfd */
	uint64_t head;			/* what is in the map may have been written by mlccd, too */
};

/* 0, or a negative error number. */
int ring_make(struct ring *r);
void ring_free(struct ring *r);

/*
 * An mlccd seals the memfd that it takes, so the next one wants another: with the same in it, at the
 * same address, as other threads may write to it.
 */
int ring_renew(struct ring *r);

/*
 * A record, and a write to the eventfd, which never waits.  @type: enum mlcc_ring_type; @bytes: to
 * 2^48 - 1; @now_ns: CLOCK_MONOTONIC.  False: the ring is full; counted.
 */
bool ring_put(struct ring *r, uint16_t type, uint32_t job, uint64_t bytes, uint64_t now_ns);

#endif /* MLCC_HINT_RING_H */
