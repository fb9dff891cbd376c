// SPDX-License-Identifier: GPL-2.0
/* A message of a flow of mlcc-burst that has a header, whatever it goes over. */
#include "burst.h"

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
		flow_write(flow);
}

/* More of the message may be sent. */
void flow_allow(struct flow *flow, uint64_t allowed)
{
	if (allowed <= flow->allowed)
		return;
	flow->allowed = allowed;
	if (flow->connected)
		flow_write(flow);
}
