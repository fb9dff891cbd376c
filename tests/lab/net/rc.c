// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "rc.h"

#define PORT		1
#define HOP_LIMIT	64
#define ACK_TIMEOUT	16	/* 4.096 us * 2^16: a queue of a software link is long */
#define RETRIES		7	/* of a receiver that is not ready: without end */
#define RNR_TIMER	1	/* 10 us */

/* The GID that stands for the local address of the connection. */
static bool local_gid(int tcp, union ibv_gid *gid)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	if (getsockname(tcp, (struct sockaddr *)&address, &size))
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
	int i;

	if (ibv_query_port(context, PORT, &port))
		return -1;
	for (i = 0; i < port.gid_tbl_len; i++)
		if (!ibv_query_gid(context, PORT, i, &gid) && !memcmp(&gid, wanted, sizeof(gid)))
			return i;
	return -1;
}

/* Devices of all network namespaces are seen here; the address says which one is ours. */
static bool find_device(struct rc *rc)
{
	struct ibv_device **all = ibv_get_device_list(NULL), **i;

	for (i = all; i && *i && !rc->context; i++) {
		struct ibv_context *context = ibv_open_device(*i);

		rc->gid_index = context ? gid_index(context, &rc->gid) : -1;
		if (rc->gid_index >= 0)
			rc->context = context;
		else if (context)
			ibv_close_device(context);
	}
	if (all)
		ibv_free_device_list(all);
	errno = ENODEV;
	return rc->context;
}

int rc_open(struct rc *rc, int tcp, uint32_t sends, uint32_t receives, bool events)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .cap = { sends, receives, 1, 1, 0 },
	};

	if (!local_gid(tcp, &rc->gid) || !find_device(rc))
		return -1;
	rc->pd = ibv_alloc_pd(rc->context);
	rc->channel = events ? ibv_create_comp_channel(rc->context) : NULL;
	if (!rc->pd || (events && !rc->channel))
		return -1;
	rc->cq = ibv_create_cq(rc->context, (int)(sends + receives), NULL, rc->channel, 0);
	if (!rc->cq || (events && ibv_req_notify_cq(rc->cq, 0)))
		return -1;
	init.send_cq = rc->cq;
	init.recv_cq = rc->cq;
	rc->qp = ibv_create_qp(rc->pd, &init);
	return rc->qp && !ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ? 0 : -1;
}

int rc_tell(const struct rc *rc, int tcp)
{
	struct rc_address mine = { .qpn = htonl(rc->qp->qp_num) };

	memcpy(mine.gid, rc->gid.raw, sizeof(mine.gid));
	return send(tcp, &mine, sizeof(mine), MSG_NOSIGNAL) == sizeof(mine) ? 0 : -1;
}

int rc_hear(int tcp, struct rc_address *peer)
{
	ssize_t got = recv(tcp, peer, sizeof(*peer), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return got == sizeof(*peer) ? 1 : -1;
}

/* From INIT to where it sends and receives. */
int rc_connect(struct rc *rc, const struct rc_address *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .min_rnr_timer = RNR_TIMER,
		.dest_qp_num = ntohl(peer->qpn), .max_dest_rd_atomic = 1,
		.ah_attr = {
			.is_global = 1, .port_num = PORT,
			.grh = { .sgid_index = (uint8_t)rc->gid_index, .hop_limit = HOP_LIMIT },
		},
		.timeout = ACK_TIMEOUT, .retry_cnt = RETRIES, .rnr_retry = RETRIES,
		.max_rd_atomic = 1,
	};

	memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	if (ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) ? -1 : 0;
}
