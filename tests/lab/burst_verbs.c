// SPDX-License-Identifier: GPL-2.0
/* A reliable connection (RC) of mlcc-burst over verbs: device, queue pair, completions. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burst_verbs.h"

#define PORT		1
#define HOP_LIMIT	64
#define ACK_TIMEOUT	16	/* 4.096 us * 2^16: a queue of a software link is long */
#define RETRIES		7
#define RNR_TIMER	1	/* 10 us */

/* Every message is of these; what is in them does not matter, and they overwrite each other. */
static char buffer[VERBS_CHUNK];

static void check(bool good, const char *what)
{
	if (!good)
		die(EXIT_SYSTEM, "verbs: %s: %s", what, strerror(errno));
}

/* The GID that stands for the local address of the connection. */
static void local_gid(int tcp, union ibv_gid *gid)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	check(!getsockname(tcp, (struct sockaddr *)&address, &size), "local address");
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(&gid->raw[12], &address.sin_addr, sizeof(address.sin_addr));
}

static int gid_index(struct ibv_context *context, const union ibv_gid *wanted)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	int i;

	if (ibv_query_port(context, PORT, &port))
		return -1;
	for (i = 0; i < port.gid_tbl_len; i++)
		if (!ibv_query_gid(context, PORT, i, &gid) && !memcmp(&gid, wanted, sizeof(gid)))
			return i;
	return -1;
}

/* Devices of all network namespaces are seen here; the address says which one is ours. */
static void find_device(struct verbs *v)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_device **device;

	check(devices, "devices");
	for (device = devices; *device && !v->context; device++) {
		v->context = ibv_open_device(*device);
		if (!v->context)
			continue;
		v->gid_index = gid_index(v->context, &v->gid);
		if (v->gid_index >= 0)
			break;
		ibv_close_device(v->context);
		v->context = NULL;
	}
	ibv_free_device_list(devices);
	if (!v->context)
		die(EXIT_SYSTEM, "verbs: no device has the local address");
}

static void make_qp(struct verbs *v)
{
	struct ibv_qp_init_attr init = {
		.send_cq = v->cq, .recv_cq = v->cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = {
			.max_send_wr = VERBS_SENDS, .max_recv_wr = VERBS_RECEIVES,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };

	v->qp = ibv_create_qp(v->pd, &init);
	check(v->qp, "queue pair");
	check(!ibv_modify_qp(v->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS), "queue pair to INIT");
}

static void completions(struct verbs *v)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(v->cq, 1, &wc) > 0) {
		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			die(EXIT_SYSTEM, "verbs: %s", ibv_wc_status_str(wc.status));
		v->done(v, &wc);
	}
}

static void channel_ready(struct watch *watch, uint32_t events)
{
	struct verbs *v = (struct verbs *)watch;
	struct ibv_cq *cq;
	void *unused;

	(void)events;
	if (ibv_get_cq_event(v->channel, &cq, &unused))
		return;
	ibv_ack_cq_events(cq, 1);
	check(!ibv_req_notify_cq(cq, 0), "notification");
	completions(v);
}

/* @tcp: a connection between the two ends.  @done: told of each completion. */
void verbs_open(struct verbs *v, int tcp, void (*done)(struct verbs *v, const struct ibv_wc *wc))
{
	memset(v, 0, sizeof(*v));
	v->done = done;
	local_gid(tcp, &v->gid);
	find_device(v);
	v->pd = ibv_alloc_pd(v->context);
	check(v->pd, "protection domain");
	v->mr = ibv_reg_mr(v->pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	check(v->mr, "memory region");
	v->channel = ibv_create_comp_channel(v->context);
	check(v->channel, "completion channel");
	v->cq = ibv_create_cq(v->context, VERBS_SENDS + VERBS_RECEIVES, NULL, v->channel, 0);
	check(v->cq, "completion queue");
	check(!ibv_req_notify_cq(v->cq, 0), "notification");
	make_qp(v);
	v->watch.fd = v->channel->fd;
	v->watch.ready = channel_ready;
	loop_add(&v->watch, EPOLLIN);
}

void verbs_address(const struct verbs *v, struct verbs_address *to)
{
	to->qpn = htonl(v->qp->qp_num);
	memcpy(to->gid, v->gid.raw, sizeof(to->gid));
}

/* From INIT to where it sends and receives. */
void verbs_connect(struct verbs *v, const struct verbs_address *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .min_rnr_timer = RNR_TIMER,
		.dest_qp_num = ntohl(peer->qpn), .max_dest_rd_atomic = 1,
		.ah_attr = {
			.is_global = 1, .port_num = PORT,
			.grh = { .sgid_index = (uint8_t)v->gid_index, .hop_limit = HOP_LIMIT },
		},
		.timeout = ACK_TIMEOUT, .retry_cnt = RETRIES, .rnr_retry = RETRIES,
		.max_rd_atomic = 1,
	};

	memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	check(!ibv_modify_qp(v->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER), "queue pair to RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(!ibv_modify_qp(v->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	      "queue pair to RTS");
}

void verbs_post_receive(struct verbs *v)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = VERBS_CHUNK,
			       .lkey = v->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	check(!ibv_post_recv(v->qp, &wr, &bad), "receive");
}

void verbs_post_send(struct verbs *v, uint32_t bytes, bool last)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = bytes, .lkey = v->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = bytes, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(last ? VERBS_LAST : 0),
	}, *bad;

	check(!ibv_post_send(v->qp, &wr, &bad), "send");
}

/* The process is about to end: what is left goes with it. */
void verbs_close(struct verbs *v)
{
	ibv_destroy_qp(v->qp);
	v->qp = NULL;
}
