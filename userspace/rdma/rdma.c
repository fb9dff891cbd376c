// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "../libmlcc/libmlcc.h"
#include "rdma.h"

#define ROOM_FIRST	8

bool rdma_is_name(const char *s)
{
	return !s[strspn(s, MLCC_NAME_CHARS)];
}

void *rdma_room(void *array, size_t used, size_t *room, size_t size, size_t most)
{
	size_t wanted = *room ? 2 * *room : ROOM_FIRST;
	void *more;

	if (used < *room)
		return array;
	more = wanted <= most ? realloc(array, wanted * size) : NULL;
	if (more)
		*room = wanted;
	return more;
}

struct rdma_use *rdma_add(struct rdma *r)
{
	struct rdma_use *more = rdma_room(r->use, r->uses, &r->use_room, sizeof(*more),
					  RDMA_USES_MAX);

	if (!more)
		return NULL;
	r->use = more;
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
