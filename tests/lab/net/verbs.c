// SPDX-License-Identifier: GPL-2.0
/*
 * A network plugin of NCCL's over RDMA, version 9, as plain as can be: a reliable connection, whose
 * messages are SENDs into what the receiver has posted; memory of the host only.  The device is the
 * one with the address over which the ends find each other.
 *
 * A send is done when the receiver's NIC has acknowledged all of it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../../../userspace/nccl-net/abi.h"
#include "rc.h"
#include "tcp.h"

#define REQUESTS	32
#define NCCL_INVALID	4

struct request {
	struct comm *comm;
	bool taken, done;
	uint32_t size;
};

struct comm {
	int fd;
	struct rc rc;
	struct comm *accepting;	/* of one that listens */
	struct request requests[REQUESTS];
};

static int init(nccl_logger log)
{
	(void)log;
	return 0;
}

static int devices(int *n)
{
	*n = 1;
	return 0;
}

static int comm_new(int fd, struct comm **comm)
{
	*comm = fd < 0 ? NULL : calloc(1, sizeof(**comm));
	if (!*comm)
		return NCCL_SYSTEM_ERROR;
	(*comm)->fd = fd;
	return 0;
}

/* The queue pair, and its address to the other end.  -1: an error. */
static int introduce(struct comm *c)
{
	if (rc_open(&c->rc, c->fd, REQUESTS, REQUESTS, false))
		return -1;
	return rc_tell(&c->rc, c->fd);
}

/* 1: the queue pairs are connected, 0: not yet, -1: an error. */
static int greeted(struct comm *c)
{
	struct rc_address peer;
	int heard = rc_hear(c->fd, &peer);

	return heard > 0 && rc_connect(&c->rc, &peer) ? -1 : heard;
}

static int do_listen(int dev, void *handle, void **comm)
{
	(void)dev;
	return comm_new(tcp_listen(handle), (struct comm **)comm);
}

static int do_connect(int dev, void *handle, void **comm, void **offload)
{
	struct handle *h = handle;
	struct comm *c;
	int stands;

	(void)dev;
	(void)offload;
	*comm = NULL;
	if (!h->connecting && comm_new(tcp_connect(h), (struct comm **)&h->connecting))
		return NCCL_SYSTEM_ERROR;
	c = h->connecting;
	stands = tcp_connected(c->fd, h);
	if (stands > 0 && !c->rc.qp)
		stands = introduce(c);
	else if (stands > 0)
		stands = greeted(c);
	if (stands > 0)
		*comm = c;
	return stands < 0 ? NCCL_SYSTEM_ERROR : 0;
}

static int do_accept(void *listening, void **comm, void **offload)
{
	struct comm *l = listening;
	int fd, stands;

	(void)offload;
	*comm = NULL;
	if (!l->accepting) {
		fd = tcp_accept(l->fd);
		if (fd == -1)
			return 0;
		if (comm_new(fd, &l->accepting) || introduce(l->accepting))
			return NCCL_SYSTEM_ERROR;
	}
	stands = greeted(l->accepting);
	if (stands > 0) {
		*comm = l->accepting;
		l->accepting = NULL;
	}
	return stands < 0 ? NCCL_SYSTEM_ERROR : 0;
}

static int reg_mr(void *comm, void *data, size_t size, int type, void **mhandle)
{
	struct comm *c = comm;

	*mhandle = type == 1 ? ibv_reg_mr(c->rc.pd, data, size, IBV_ACCESS_LOCAL_WRITE) : NULL;
	return *mhandle ? 0 : NCCL_INVALID;
}

static int dereg_mr(void *comm, void *mhandle)
{
	(void)comm;
	return ibv_dereg_mr(mhandle) ? NCCL_SYSTEM_ERROR : 0;
}

static struct request *request_new(struct comm *c, size_t size)
{
	for (int i = 0; i < REQUESTS; i++)
		if (!c->requests[i].taken) {
			c->requests[i] = (struct request){ c, true, false, (uint32_t)size };
			return &c->requests[i];
		}
	return NULL;
}

static int isend(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
	struct request *r = request_new(comm, size);
	struct ibv_mr *mr = mhandle;
	struct ibv_sge sge = { (uintptr_t)data, (uint32_t)size, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)r, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad;

	(void)tag;
	*request = r;
	return r && ibv_post_send(((struct comm *)comm)->rc.qp, &wr, &bad) ? NCCL_SYSTEM_ERROR : 0;
}

static int irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		 void **request)
{
	struct request *r = n == 1 ? request_new(comm, sizes[0]) : NULL;
	struct ibv_mr *mr = mhandles[0];
	struct ibv_sge sge = { (uintptr_t)data[0], (uint32_t)sizes[0], mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)r, .sg_list = &sge, .num_sge = 1 }, *bad;

	(void)tags;
	*request = r;
	return r && ibv_post_recv(((struct comm *)comm)->rc.qp, &wr, &bad) ? NCCL_SYSTEM_ERROR : 0;
}

static int test(void *request, int *done, int *sizes)
{
	struct request *r = request;
	struct ibv_wc wc;

	while (ibv_poll_cq(r->comm->rc.cq, 1, &wc) > 0) {
		struct request *its = (struct request *)(uintptr_t)wc.wr_id;

		if (wc.status != IBV_WC_SUCCESS)
			return NCCL_SYSTEM_ERROR;
		its->done = true;
		if (wc.opcode & IBV_WC_RECV)
			its->size = wc.byte_len;
	}
	*done = r->done;
	if (*done && sizes)
		*sizes = (int)r->size;
	r->taken = !*done;
	return 0;
}

/* The process is about to end: what is left goes with it. */
static int do_close(void *comm)
{
	struct comm *c = comm;

	if (c->rc.qp)
		ibv_destroy_qp(c->rc.qp);
	close(c->fd);
	return 0;
}

__attribute__((visibility("default"))) const struct net ncclNetPlugin_v9 = {
	.name = "verbs",
	.init.v8 = init,
	.devices = (net_unknown *)devices,
	.listen = (net_unknown *)do_listen,
	.connect.v8 = do_connect,
	.accept = (net_unknown *)do_accept,
	.reg_mr = reg_mr,
	.dereg_mr = dereg_mr,
	.isend.v9 = isend,
	.irecv = (net_unknown *)irecv,
	.test = test,
	.close_send = do_close,
	.close_recv = (net_unknown *)do_close,
	.close_listen = (net_unknown *)do_close,
};
