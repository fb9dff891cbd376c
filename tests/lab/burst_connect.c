// SPDX-License-Identifier: GPL-2.0
/* How a flow of mlcc-burst comes to stand, or does not, whatever its messages go over. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "burst.h"

#define RETRY_NS	20000000LL

/* Waits until the connection stands; the receiver may still be starting. */
void flow_open_retry(struct flow *flow, const struct options *opt, uint32_t index)
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

void flow_stuck(const struct flow *flow, const struct options *opt)
{
	die(EXIT_STUCK,
	    "job %s: flow %u stuck for %g s: %llu of %llu bytes handed over, %u retransmits",
	    opt->job, flow->index, opt->timeout_s,
	    (unsigned long long)flow->sent, (unsigned long long)flow->length,
	    socket_retransmits(flow->watch.fd));
}
