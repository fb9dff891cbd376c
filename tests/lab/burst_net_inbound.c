// SPDX-License-Identifier: GPL-2.0
/* The receiving side of mlcc-burst over a network plugin, with the interface of burst_inbound.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burst_net.h"

struct net_inbound {
	struct net_poll poll;	/* first, as it is looked at */
	struct inbound in;	/* the TCP connection */
	void *listening;
	void *comm;
	void *mhandle;
	void *requests[NET_DEPTH];
	unsigned int oldest;
	uint64_t left;		/* of the message that is being received */
	char data[NET_DEPTH][NET_CHUNK];
};

static void answer(struct net_inbound *n)
{
	n->in.messages++;
	if (send(n->in.watch.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1 && errno != EPIPE &&
	    errno != ECONNRESET)
		die(EXIT_SYSTEM, "answer: %s", strerror(errno));
}

static void received(struct net_inbound *n, const char *data, size_t size)
{
	struct header header;

	inbound_received(size);
	if (!n->left) {
		memcpy(&header, data, sizeof(header));
		if (size < sizeof(header) || header.magic != BURST_MAGIC)
			die(EXIT_SYSTEM, "a peer that is not mlcc-burst connected");
		n->left = header.length;
	}
	n->left -= size < n->left ? size : n->left;
	if (!n->left)
		answer(n);
}

static bool accepted(struct net_inbound *n)
{
	net_accept(n->listening, &n->comm);
	if (n->comm)
		n->mhandle = net_register(n->comm, n->data, sizeof(n->data));
	return n->comm;
}

static void look(struct net_poll *poll)
{
	struct net_inbound *n = (struct net_inbound *)poll;
	unsigned int i;
	size_t size;

	if (!n->comm && !accepted(n))
		return;
	while (n->requests[n->oldest] && net_done(n->requests[n->oldest], &size)) {
		received(n, n->data[n->oldest], size);
		n->requests[n->oldest] = NULL;
		n->oldest = (n->oldest + 1) % NET_DEPTH;
	}
	for (i = n->oldest; i != n->oldest + NET_DEPTH; i++) {
		unsigned int place = i % NET_DEPTH;

		if (!n->requests[place])
			n->requests[place] = net_receive(n->comm, n->data[place], NET_CHUNK,
							 n->mhandle);
		if (!n->requests[place])
			return;
	}
}

/* The sender says nothing over TCP: it ends. */
static void inbound_ready(struct watch *watch, uint32_t events)
{
	struct inbound *in = (struct inbound *)watch;
	struct net_inbound *n =
		(struct net_inbound *)((char *)in - offsetof(struct net_inbound, in));
	char byte;

	(void)events;
	if (recv(watch->fd, &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	LIST_REMOVE(&n->poll, link);
	inbound_closed(in, 0);
}

static void hand_over(struct net_poll *poll)
{
	struct net_inbound *n = (struct net_inbound *)poll;
	char handle[NET_HANDLE] = "";

	net_listen(handle, &n->listening);
	if (send(n->in.watch.fd, handle, sizeof(handle), MSG_NOSIGNAL) != sizeof(handle))
		die(EXIT_SYSTEM, "handle: %s", strerror(errno));
	poll->look = look;
}

struct inbound *inbound_new(void)
{
	struct net_inbound *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	net_open();
	n->in.watch.ready = inbound_ready;
	/* the connection is not known here yet */
	n->poll.look = hand_over;
	net_poll_add(&n->poll);
	return &n->in;
}
