// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving side of mlcc-burst: discard, acknowledge.
 *
 * MSG_TRUNC discards without copying.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "burst.h"

#define DISCARD		(4 * 1024 * 1024)

struct tcp_inbound {
	struct inbound in;	/* first: the list and the loop have its address */
	struct header header;
	uint32_t header_got;
	uint64_t left;		/* of the message, after its header */
};

static void message_done(struct tcp_inbound *t)
{
	static const char ack;

	t->in.messages++;
	t->header_got = 0;
	/* One byte always fits; if the peer has gone, the next read says so. */
	if (send(t->in.watch.fd, &ack, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		shutdown(t->in.watch.fd, SHUT_RDWR);
}

static ssize_t read_header(struct tcp_inbound *t)
{
	char *at = (char *)&t->header + t->header_got;
	ssize_t got = recv(t->in.watch.fd, at,
			   sizeof(t->header) - t->header_got, 0);

	if (got <= 0)
		return got;
	t->header_got += (uint32_t)got;
	if (t->header_got < sizeof(t->header))
		return got;
	if (t->header.magic != BURST_MAGIC ||
	    t->header.length <= sizeof(t->header))
		die(EXIT_SYSTEM, "a peer that is not mlcc-burst connected");
	t->left = t->header.length;
	if (t->left != BURST_ENDLESS)
		t->left -= sizeof(t->header);
	return got;
}

static ssize_t discard(struct tcp_inbound *t)
{
	size_t want = t->left < DISCARD ? (size_t)t->left : DISCARD;
	ssize_t got = recv(t->in.watch.fd, NULL, want, MSG_TRUNC);

	if (got <= 0)
		return got;
	if (t->left != BURST_ENDLESS)
		t->left -= (uint64_t)got;
	if (!t->left)
		message_done(t);
	return got;
}

static void inbound_ready(struct watch *watch, uint32_t events)
{
	struct tcp_inbound *t = (struct tcp_inbound *)watch;
	ssize_t got = t->left ? discard(t) : read_header(t);

	(void)events;
	if (got > 0) {
		inbound_received((uint64_t)got);
		return;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	inbound_closed(&t->in, got < 0 ? errno : 0);
	free(t);
}

struct inbound *inbound_new(void)
{
	struct tcp_inbound *t = calloc(1, sizeof(*t));

	if (t)
		t->in.watch.ready = inbound_ready;
	return &t->in;
}
