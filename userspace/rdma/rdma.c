// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "../libmlcc/libmlcc.h"
#include "rdma.h"

bool rdma_is_name(const char *s)
{
	return !s[strspn(s, MLCC_NAME_CHARS)];
}

struct rdma_use *rdma_add(struct rdma *r)
{
	struct rdma_use *more = r->uses == RDMA_USES_MAX ? NULL :
				reallocarray(r->use, r->uses + 1, sizeof(*more));

	if (!more)
		return NULL;
	r->use = more;
	more[r->uses] = (struct rdma_use){ .job = 0 };
	return &more[r->uses++];
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
