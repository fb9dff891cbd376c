// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving side of mlcc-burst: accept, discard, acknowledge.
 *
 * MSG_TRUNC discards without copying.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burst.h"

#define DISCARD		(4 * 1024 * 1024)

struct inbound {
	struct watch watch;
	LIST_ENTRY(inbound) link;
	struct header header;
	uint32_t header_got;
	uint64_t left;		/* of the message, after its header */
	uint64_t messages;	/* complete ones */
};

static LIST_HEAD(, inbound) connections = LIST_HEAD_INITIALIZER(connections);
static const struct options *options;
static uint64_t received;

uint64_t inbound_bytes(void)
{
	return received;
}

/* True when n connections have each delivered that many whole messages. */
bool inbound_reached(uint32_t n, uint64_t messages)
{
	struct inbound *in;
	uint32_t reached = 0;

	LIST_FOREACH(in, &connections, link)
		reached += in->messages >= messages;
	return reached >= n;
}

static void inbound_close(struct inbound *in)
{
	close(in->watch.fd);
	LIST_REMOVE(in, link);
	free(in);
}

static void message_done(struct inbound *in)
{
	static const char ack;

	in->messages++;
	in->header_got = 0;
	/* One byte always fits; if the peer has gone, the next read says so. */
	if (send(in->watch.fd, &ack, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		shutdown(in->watch.fd, SHUT_RDWR);
}

static ssize_t read_header(struct inbound *in)
{
	char *at = (char *)&in->header + in->header_got;
	ssize_t got = recv(in->watch.fd, at,
			   sizeof(in->header) - in->header_got, 0);

	if (got <= 0)
		return got;
	in->header_got += (uint32_t)got;
	if (in->header_got < sizeof(in->header))
		return got;
	if (in->header.magic != BURST_MAGIC ||
	    in->header.length <= sizeof(in->header))
		die(EXIT_SYSTEM, "a peer that is not mlcc-burst connected");
	in->left = in->header.length;
	if (in->left != BURST_ENDLESS)
		in->left -= sizeof(in->header);
	return got;
}

static ssize_t discard(struct inbound *in)
{
	size_t want = in->left < DISCARD ? (size_t)in->left : DISCARD;
	ssize_t got = recv(in->watch.fd, NULL, want, MSG_TRUNC);

	if (got <= 0)
		return got;
	if (in->left != BURST_ENDLESS)
		in->left -= (uint64_t)got;
	if (!in->left)
		message_done(in);
	return got;
}

static void inbound_ready(struct watch *watch, uint32_t events)
{
	struct inbound *in = (struct inbound *)watch;
	ssize_t got = in->left ? discard(in) : read_header(in);

	(void)events;
	if (got > 0) {
		received += (uint64_t)got;
		return;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (options->inbound && !loop_stopped())
		die(EXIT_SYSTEM, "job %s: another worker closed its flow",
		    options->job);
	inbound_close(in);
}

static void accept_ready(struct watch *watch, uint32_t events)
{
	struct inbound *in;
	int fd;

	(void)events;
	fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	in = calloc(1, sizeof(*in));
	if (!in)
		die(EXIT_SYSTEM, "out of memory");
	in->watch.fd = fd;
	in->watch.ready = inbound_ready;
	LIST_INSERT_HEAD(&connections, in, link);
	loop_add(&in->watch, EPOLLIN | EPOLLRDHUP);
}

void inbound_open(const struct options *opt)
{
	static struct watch listener = { .ready = accept_ready };

	options = opt;
	listener.fd = socket_listen(opt);
	loop_add(&listener, EPOLLIN);
}
