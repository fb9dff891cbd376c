// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <string.h>

#include "abi.h"
#include "task.h"

#define TEXT_MAX	32

/* What the versions have in common. */
struct task {
	uint64_t comm;
	const char *func, *datatype;
	size_t count;
	int peer;			/* of a point-to-point operation; 0 else */
};

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

static void read_v3(struct task *t, bool coll, const struct descr *d)
{
	if (coll)
		*t = (struct task){
			.comm = d->v3_coll.comm_hash, .func = d->v3_coll.func,
			.datatype = d->v3_coll.datatype, .count = d->v3_coll.count,
		};
	else
		*t = (struct task){
			.comm = d->v3_p2p.comm_hash, .func = d->v3_p2p.func,
			.datatype = d->v3_p2p.datatype, .count = d->v3_p2p.count,
			.peer = d->v3_p2p.peer,
		};
}

static void read_v4(struct task *t, const struct comm *c, bool coll, const struct descr *d)
{
	if (coll)
		*t = (struct task){
			.comm = c->id, .func = d->coll.func, .datatype = d->coll.datatype,
			.count = d->coll.count,
		};
	else
		*t = (struct task){
			.comm = c->id, .func = d->p2p.func, .datatype = d->p2p.datatype,
			.count = d->p2p.count, .peer = d->p2p.peer,
		};
}

handle_t task_handle(int version, const struct comm *c, uint64_t type, const struct descr *d)
{
	bool coll = type == EV_COLL;
	uint64_t h = coll;
	struct task t;

	if (version == 3)
		read_v3(&t, coll, d);
	else
		read_v4(&t, c, coll, d);
	h = mix(mix(mix(h, t.comm), t.count), t.peer);
	h = mix(mix_text(mix_text(h, t.func), t.datatype), 0);
	return handle_retag(h, TAG_TASK);
}
