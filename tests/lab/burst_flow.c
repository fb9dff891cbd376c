// SPDX-License-Identifier: GPL-2.0
/* One sending connection of mlcc-burst over TCP: a message at a time, then its acknowledgement. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "burst.h"

#define WRITE_SIZE	(256 * 1024)

const size_t transport_size = 1;	/* nothing */

static const char zeros[WRITE_SIZE];

__attribute__((noreturn))
static void flow_failed(const struct flow *flow, int error)
{
	die(EXIT_SYSTEM, "flow %u: %s", flow->index,
	    error ? strerror(error) : "the receiver closed the connection");
}

static size_t fill(const struct flow *flow, struct iovec *iov)
{
	uint64_t sent = flow->sent, left = flow_left(flow);
	size_t n = 0;

	if (sent < sizeof(flow->header)) {
		iov[n].iov_base = (char *)&flow->header + sent;
		iov[n].iov_len = sizeof(flow->header) - sent;
		left -= iov[n++].iov_len;
	}
	iov[n].iov_base = (void *)zeros;
	iov[n].iov_len = left < WRITE_SIZE ? (size_t)left : WRITE_SIZE;
	return n + 1;
}

/*
 * A short write means that the buffer is full: wait for the next edge, which
 * comes when a third of it is free. To insist would be to spin, as every
 * acknowledgement makes room for a few bytes.
 */
void transport_write(struct flow *flow)
{
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov };
	size_t want;
	ssize_t put;

	while (flow_left(flow)) {
		msg.msg_iovlen = fill(flow, iov);
		want = iov[0].iov_len;
		if (msg.msg_iovlen > 1)
			want += iov[1].iov_len;
		put = sendmsg(flow->watch.fd, &msg,
			      MSG_NOSIGNAL | MSG_DONTWAIT);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0 && errno != EAGAIN)
			flow_failed(flow, errno);
		if (put > 0)
			flow->sent += (uint64_t)put;
		if (put < (ssize_t)want)
			return;
	}
}

static void flow_read(struct flow *flow)
{
	char ack;
	ssize_t got = recv(flow->watch.fd, &ack, 1, MSG_DONTWAIT);

	if (got == 1)
		flow->done_ns = now_ns();
	else if (!got)
		flow_failed(flow, 0);
	else if (errno != EAGAIN && errno != EINTR)
		flow_failed(flow, errno);
}

/*
 * A refused connection is the caller's to retry, whatever else its socket tells meanwhile (that it
 * hung up, without the error that has been read); other errors are final.
 */
static bool flow_connected(struct flow *flow)
{
	if (!flow->connected && !flow->refused)
		flow->connected = !flow_refused(flow);
	return flow->connected;
}

void transport_ready(struct watch *watch, uint32_t events)
{
	struct flow *flow = (struct flow *)watch;

	if (!flow_connected(flow))
		return;
	if (events & EPOLLOUT)
		transport_write(flow);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		flow_read(flow);
}

void transport_open(struct flow *flow)
{
	(void)flow;
}

void transport_close(struct flow *flow)
{
	(void)flow;
}
