// SPDX-License-Identifier: GPL-2.0
/*
 * The plugin over RDMA: a reliable connection, whose messages are SENDs into what the receiver has
 * posted.  A send is done when the receiver's NIC has acknowledged all of it.
 */
#include "plugin.h"
#include "rc.h"

struct request {
	struct comm *comm;
	bool taken, done;
	uint32_t size;
};

struct transport {
	struct rc rc;
	struct request requests[REQUESTS];
};

const char transport_name[] = "verbs";
const size_t transport_size = sizeof(struct transport);

/* The queue pair, and its address to the other end. */
int transport_start(struct comm *c)
{
	if (rc_open(&c->own->rc, c->fd, REQUESTS, REQUESTS, false))
		return -1;
	return rc_tell(&c->own->rc, c->fd);
}

int transport_ready(struct comm *c)
{
	struct rc_address peer;
	int heard = rc_hear(c->fd, &peer);

	return heard > 0 && rc_connect(&c->own->rc, &peer) ? -1 : heard;
}

/* The process is about to end: what is left goes with it. */
void transport_close(struct comm *c)
{
	ibv_destroy_qp(c->own->rc.qp);
}

int reg_mr(void *comm, void *data, size_t size, int type, void **mhandle)
{
	struct comm *c = comm;

	*mhandle = type == HOST_MEMORY ?
		   ibv_reg_mr(c->own->rc.pd, data, size, IBV_ACCESS_LOCAL_WRITE) : NULL;
	return *mhandle ? 0 : NCCL_INVALID;
}

int dereg_mr(void *comm, void *mhandle)
{
	(void)comm;
	return ibv_dereg_mr(mhandle) ? NCCL_SYSTEM_ERROR : 0;
}

static struct request *request_new(struct comm *c, size_t size)
{
	struct request *r = c->own->requests;

	for (int i = 0; i < REQUESTS; i++, r++)
		if (!r->taken) {
			*r = (struct request){ c, true, false, (uint32_t)size };
			return r;
		}
	return NULL;
}

int isend(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
	struct comm *c = comm;
	struct request *r = request_new(c, size);
	struct ibv_mr *mr = mhandle;
	struct ibv_sge sge = { (uintptr_t)data, (uint32_t)size, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)r, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad;

	(void)tag;
	*request = r;
	return r && ibv_post_send(c->own->rc.qp, &wr, &bad) ? NCCL_SYSTEM_ERROR : 0;
}

int irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
	  void **request)
{
	struct comm *c = comm;
	struct request *r = n == 1 ? request_new(c, sizes[0]) : NULL;
	struct ibv_mr *mr = mhandles[0];
	struct ibv_sge sge = { (uintptr_t)data[0], (uint32_t)sizes[0], mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)r, .sg_list = &sge, .num_sge = 1 }, *bad;

	(void)tags;
	*request = r;
	return r && ibv_post_recv(c->own->rc.qp, &wr, &bad) ? NCCL_SYSTEM_ERROR : 0;
}

int test(void *request, int *done, int *sizes)
{
	struct request *r = request;
	struct ibv_wc wc;

	while (ibv_poll_cq(r->comm->own->rc.cq, 1, &wc) > 0) {
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
