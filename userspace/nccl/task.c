// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <string.h>

#include "abi.h"
#include "task.h"

#define TEXT_MAX	32

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 32;
}

static uint64_t mix_text(uint64_t h, const char *s)
{
	for (int i = 0; s && s[i] && i < TEXT_MAX; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3;
	return h;
}

/* @peer: of a point-to-point operation; 0 else */
static uint64_t sign(bool coll, uint64_t comm, const char *func, const char *datatype, size_t count,
		     int peer)
{
	uint64_t h = mix(mix(mix(coll, comm), count), peer);

	return mix(mix_text(mix_text(h, func), datatype), 0);
}

handle_t task_handle(int version, const struct comm *c, uint64_t type, const struct descr *d)
{
	const struct descr_coll *coll = version == 3 ? &d->v3.coll : &d->coll;
	const struct descr_p2p *p2p = version == 3 ? &d->v3.p2p : &d->p2p;
	uint64_t comm = version == 3 ? d->v3.comm_hash : c->id;

	return handle_retag(type == EV_COLL ?
			    sign(true, comm, coll->func, coll->datatype, coll->count, 0) :
			    sign(false, comm, p2p->func, p2p->datatype, p2p->count, p2p->peer),
			    TAG_TASK);
}
