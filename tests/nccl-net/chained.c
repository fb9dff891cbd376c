// SPDX-License-Identifier: GPL-2.0
/*
 * See chained.h.  VERSIONS: a bit for each that it has.  NONE: its tables lack what a plugin need
 * not have.
 */
#include <stdint.h>
#include <string.h>

#include "../../userspace/nccl-net/abi.h"
#include "chained.h"

#define EXPORT	__attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wunused-function"	/* of versions that it has not */
#define HAS(v)	(VERSIONS >> (v) & 1)

EXPORT struct chained chained;

static char comms[16], listening, accepted;
static char requests[CHAINED_SENDS];

/* What the shim hands on unseen. */
static int other(void)
{
	return 0;
}

static int note(void *a, void *b, void *c, void *d)
{
	void *last[8] = { a, b, c, d };

	memcpy(chained.last, last, sizeof(last));
	return 0;
}

static int began(int version)
{
	chained.version = version;
	return 0;
}

static int connect_any(int dev, void *handle, void **comm, void **offload)
{
	static int n;

	chained.last_dev = dev;
	note(handle, NULL, NULL, NULL);
	/* not yet, at first */
	*comm = n++ % 2 ? &comms[n / 2 % 16] : NULL;
	if (*comm && chained.offloads)
		*offload = &listening;
	return 0;
}

static int accept_any(void *comm, void **recv, void **offload)
{
	note(comm, offload, NULL, NULL);
	*recv = &accepted;
	return 0;
}

static int reg_mr(void *comm, void *data, size_t size, int type, void **mhandle)
{
	chained.last_size = size;
	*mhandle = &listening;
	return note(comm, data, NULL, NULL);
}

static int reg_mr_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
			 void **mhandle)
{
	return reg_mr(comm, data, size, type, mhandle);
}

static int dereg_mr(void *comm, void *mhandle)
{
	return note(comm, mhandle, NULL, NULL);
}

static int isend_any(void *comm, void *data, size_t size, void *mhandle, void *phandle,
		     void **request)
{
	void *group = *request;

	note(comm, data, mhandle, phandle);
	chained.last_size = size;
	*request = NULL;
	if (chained.fails || chained.full)
		return chained.fails;
	if (group != (void *)2)
		*request = &requests[chained.sends % CHAINED_SENDS];
	chained.sends++;
	return 0;
}

static int test(void *request, int *done, int *sizes)
{
	int i = (char *)request - requests;

	note(request, NULL, NULL, NULL);
	*done = i >= 0 && i < CHAINED_SENDS && chained.done[i];
	if (*done && sizes)
		*sizes = 77;
	return 0;
}

static int close_any(void *comm)
{
	chained.closed++;
	return note(comm, NULL, NULL, NULL);
}

static int device_mr(void *comm, void *mhandle, void **device)
{
	*device = &listening;
	return note(comm, mhandle, NULL, NULL);
}

static int isend_8(void *comm, void *data, int size, int tag, void *mhandle, void **request)
{
	return isend_any(comm, data, size, mhandle, NULL, request);
}

static int isend_9(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
	return isend_any(comm, data, size, mhandle, NULL, request);
}

static int isend_10(void *comm, void *data, size_t size, int tag, void *mhandle, void *phandle,
		    void **request)
{
	return isend_any(comm, data, size, mhandle, phandle, request);
}

static int connect_8(int dev, void *handle, void **comm, void **offload)
{
	return connect_any(dev, handle, comm, offload);
}

static int connect_10(int dev, void *config, void *handle, void **comm, void **offload)
{
	return connect_any(dev, handle, comm, offload);
}

static int connect_11(void *ctx, int dev, void *handle, void **comm, void **offload)
{
	return connect_any(dev, handle, comm, offload);
}

#define INIT(v, ...)	static int init_##v(__VA_ARGS__) { return began(v); }
INIT(8, nccl_logger log)
INIT(9, nccl_logger log)
INIT(10, nccl_logger log, void *prof)
INIT(11, void **ctx, uint64_t id, void *config, nccl_logger log, void *prof)
INIT(12, void **ctx, uint64_t id, void *config, nccl_logger log, void *prof)

#define CALL(f)	((net_unknown *)(f))
#define COMMON									\
	.name = "played", .devices = CALL(other), .properties = CALL(other),		\
	.listen = CALL(other), .accept = CALL(accept_any), .reg_mr = reg_mr,		\
	.dereg_mr = dereg_mr, .irecv = CALL(other), .iflush = CALL(other),		\
	.test = test, .close_send = close_any, .close_recv = CALL(close_any),	\
	.close_listen = CALL(close_any), .finalize = CALL(other)
#ifndef NONE
#define OPTIONAL	, .reg_mr_dmabuf = reg_mr_dmabuf, .device_mr = device_mr, \
	.irecv_consumed = CALL(other)
#else
#define OPTIONAL
#endif

#ifdef LATE
static int init_late(nccl_logger log);

/* It has its calls from init on, as Mellanox' has. */
EXPORT struct net ncclNetPlugin_v8 = { .name = "late", .init.v8 = init_late };

static int init_late(nccl_logger log)
{
	ncclNetPlugin_v8 = (struct net){
		.init.v8 = init_late, .connect.v8 = connect_8, .isend.v8 = isend_8, COMMON OPTIONAL
	};
	return began(8);
}
#endif

/* @i, @c, @s: as which version its init, connect and isend are */
#define TABLE(version, i, c, s)								\
	EXPORT const struct net ncclNetPlugin_v##version = {				\
		.init.v##i = init_##version, .connect.v##c = connect_##c,		\
		.isend.v##s = isend_##s, COMMON OPTIONAL				\
	}
#if HAS(8) && !defined(LATE)
TABLE(8, 8, 8, 8);
#endif
#if HAS(9)
TABLE(9, 8, 8, 9);
#endif
#if HAS(10)
TABLE(10, 10, 10, 10);
#endif
#if HAS(11)
TABLE(11, 11, 11, 10);
#endif
#if HAS(12)
TABLE(12, 11, 11, 10);
#endif

/* A plugin of several kinds. */
EXPORT const char ncclTunerPlugin_v4[] = "a tuner";
EXPORT const char ncclRmaPlugin_v13[] = "one-sided", ncclRmaPlugin_v16[] = "later";
