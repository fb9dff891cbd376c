// SPDX-License-Identifier: GPL-2.0
/*
 * One sending connection of mlcc-burst over verbs, with the interface of burst_flow.c. The ends
 * find each other over TCP; a message is a row of SENDs, and done when the last is acknowledged.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "burst_verbs.h"

struct sender {
	struct verbs verbs;	/* first, as completions get it */
	struct flow *flow;
	uint32_t posted;	/* SENDs under way */
	bool opened;
};

const size_t transport_size = sizeof(struct sender);

void transport_write(struct flow *flow)
{
	struct sender *s = flow->transport;
	uint64_t left;

	while ((left = flow_left(flow)) && s->posted < VERBS_SENDS) {
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

	(void)wc;
	s->posted--;
	if (!s->posted && flow->sent == flow->length)
		flow->done_ns = now_ns();
	transport_write(flow);
}

static void greet(struct flow *flow)
{
	struct sender *s = flow->transport;

	verbs_open(&s->verbs, flow->watch.fd, send_done);
	s->opened = true;
	if (rc_tell(&s->verbs.rc, flow->watch.fd))
		die(EXIT_SYSTEM, "flow %u: %s", flow->index, strerror(errno));
}

static void greeted(struct flow *flow)
{
	struct sender *s = flow->transport;
	struct rc_address peer;
	int heard = rc_hear(flow->watch.fd, &peer);

	if (!heard)
		return;
	if (heard < 0 || flow->connected)
		die(EXIT_SYSTEM, "flow %u: the receiver closed the connection", flow->index);
	verbs_connect(&s->verbs, &peer);
	flow->connected = true;
	transport_write(flow);
}

void transport_ready(struct watch *watch, uint32_t events)
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

void transport_open(struct flow *flow)
{
	((struct sender *)flow->transport)->flow = flow;
}

void transport_close(struct flow *flow)
{
	struct sender *s = flow->transport;

	if (s->opened)
		verbs_close(&s->verbs);
}
