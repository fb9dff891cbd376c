// SPDX-License-Identifier: BSD-2-Clause
#include <stddef.h>

#include "comm.h"

struct comm comms[COMMS];

static bool is_open(const struct comm *c)
{
	return atomic_load_explicit(&c->open, memory_order_acquire);
}

/* In turn, so that a late callback of a closed one does not meet the next. */
struct comm *comm_new(int version, uint64_t id, int nodes, int ranks)
{
	static unsigned int last;

	for (unsigned int i = 0; i < COMMS; i++) {
		struct comm *c = &comms[last = (last + 1) % COMMS];

		if (is_open(c))
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

unsigned int comm_count(void)
{
	unsigned int n = 0;

	for (struct comm *c = comms; c < comms + COMMS; c++)
		n += is_open(c);
	return n;
}
