// SPDX-License-Identifier: GPL-2.0
/*
 * One sending connection of mlcc-burst over verbs, with the interface of burst_flow.c. The ends
 * find each other over TCP; a message is a row of SENDs, and done when the last is acknowledged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burst_verbs.h"

struct sender {
	struct verbs verbs;	/* first, as completions get it */
	struct flow *flow;
	uint64_t acknowledged;	/* bytes of the message */
	uint32_t posted;	/* SENDs under way */
	bool opened;
};

static void flow_post(struct flow *flow)
{
	uint64_t end = flow->allowed < flow->length ? flow->allowed : flow->length;
	struct sender *s = flow->transport;
	uint64_t left;

	while (flow->sent < end && s->posted < VERBS_SENDS) {
		left = end - flow->sent;
		if (left > VERBS_CHUNK)
			left = VERBS_CHUNK;
		flow->sent += left;
		s->posted++;
		verbs_post_send(&s->verbs, (uint32_t)left, flow->sent == flow->length);
	}
}

static void send_done(struct verbs *v, const struct ibv_wc *wc)
{
	struct sender *s = (struct sender *)v;
	struct flow *flow = s->flow;

	s->posted--;
	s->acknowledged += wc->wr_id;
	if (s->acknowledged == flow->length)
		flow->done_ns = now_ns();
	flow_post(flow);
}

static void greet(struct flow *flow)
{
	struct sender *s = flow->transport;
	struct verbs_address mine;

	verbs_open(&s->verbs, flow->watch.fd, send_done);
	s->opened = true;
	verbs_address(&s->verbs, &mine);
	if (send(flow->watch.fd, &mine, sizeof(mine), MSG_NOSIGNAL) != sizeof(mine))
		die(EXIT_SYSTEM, "flow %u: %s", flow->index, strerror(errno));
}

static void greeted(struct flow *flow)
{
	struct sender *s = flow->transport;
	struct verbs_address peer;
	ssize_t got = recv(flow->watch.fd, &peer, sizeof(peer), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != sizeof(peer) || flow->connected)
		die(EXIT_SYSTEM, "flow %u: the receiver closed the connection", flow->index);
	verbs_connect(&s->verbs, &peer);
	flow->connected = true;
}

static void flow_ready(struct watch *watch, uint32_t events)
{
	struct flow *flow = (struct flow *)watch;
	struct sender *s = flow->transport;

	if (loop_stopped())
		return;
	if (flow_refused(flow))
		return;
	if (events & EPOLLOUT && !s->opened)
		greet(flow);
	if (events & EPOLLIN)
		greeted(flow);
}

void flow_open(struct flow *flow, const struct options *opt, uint32_t index)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		die(EXIT_SYSTEM, "out of memory");
	memset(flow, 0, sizeof(*flow));
	s->flow = flow;
	flow->index = index;
	flow->transport = s;
	flow->watch.ready = flow_ready;
	flow->watch.fd = socket_connect(opt, index);
	loop_add(&flow->watch, EPOLLIN | EPOLLOUT | EPOLLET);
}

void flow_send(struct flow *flow, uint64_t length, uint64_t allowed)
{
	struct sender *s = flow->transport;

	s->acknowledged = 0;
	flow->length = length;
	flow->allowed = allowed;
	flow->sent = 0;
	flow->done_ns = 0;
	flow_post(flow);
}

void flow_allow(struct flow *flow, uint64_t allowed)
{
	if (allowed <= flow->allowed)
		return;
	flow->allowed = allowed;
	flow_post(flow);
}

void flow_close(struct flow *flow)
{
	struct sender *s = flow->transport;

	if (s->opened)
		verbs_close(&s->verbs);
	free(s);
	close(flow->watch.fd);
	flow->watch.fd = -1;
}
