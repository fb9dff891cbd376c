/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A network plugin of NCCL's, version 9, as plain as can be: no threads, memory of the host only.
 * The ends find each other over TCP, never waiting (plugin.c); what else is a transport's.
 */
#ifndef LAB_NET_PLUGIN_H
#define LAB_NET_PLUGIN_H

#include <stdbool.h>

#include "../../../userspace/nccl-net/abi.h"

#define REQUESTS	32	/* of a connection, not done */
#define NCCL_INVALID	4
#define HOST_MEMORY	1

struct comm {
	int fd;
	bool sends;
	bool started;
	struct comm *accepting;	/* of one that listens */
	struct transport *own;	/* what the transport keeps */
};

/* The transport's (sockets.c, verbs.c). */
extern const char transport_name[];
extern const size_t transport_size;
int transport_start(struct comm *c);	/* once TCP stands; 0, or -1 */
int transport_ready(struct comm *c);	/* 1: it stands, too; 0: not yet; -1: an error */
void transport_close(struct comm *c);
int reg_mr(void *comm, void *data, size_t size, int type, void **mhandle);
int dereg_mr(void *comm, void *mhandle);
int isend(void *comm, void *data, size_t size, int tag, void *mhandle, void **request);
int irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
	  void **request);
int test(void *request, int *done, int *sizes);

#endif
