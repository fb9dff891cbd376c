// SPDX-License-Identifier: GPL-2.0
/*
 * A network plugin of NCCL's over RDMA, version 9, as plain as can be: a reliable connection, whose
 * messages are SENDs into what the receiver has posted; memory of the host only.  The device is the
 * one with the address over which the ends find each other.
 *
 * A send is done when the receiver's NIC has acknowledged all of it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../userspace/nccl-net/abi.h"
#include "tcp.h"

#define REQUESTS	32
#define NCCL_INVALID	4
#define PORT		1
#define HOP_LIMIT	64
#define ACK_TIMEOUT	16	/* 4.096 us * 2^16: a queue of a software link is long */
#define RETRIES		7	/* of a receiver that is not ready: without end */
#define RNR_TIMER	1	/* 10 us */

/* What the ends tell each other. */
struct address {
	uint32_t qpn;
	uint8_t gid[16];
} __attribute__((packed));

struct request {
	struct comm *comm;
	bool taken, done;
	uint32_t size;
};

struct comm {
	int fd;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	union ibv_gid gid;
	int gid_index;
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

static bool local_gid(int fd, union ibv_gid *gid)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size))
		return false;
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(&gid->raw[12], &address.sin_addr, sizeof(address.sin_addr));
	return true;
}

static int gid_index(struct ibv_context *context, const union ibv_gid *wanted)
{
	struct ibv_port_attr port;
	union ibv_gid gid;

	if (ibv_query_port(context, PORT, &port))
		return -1;
	for (int i = 0; i < port.gid_tbl_len; i++)
		if (!ibv_query_gid(context, PORT, i, &gid) && !memcmp(&gid, wanted, sizeof(gid)))
			return i;
	return -1;
}

/* Devices of all network namespaces are seen here; the address says which one is ours. */
static bool find_device(struct comm *c)
{
	struct ibv_device **all = ibv_get_device_list(NULL), **i;

	for (i = all; i && *i && !c->context; i++) {
		struct ibv_context *context = ibv_open_device(*i);

		c->gid_index = context ? gid_index(context, &c->gid) : -1;
		if (c->gid_index >= 0)
			c->context = context;
		else if (context)
			ibv_close_device(context);
	}
	if (all)
		ibv_free_device_list(all);
	return c->context;
}

/* The queue pair, and its address to the other end.  -1: an error. */
static int introduce(struct comm *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { REQUESTS, REQUESTS, 1, 1, 0 },
	};
	struct address mine;

	if (!local_gid(c->fd, &c->gid) || !find_device(c))
		return -1;
	c->pd = ibv_alloc_pd(c->context);
	c->cq = ibv_create_cq(c->context, 2 * REQUESTS, NULL, NULL, 0);
	if (!c->pd || !c->cq)
		return -1;
	init.send_cq = c->cq;
	init.recv_cq = c->cq;
	c->qp = ibv_create_qp(c->pd, &init);
	if (!c->qp || ibv_modify_qp(c->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_ACCESS_FLAGS))
		return -1;
	mine.qpn = htonl(c->qp->qp_num);
	memcpy(mine.gid, c->gid.raw, sizeof(mine.gid));
	return send(c->fd, &mine, sizeof(mine), MSG_NOSIGNAL) == sizeof(mine) ? 0 : -1;
}

static int to_ready(struct comm *c, const struct address *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .min_rnr_timer = RNR_TIMER,
		.dest_qp_num = ntohl(peer->qpn), .max_dest_rd_atomic = 1,
		.ah_attr = {
			.is_global = 1, .port_num = PORT,
			.grh = { .sgid_index = (uint8_t)c->gid_index, .hop_limit = HOP_LIMIT },
		},
		.timeout = ACK_TIMEOUT, .retry_cnt = RETRIES, .rnr_retry = RETRIES,
		.max_rd_atomic = 1,
	};

	memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	if (ibv_modify_qp(c->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(c->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) ? -1 : 1;
}

/* 1: the queue pairs are connected, 0: not yet, -1: an error. */
static int greeted(struct comm *c)
{
	struct address peer;
	ssize_t got = recv(c->fd, &peer, sizeof(peer), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return got == sizeof(peer) ? to_ready(c, &peer) : -1;
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
	if (stands > 0 && !c->qp)
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

	*mhandle = type == 1 ? ibv_reg_mr(c->pd, data, size, IBV_ACCESS_LOCAL_WRITE) : NULL;
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
	return r && ibv_post_send(((struct comm *)comm)->qp, &wr, &bad) ? NCCL_SYSTEM_ERROR : 0;
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
	return r && ibv_post_recv(((struct comm *)comm)->qp, &wr, &bad) ? NCCL_SYSTEM_ERROR : 0;
}

static int test(void *request, int *done, int *sizes)
{
	struct request *r = request;
	struct ibv_wc wc;

	while (ibv_poll_cq(r->comm->cq, 1, &wc) > 0) {
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

	if (c->qp)
		ibv_destroy_qp(c->qp);
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
