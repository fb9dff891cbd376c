// SPDX-License-Identifier: BSD-2-Clause
/*
 * libnccl-net-mlcc: goes before NCCL's network plugin, and holds sends back as pace.h says.
 *
 * Every call is passed on.  A connection that sends, and each of its sends, gets a place of ours
 * instead of the plugin's pointer, so that what is done can be told from what is received; a
 * pointer into the table of places is ours, any other the plugin's.  A send that is held returns no
 * request, as one that the network has no room for: NCCL tries it again.  One of a group that is to
 * have one request in the end (since v11) is not held, as NCCL would not.  Nor is anything of class
 * latency: it has no phases that could be apart from others'.
 *
 * NCCL calls a connection from one thread at a time.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../libmlcc-hint/clock.h"
#include "chain.h"
#include "pace.h"
#include "shim.h"

#define CONNECTIONS	8192U
#define REQUESTS	32U			/* of a connection at a time, by the interface */
#define GROUP		((void *)2)		/* instead of a request: more will follow */

#define EXPORTED	(NET_LAST - NET_FIRST + 1)

struct conn;

struct send {
	struct conn *conn;
	void *theirs;		/* NULL: a free place */
	uint64_t bytes;
	uint64_t at_ns;
};

struct conn {
	atomic_bool taken;
	void *theirs;
	uint64_t grouped;	/* bytes of a group that has no request yet */
	struct pace pace;
	struct send sends[REQUESTS];
};

static struct conn conns[CONNECTIONS];
static struct pace_job job = PACE_JOB_INIT;
static const struct net *net;		/* the chained plugin, as NCCL has begun to use it */
static struct net tables[EXPORTED];
static bool off;

static bool is_place(const void *p)
{
	return (const char *)p >= (const char *)conns &&
	       (const char *)p < (const char *)(conns + CONNECTIONS);
}

static void *their_comm(void *comm)
{
	return is_place(comm) ? ((struct conn *)comm)->theirs : comm;
}

/* The plugin's connection with a place of ours; without one it is not held. */
static void *conn_new(void *theirs)
{
	static atomic_uint next;
	unsigned int from = atomic_fetch_add(&next, 1);

	for (unsigned int i = from; i != from + CONNECTIONS; i++) {
		struct conn *c = &conns[i % CONNECTIONS];

		if (atomic_exchange(&c->taken, true))
			continue;
		c->theirs = theirs;
		c->grouped = 0;
		memset(c->sends, 0, sizeof(c->sends));
		return c;
	}
	return theirs;
}

static int shim_connected(int err, void **comm, void **offload)
{
	/* what a device sends by itself is not seen here */
	if (!err && *comm && !off && !(offload && *offload))
		*comm = conn_new(*comm);
	return err;
}

static int close_send(void *comm)
{
	struct conn *c = comm;
	int err = net->close_send(their_comm(comm));

	if (is_place(comm)) {
		pace_closed(&job, &c->pace, clock_now_ns());
		atomic_store(&c->taken, false);
	}
	return err;
}

static bool holds(void *comm, uint64_t bytes, void **request)
{
	struct conn *c = comm;

	if (!is_place(comm) || *request == GROUP || c->grouped || !pace_may_hold(&job, bytes) ||
	    !pace_holds(&job, bytes, clock_now_ns()))
		return false;
	*request = NULL;
	return true;
}

/* @group: there will be no request for it. */
static int shim_sent(int err, void *comm, uint64_t bytes, bool group, void **request)
{
	struct conn *c = comm;
	struct send *s = NULL;

	if (err || !is_place(comm))
		return err;
	if (group) {
		c->grouped += bytes;
		return err;
	}
	if (!*request)
		return err;
	for (unsigned int i = 0; i < REQUESTS && !s; i++)
		if (!c->sends[i].theirs)
			s = &c->sends[i];
	if (!s)
		return err;
	*s = (struct send){ c, *request, bytes + c->grouped, clock_now_ns() };
	c->grouped = 0;
	pace_sent(&job, &c->pace, s->bytes, s->at_ns);
	*request = s;
	return err;
}

static int test(void *request, int *done, int *sizes)
{
	struct send *s = request;
	uint64_t now;
	int err;

	if (!is_place(request))
		return net->test(request, done, sizes);
	err = net->test(s->theirs, done, sizes);
	if (!err && *done) {
		now = clock_now_ns();
		pace_done(&job, &s->conn->pace, s->bytes, now - s->at_ns, now);
		s->theirs = NULL;
	}
	return err;
}

static int reg_mr(void *comm, void *data, size_t size, int type, void **mhandle)
{
	return net->reg_mr(their_comm(comm), data, size, type, mhandle);
}

static int reg_mr_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
			 void **mhandle)
{
	return net->reg_mr_dmabuf(their_comm(comm), data, size, type, offset, fd, mhandle);
}

static int dereg_mr(void *comm, void *mhandle)
{
	return net->dereg_mr(their_comm(comm), mhandle);
}

static int device_mr(void *comm, void *mhandle, void **device)
{
	return net->device_mr(their_comm(comm), mhandle, device);
}

/* Where versions differ */

static int connect_8(int dev, void *handle, void **comm, void **offload)
{
	return shim_connected(net->connect.v8(dev, handle, comm, offload), comm, offload);
}

static int connect_10(int dev, void *config, void *handle, void **comm, void **offload)
{
	return shim_connected(net->connect.v10(dev, config, handle, comm, offload), comm, offload);
}

static int connect_11(void *ctx, int dev, void *handle, void **comm, void **offload)
{
	return shim_connected(net->connect.v11(ctx, dev, handle, comm, offload), comm, offload);
}

static int isend_8(void *comm, void *data, int size, int tag, void *mhandle, void **request)
{
	uint64_t bytes = size;

	if (holds(comm, bytes, request))
		return NCCL_SUCCESS;
	return shim_sent(net->isend.v8(their_comm(comm), data, size, tag, mhandle, request), comm,
			 bytes, false, request);
}

static int isend_9(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
	if (holds(comm, size, request))
		return NCCL_SUCCESS;
	return shim_sent(net->isend.v9(their_comm(comm), data, size, tag, mhandle, request), comm,
			 size, false, request);
}

static int isend_10(void *comm, void *data, size_t size, int tag, void *mhandle, void *phandle,
		    void **request)
{
	bool group = *request == GROUP;

	if (holds(comm, size, request))
		return NCCL_SUCCESS;
	return shim_sent(net->isend.v10(their_comm(comm), data, size, tag, mhandle, phandle,
					request),
			 comm, size, group, request);
}

/* The calls that differ, of each version. */
static const struct net own[EXPORTED];

static void table_calls(struct net *t, int v)
{
	t->test = test;
	t->close_send = close_send;
	t->reg_mr = reg_mr;
	t->dereg_mr = dereg_mr;
	/* these a plugin need not have */
	t->reg_mr_dmabuf = t->reg_mr_dmabuf ? reg_mr_dmabuf : NULL;
	t->device_mr = t->device_mr ? device_mr : NULL;
	t->init = own[v - NET_FIRST].init;
	t->connect = own[v - NET_FIRST].connect;
	t->isend = own[v - NET_FIRST].isend;
}

/*
 * The chained plugin's table with our calls in it.  Others may be using the one that is there, as
 * NCCL calls init for each communicator: it is written only if it is to be another.
 */
static void table_fill(int v)
{
	struct net t = { };

	memcpy(&t, chain_net(v), net_size(v));
	table_calls(&t, v);
	if (memcmp(&tables[v - NET_FIRST], &t, sizeof(t)))
		tables[v - NET_FIRST] = t;
}

/* NCCL is to use version @v from now on: it never uses two. */
static int begin(int v, nccl_logger log)
{
	const char *why = chain_failed(), *setting = getenv("MLCC_NET"), *class = getenv("MLCC_CLASS");

	if (why) {
		if (log)
			log(NCCL_LOG_WARN, NCCL_LOG_NET, "mlcc", 0, "NET/mlcc: %s", why);
		return NCCL_SYSTEM_ERROR;
	}
	net = chain_net(v);
	off = (setting && !strcmp(setting, "0")) || (class && !strcmp(class, "latency"));
	return NCCL_SUCCESS;
}

/* A plugin that stands for several may know only now which calls it has. */
static int begun(int err, int v, nccl_logger log)
{
	if (err)
		return err;
	table_fill(v);
	if (log)
		log(NCCL_LOG_INFO, NCCL_LOG_NET, "mlcc", 0, "NET/mlcc: %s %s (v%d)",
		    off ? "leaves alone" : "goes before", net->name, v);
	return NCCL_SUCCESS;
}

#define INIT_LOG(v)									\
	static int init_##v(nccl_logger log)						\
	{										\
		int err = begin(v, log);						\
											\
		return begun(err ? err : net->init.v8(log), v, log);			\
	}

#define INIT_CTX(v)									\
	static int init_##v(void **ctx, uint64_t id, void *config, nccl_logger log, void *prof) \
	{										\
		int err = begin(v, log);						\
											\
		return begun(err ? err : net->init.v11(ctx, id, config, log, prof), v, log); \
	}

INIT_LOG(8)
INIT_LOG(9)
INIT_CTX(11)
INIT_CTX(12)

static int init_10(nccl_logger log, void *prof)
{
	int err = begin(10, log);

	return begun(err ? err : net->init.v10(log, prof), 10, log);
}

static const struct net own[EXPORTED] = {
	{ .init.v8 = init_8, .connect.v8 = connect_8, .isend.v8 = isend_8 },
	{ .init.v8 = init_9, .connect.v8 = connect_8, .isend.v9 = isend_9 },
	{ .init.v10 = init_10, .connect.v10 = connect_10, .isend.v10 = isend_10 },
	{ .init.v11 = init_11, .connect.v11 = connect_11, .isend.v10 = isend_10 },
	{ .init.v11 = init_12, .connect.v11 = connect_11, .isend.v10 = isend_10 },
};

const struct net *shim_net(int version)
{
	struct net *t = &tables[version - NET_FIRST];

	if (chain_net(version)) {
		table_fill(version);
	} else if (chain_failed()) {
		t->name = "mlcc";
		t->init = own[version - NET_FIRST].init;
	} else {
		return NULL;
	}
	return t;
}
