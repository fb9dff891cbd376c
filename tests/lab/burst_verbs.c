// SPDX-License-Identifier: GPL-2.0
/* A reliable connection of mlcc-burst over verbs: what is posted, and its completions. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "burst_verbs.h"

/* Every message is of these; what is in them does not matter, and they overwrite each other. */
static char buffer[VERBS_CHUNK];

static void check(bool good, const char *what)
{
	if (!good)
		die(EXIT_SYSTEM, "verbs: %s: %s", what, strerror(errno));
}

static void completions(struct verbs *v)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(v->rc.cq, 1, &wc) > 0) {
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
	if (ibv_get_cq_event(v->rc.channel, &cq, &unused))
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
	check(!rc_open(&v->rc, tcp, VERBS_SENDS, VERBS_RECEIVES, true), "queue pair");
	v->mr = ibv_reg_mr(v->rc.pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	check(v->mr, "memory region");
	v->watch.fd = v->rc.channel->fd;
	v->watch.ready = channel_ready;
	loop_add(&v->watch, EPOLLIN);
}

void verbs_connect(struct verbs *v, const struct rc_address *peer)
{
	check(!rc_connect(&v->rc, peer), "connection");
}

void verbs_post_receive(struct verbs *v)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = VERBS_CHUNK,
			       .lkey = v->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	check(!ibv_post_recv(v->rc.qp, &wr, &bad), "receive");
}

void verbs_post_send(struct verbs *v, uint32_t bytes, bool last)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = bytes, .lkey = v->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(last ? VERBS_LAST : 0),
	}, *bad;

	check(!ibv_post_send(v->rc.qp, &wr, &bad), "send");
}

/* The process is about to end: what is left goes with it. */
void verbs_close(struct verbs *v)
{
	ibv_destroy_qp(v->rc.qp);
	v->rc.qp = NULL;
}
