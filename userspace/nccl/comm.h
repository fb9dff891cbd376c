/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NCCL's communicators; a context that NCCL hands back is the address of one.  They are never
 * freed, so that a late callback finds one that is closed.
 */
#ifndef MLCC_NCCL_COMM_H
#define MLCC_NCCL_COMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define COMMS		4096U
#define COMM_NONE	COMMS		/* another process's, or one too many */

struct comm {
	atomic_bool open;
	bool counted;			/* reaches other nodes */
	bool chained;
	int version;
	uint64_t id;
	int nodes, ranks;		/* 0: not told (v3) */
	void *chain_ctx;
};

extern struct comm comms[COMMS];

/* The number of an open communicator, or COMM_NONE for anything else. */
static inline uint32_t comm_index(const void *ctx)
{
	uintptr_t at = (uintptr_t)ctx - (uintptr_t)comms;

	if (at >= sizeof(comms) || at % sizeof(*comms))
		return COMM_NONE;
	at /= sizeof(*comms);
	return atomic_load_explicit(&comms[at].open, memory_order_acquire) ? at : COMM_NONE;
}

/* One that is not open yet; NULL: there are too many. */
struct comm *comm_new(int version, uint64_t id, int nodes, int ranks);

#endif /* MLCC_NCCL_COMM_H */
