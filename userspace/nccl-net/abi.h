/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NCCL's network plugin interface, versions 8 to 12, as far as a plugin needs it that stands
 * before another one.
 *
 * Written from the layout, not from NCCL's headers.  A plugin is a table of pointers under a
 * symbol for each version that it has, ncclNetPlugin_vN; NCCL takes the newest.  What a later
 * version added lies at the end, so one struct serves all five; how long it is differs, and so do
 * the arguments of three calls:
 *
 *	version	first NCCL	entries	init			connect			isend
 *	v8	 2.20		19	log			dev, handle		int size
 *	v9	 2.24		20	log			dev, handle		size_t size
 *	v10	 2.26		20	log, prof		dev, config, handle	", phandle
 *	v11	 2.28		22	ctx, id, config, log,	ctx, dev, handle	", phandle
 *	v12	 2.30		22	prof			"			"
 */
#ifndef MLCC_NET_ABI_H
#define MLCC_NET_ABI_H

#include <stddef.h>
#include <stdint.h>

#define NET_FIRST	8
#define NET_LAST	12

enum {
	NCCL_SUCCESS = 0,
	NCCL_SYSTEM_ERROR = 2,
};

enum {
	NCCL_LOG_WARN = 2,
	NCCL_LOG_INFO = 3,
};

#define NCCL_LOG_NET	16UL		/* the subsystem */

typedef void (*nccl_logger)(int level, unsigned long subsystems, const char *file, int line,
			    const char *format, ...);

/* Passed on as it is. */
typedef void net_unknown(void);

struct net {
	const char *name;
	union {
		int (*v8)(nccl_logger log);
		int (*v10)(nccl_logger log, void *prof);
		int (*v11)(void **ctx, uint64_t id, void *config, nccl_logger log, void *prof);
	} init;
	net_unknown *devices;
	net_unknown *properties;
	net_unknown *listen;
	union {
		int (*v8)(int dev, void *handle, void **comm, void **offload);
		int (*v10)(int dev, void *config, void *handle, void **comm, void **offload);
		int (*v11)(void *ctx, int dev, void *handle, void **comm, void **offload);
	} connect;
	net_unknown *accept;
	int (*reg_mr)(void *comm, void *data, size_t size, int type, void **mhandle);
	int (*reg_mr_dmabuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
			     void **mhandle);
	int (*dereg_mr)(void *comm, void *mhandle);
	union {
		int (*v8)(void *comm, void *data, int size, int tag, void *mhandle, void **request);
		int (*v9)(void *comm, void *data, size_t size, int tag, void *mhandle,
			  void **request);
		int (*v10)(void *comm, void *data, size_t size, int tag, void *mhandle,
			   void *phandle, void **request);
	} isend;
	net_unknown *irecv;
	net_unknown *iflush;
	int (*test)(void *request, int *done, int *sizes);
	int (*close_send)(void *comm);
	net_unknown *close_recv;
	net_unknown *close_listen;
	int (*device_mr)(void *comm, void *mhandle, void **device);
	net_unknown *irecv_consumed;
	net_unknown *make_vdevice;	/* from v9 on */
	net_unknown *finalize;		/* from v11 on */
	net_unknown *set_attr;
};

_Static_assert(sizeof(struct net) == 22 * sizeof(void *), "part of the interface");
_Static_assert(offsetof(struct net, isend) == 10 * sizeof(void *), "part of the interface");
_Static_assert(offsetof(struct net, make_vdevice) == 19 * sizeof(void *), "part of the interface");

static inline size_t net_size(int version)
{
	if (version < 9)
		return offsetof(struct net, make_vdevice);
	return version < 11 ? offsetof(struct net, finalize) : sizeof(struct net);
}

#endif /* MLCC_NET_ABI_H */
