// SPDX-License-Identifier: BSD-2-Clause
#include <stddef.h>

#include "comm.h"

struct comm comms[COMMS];

/* In turn, so that a late callback of a closed one does not meet the next. */
struct comm *comm_new(int version, uint64_t id, int nodes, int ranks)
{
	static unsigned int last;

	for (unsigned int i = 0; i < COMMS; i++) {
		struct comm *c = &comms[last = (last + 1) % COMMS];

		if (atomic_load_explicit(&c->open, memory_order_acquire))
			continue;
		c->version = version;
		c->id = id;
		c->nodes = nodes;
		c->ranks = ranks;
		c->counted = version == 3 || nodes > 1;
		c->chained = false;
		c->chain_ctx = NULL;
		return c;
	}
	return NULL;
}
