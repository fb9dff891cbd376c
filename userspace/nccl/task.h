/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collectives and point-to-point operations.  NCCL reports them as enqueued and may use their
 * handles later than their stop, so they keep nothing: the handle itself is the signature.
 */
#ifndef MLCC_NCCL_TASK_H
#define MLCC_NCCL_TASK_H

#include <stdint.h>

#include "comm.h"
#include "handle.h"

struct descr;

/* @type: EV_COLL or EV_P2P */
handle_t task_handle(int version, const struct comm *c, uint64_t type, const struct descr *d);

/* Tells operations apart that send other things: over communicator, function, count, datatype. */
static inline uint64_t task_signature(handle_t h)
{
	uint64_t x = (h + 1) * 0x9e3779b97f4a7c15;

	return x ^ x >> 29;
}

#endif /* MLCC_NCCL_TASK_H */
