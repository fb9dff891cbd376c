// SPDX-License-Identifier: GPL-2.0
/* How a flow of mlcc-burst comes to stand, whatever its messages go over. */
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
