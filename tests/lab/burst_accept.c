// SPDX-License-Identifier: GPL-2.0
/* The connections that others open to mlcc-burst, whatever their messages come over. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burst.h"

static LIST_HEAD(, inbound) connections = LIST_HEAD_INITIALIZER(connections);
static const struct options *options;
static uint64_t received;

uint64_t inbound_bytes(void)
{
	return received;
}

void inbound_received(uint64_t bytes)
{
	received += bytes;
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

/* A worker that others send to cannot go on without one of them.  @error: errno, 0 if it closed. */
void inbound_closed(struct inbound *in, int error)
{
	if (options->inbound && !loop_stopped())
		die(EXIT_SYSTEM, "job %s: another worker's flow: %s", options->job,
		    error ? strerror(error) : "it was closed");
	LIST_REMOVE(in, link);
	close(in->watch.fd);
}

static void accept_ready(struct watch *watch, uint32_t events)
{
	struct inbound *in;
	int fd;

	(void)events;
	fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	in = inbound_new();
	if (!in)
		die(EXIT_SYSTEM, "out of memory");
	in->watch.fd = fd;
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
