// SPDX-License-Identifier: GPL-2.0
/*
 * One sending connection of mlcc-burst: a message at a time, then its
 * acknowledgement. Edge-triggered: a flow writes until the kernel is full and
 * is called again when there is room, with no epoll_ctl in between.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "burst.h"

#define WRITE_SIZE	(256 * 1024)

static const char zeros[WRITE_SIZE];

__attribute__((noreturn))
static void flow_failed(const struct flow *flow, int error)
{
	die(EXIT_SYSTEM, "flow %u: %s", flow->index,
	    error ? strerror(error) : "the receiver closed the connection");
}

static uint64_t limit(const struct flow *flow)
{
	return flow->allowed < flow->length ? flow->allowed : flow->length;
}

static size_t fill(const struct flow *flow, struct iovec *iov)
{
	uint64_t sent = flow->sent, left = limit(flow) - sent;
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
void flow_write(struct flow *flow)
{
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov };
	size_t want;
	ssize_t put;

	while (flow->sent < limit(flow)) {
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

static void flow_ready(struct watch *watch, uint32_t events)
{
	struct flow *flow = (struct flow *)watch;

	if (!flow_connected(flow))
		return;
	if (events & EPOLLOUT)
		flow_write(flow);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		flow_read(flow);
}

void flow_open(struct flow *flow, const struct options *opt, uint32_t index)
{
	memset(flow, 0, sizeof(*flow));
	flow->index = index;
	flow->watch.ready = flow_ready;
	flow->watch.fd = socket_connect(opt, index);
	loop_add(&flow->watch, EPOLLIN | EPOLLOUT | EPOLLET);
}

void flow_close(struct flow *flow)
{
	close(flow->watch.fd);
	flow->watch.fd = -1;
}
