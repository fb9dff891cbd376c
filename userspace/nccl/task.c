// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <string.h>

#include "abi.h"
#include "task.h"

#define TEXT_MAX	32

/* What the versions have in common. */
struct task {
	uint64_t comm;
	const char *func, *datatype, *algo, *proto;
	size_t count;
	int peer;			/* of a point-to-point operation; 0 else */
	unsigned int channels;		/* 0: not known */
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

static bool is(const char *s, const char *wanted)
{
	return s && !strncmp(s, wanted, TEXT_MAX);
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

static void read_v4(struct task *t, int version, const struct comm *c, bool coll,
		    const struct descr *d)
{
	if (coll)
		*t = (struct task){
			.comm = c->id, .func = d->coll.func, .datatype = d->coll.datatype,
			.algo = d->coll.algo, .proto = d->coll.proto, .count = d->coll.count,
			.channels = d->coll.channels,
		};
	else
		*t = (struct task){
			.comm = c->id, .func = d->p2p.func, .datatype = d->p2p.datatype,
			.count = d->p2p.count, .peer = d->p2p.peer,
			.channels = version > 4 ? d->p2p.channels : 0,
		};
}

static unsigned int element_size(const char *datatype)
{
	static const struct {
		const char *name;
		unsigned int size;
	} sizes[] = {
		{ "ncclFloat32", 4 }, { "ncclBfloat16", 2 }, { "ncclFloat16", 2 },
		{ "ncclInt8", 1 }, { "ncclUint8", 1 }, { "ncclFloat64", 8 }, { "ncclInt32", 4 },
		{ "ncclUint32", 4 }, { "ncclInt64", 8 }, { "ncclUint64", 8 },
		{ "ncclFloat8e4m3", 1 }, { "ncclFloat8e5m2", 1 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (is(datatype, sizes[i].name))
			return sizes[i].size;
	return 0;
}

/* What a rank hands on to the next one of a ring, in units of count; 0: another algorithm. */
static double ring_share(const struct task *t, int ranks)
{
	if (!is(t->algo, "RING"))
		return 0;
	if (is(t->func, "AllReduce"))
		return 2.0 * (ranks - 1) / ranks;
	if (is(t->func, "AllGather") || is(t->func, "ReduceScatter"))
		return ranks - 1;
	return 0;
}

static double protocol_share(const char *proto)
{
	return is(proto, "SIMPLE") ? 1 : is(proto, "LL") ? 2 :
	       is(proto, "LL128") ? 16.0 / 15 : 0;
}

/* Of one send ProxyOp: each channel has one, where the ring leaves the node. */
static float op_bytes(const struct task *t, bool coll, int ranks)
{
	double bytes = (double)t->count * element_size(t->datatype);

	if (!t->channels || ranks < 1)
		return 0;
	if (coll)
		bytes *= ring_share(t, ranks) * protocol_share(t->proto);
	else if (!is(t->func, "Send"))
		bytes = 0;
	return bytes < 1ULL << 48 ? (float)(bytes / t->channels) : 0;
}

handle_t task_handle(int version, const struct comm *c, uint64_t type, const struct descr *d)
{
	bool coll = type == EV_COLL;
	uint64_t h = coll;
	struct task t;
	uint32_t bits;
	float bytes;

	if (version == 3)
		read_v3(&t, coll, d);
	else
		read_v4(&t, version, c, coll, d);
	bytes = op_bytes(&t, coll, c->ranks);
	memcpy(&bits, &bytes, sizeof(bits));
	h = mix(mix(mix(h, t.comm), t.count), t.peer);
	h = mix(mix_text(mix_text(h, t.func), t.datatype), 0);
	return (handle_t)bits << 32 | (h >> 32 & ~15U) | TAG_TASK;
}

uint64_t task_op_bytes(handle_t h)
{
	uint32_t bits = h >> 32;
	float bytes;

	memcpy(&bytes, &bits, sizeof(bytes));
	return bytes > 0 && bytes < (float)(1ULL << 48) ? (uint64_t)bytes : 0;
}
