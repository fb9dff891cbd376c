/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mlcc-burst over NCCL's network plugin interface, whatever library NCCL_NET_PLUGIN names: what
 * both ends of a connection share.  They find each other over TCP, which also brings the answers.
 *
 * As NCCL's proxy thread does, it asks again and again; but not without a pause, as the processes
 * of a whole cluster share this machine.
 */
#ifndef BURST_NET_H
#define BURST_NET_H

#include "../../userspace/nccl-net/abi.h"
#include "burst.h"

#define NET_HANDLE	128	/* bytes */
#define NET_CHUNK	65536	/* of a message */
#define NET_DEPTH	8	/* chunks under way, as NCCL has steps */

/* What is asked again as long as it is busy. */
struct net_poll {
	LIST_ENTRY(net_poll) link;
	void (*look)(struct net_poll *poll);
};

/* Loads the plugin, once. */
void net_open(void);
void net_poll_add(struct net_poll *poll);

void net_listen(void *handle, void **comm);
void net_connect(void *handle, void **comm);
void net_accept(void *listening, void **comm);
void *net_register(void *comm, void *data, size_t size);
/* NULL: not now. */
void *net_send(void *comm, void *data, size_t size, void *mhandle);
void *net_receive(void *comm, void *data, size_t size, void *mhandle);
bool net_done(void *request, size_t *size);

#endif
