// SPDX-License-Identifier: GPL-2.0
/* A flow of mlcc-burst, whatever its messages go over: how it comes to stand, what it is to send. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burst.h"

#define RETRY_NS	20000000LL

/* Edge-triggered: called again when there is room, with no epoll_ctl in between. */
void flow_open(struct flow *flow, const struct options *opt, uint32_t index)
{
	memset(flow, 0, sizeof(*flow));
	flow->index = index;
	flow->transport = calloc(1, transport_size);
	if (!flow->transport)
		die(EXIT_SYSTEM, "out of memory");
	transport_open(flow);
	flow->watch.ready = transport_ready;
	flow->watch.fd = socket_connect(opt, index);
	loop_add(&flow->watch, EPOLLIN | EPOLLOUT | EPOLLET);
}

void flow_close(struct flow *flow)
{
	transport_close(flow);
	free(flow->transport);
	close(flow->watch.fd);
	flow->watch.fd = -1;
}

/* Waits until the connection stands; the receiver may still be starting. */
static void flow_open_retry(struct flow *flow, const struct options *opt, uint32_t index)
{
	int64_t deadline = now_ns() + ms_to_ns(opt->timeout_s * 1e3);

	flow_open(flow, opt, index);
	while (!flow->connected && !loop_stopped()) {
		if (!loop_step(deadline) && !loop_stopped())
			flow_stuck(flow, opt);
		if (!flow->refused)
			continue;
		loop_until(now_ns() + RETRY_NS);
		flow_close(flow);
		flow_open(flow, opt, index);
	}
}

/* All flows to all peers. */
struct flow *flows_open(const struct options *opt, uint32_t *n)
{
	struct flow *flows;
	uint32_t i;

	*n = opt->n_peers * opt->flows;
	flows = calloc(*n, sizeof(*flows));
	if (!flows)
		die(EXIT_SYSTEM, "out of memory");
	for (i = 0; i < *n; i++)
		flow_open_retry(&flows[i], opt, i);
	return flows;
}

void flows_totals(const struct options *opt, const struct flow *flows, uint32_t n, uint64_t bytes)
{
	uint64_t retransmits = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		retransmits += socket_retransmits(flows[i].watch.fd);
	report_totals(opt, bytes, retransmits);
}

/* Whether nobody listens there yet; other errors are final. */
bool flow_refused(struct flow *flow)
{
	socklen_t size = sizeof(int);
	int error = 0;

	getsockopt(flow->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size);
	flow->refused = error == ECONNREFUSED;
	if (error && !flow->refused)
		die(EXIT_SYSTEM, "flow %u: %s", flow->index, strerror(error));
	return flow->refused;
}

/* What may be handed over now. */
uint64_t flow_left(const struct flow *flow)
{
	return (flow->allowed < flow->length ? flow->allowed : flow->length) - flow->sent;
}

/* @allowed: of it, that may be sent by now; at least the header. */
void flow_send(struct flow *flow, uint64_t length, uint64_t allowed)
{
	flow->header.magic = BURST_MAGIC;
	flow->header.length = length;
	flow->length = length;
	flow->allowed = allowed;
	flow->sent = 0;
	flow->done_ns = 0;
	if (flow->connected)
		transport_write(flow);
}

/* More of the message may be sent. */
void flow_allow(struct flow *flow, uint64_t allowed)
{
	if (allowed <= flow->allowed)
		return;
	flow->allowed = allowed;
	if (flow->connected)
		transport_write(flow);
}

void flow_stuck(const struct flow *flow, const struct options *opt)
{
	die(EXIT_STUCK,
	    "job %s: flow %u stuck for %g s: %llu of %llu bytes handed over, %u retransmits",
	    opt->job, flow->index, opt->timeout_s,
	    (unsigned long long)flow->sent, (unsigned long long)flow->length,
	    socket_retransmits(flow->watch.fd));
}
