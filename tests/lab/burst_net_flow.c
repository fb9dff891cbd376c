// SPDX-License-Identifier: GPL-2.0
/*
 * One sending connection of mlcc-burst over a network plugin, with the interface of burst_flow.c.
 * A message is a row of sends, and done when the receiver's answer comes over TCP.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "burst_net.h"

struct sender {
	struct net_poll poll;
	struct flow *flow;
	void *comm;
	char handle[NET_HANDLE];
	bool handed;		/* the receiver's handle has come */
	void *mhandle;
	void *requests[NET_DEPTH];	/* in their order */
	unsigned int oldest, under_way;
	char data[NET_CHUNK];	/* what every chunk consists of */
};

const size_t transport_size = sizeof(struct sender);

void transport_write(struct flow *flow)
{
	struct sender *s = flow->transport;

	while (flow_left(flow) && s->under_way < NET_DEPTH) {
		uint64_t left = flow_left(flow);
		unsigned int place = (s->oldest + s->under_way) % NET_DEPTH;
		size_t size = left < NET_CHUNK ? left : NET_CHUNK;

		/* the first chunk of a message; an earlier one may be under way: as long as this */
		if (!flow->sent)
			memcpy(s->data, &flow->header, sizeof(flow->header));
		s->requests[place] = net_send(s->comm, s->data, size, s->mhandle);
		if (!s->requests[place])
			return;
		s->under_way++;
		flow->sent += size;
	}
}

static void look(struct net_poll *poll)
{
	struct sender *s = (struct sender *)poll;
	struct flow *flow = s->flow;
	size_t size;

	if (!flow->connected) {
		if (!s->handed)
			return;
		net_connect(s->handle, &s->comm);
		if (!s->comm)
			return;
		s->mhandle = net_register(s->comm, s->data, sizeof(s->data));
		flow->connected = true;
	}
	while (s->under_way && net_done(s->requests[s->oldest], &size)) {
		s->oldest = (s->oldest + 1) % NET_DEPTH;
		s->under_way--;
	}
	transport_write(flow);
}

static void flow_read(struct flow *flow)
{
	struct sender *s = flow->transport;
	size_t size = s->handed ? 1 : sizeof(s->handle);
	char answer;
	ssize_t got = recv(flow->watch.fd, s->handed ? &answer : s->handle, size, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != (ssize_t)size)
		die(EXIT_SYSTEM, "flow %u: the receiver closed the connection", flow->index);
	if (s->handed)
		flow->done_ns = now_ns();
	s->handed = true;
}

void transport_ready(struct watch *watch, uint32_t events)
{
	struct flow *flow = (struct flow *)watch;

	if (loop_stopped())
		return;
	if (flow_refused(flow))
		return;
	if (events & EPOLLIN)
		flow_read(flow);
}

void transport_open(struct flow *flow)
{
	struct sender *s = flow->transport;

	net_open();
	s->flow = flow;
	s->poll.look = look;
	net_poll_add(&s->poll);
}

void transport_close(struct flow *flow)
{
	struct sender *s = flow->transport;

	LIST_REMOVE(&s->poll, link);
}
