// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "rdma.h"

bool rdma_is_name(const char *s)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-";

	return !s[strspn(s, allowed)];
}

struct rdma_use *rdma_add(struct rdma *r)
{
	if (r->uses == r->use_room) {
		size_t room = r->use_room ? 2 * r->use_room : 16;
		struct rdma_use *more = NULL;

		if (room <= RDMA_USES_MAX)
			more = realloc(r->use, room * sizeof(*more));
		if (!more)
			return NULL;
		r->use = more;
		r->use_room = room;
	}
	r->use[r->uses] = (struct rdma_use){ .job = 0 };
	return &r->use[r->uses++];
}

void rdma_read(struct rdma *r, bool all_ports)
{
	r->uses = 0;
	r->ports = 0;
	rdma_read_qps(r);
	rdma_read_follows(r);
	rdma_read_ports(r, all_ports);
}

void rdma_free(struct rdma *r)
{
	free(r->use);
	free(r->port);
	*r = (struct rdma){ .use = NULL };
}
