// SPDX-License-Identifier: GPL-2.0
/* Ordinary traffic beside the jobs: a long transfer, or requests. */
#include <stdlib.h>

#include "burst.h"

void bulk_run(const struct options *opt)
{
	int64_t start = start_ns(opt);
	uint64_t sent = 0;
	uint32_t i, n;
	struct flow *flows = flows_open(opt, &n);

	loop_until(start);
	for (i = 0; i < n && !loop_stopped(); i++)
		flow_send(&flows[i], BURST_ENDLESS, UINT64_MAX);
	loop_until(INT64_MAX);
	for (i = 0; i < n; i++)
		sent += flows[i].sent;
	flows_totals(opt, flows, n, sent);
	free(flows);
}

/*
 * A request is a connection of its own, as short flows mostly are.  It is late by what the one
 * before took beyond the time at which it is due, @due.
 */
static uint32_t request(const struct options *opt, uint32_t number, int64_t due, uint64_t bytes)
{
	int64_t deadline = now_ns() + ms_to_ns(opt->timeout_s * 1e3);
	uint32_t retransmits;
	struct flow flow;

	flow_open(&flow, opt, number);
	flow_send(&flow, bytes, UINT64_MAX);
	while (!flow.done_ns && !flow.refused && !loop_stopped())
		if (!loop_step(deadline) && !loop_stopped() && !flow.done_ns)
			flow_stuck(&flow, opt);
	retransmits = socket_retransmits(flow.watch.fd);
	flow_close(&flow);
	if (flow.refused)
		die(EXIT_SYSTEM, "request %u: connection refused", number);
	if (flow.done_ns)
		printf("{\"job\":\"%s\",\"request\":%u,\"start_ns\":%lld,"
		       "\"completion_ms\":%.3f,\"bytes\":%llu}\n",
		       opt->job, number, (long long)due, (double)(flow.done_ns - due) / 1e6,
		       (unsigned long long)bytes);
	return retransmits;
}

/* Listed ones are due when they are due, also late; else a slow one swallows ticks. */
static int64_t next_due(const struct options *opt, uint32_t number, int64_t due)
{
	if (opt->n_requests)
		return due + ms_to_ns(opt->requests[number % opt->n_requests].gap_ms);
	do
		due += ms_to_ns(opt->every_ms);
	while (due <= now_ns());
	return due;
}

void short_run(const struct options *opt)
{
	const bool listed = opt->n_requests > 0;
	int64_t due = start_ns(opt);
	uint64_t retransmits = 0, bytes = 0;
	uint32_t number = 0;

	if (listed)
		due = next_due(opt, 0, due);
	loop_until(due);
	while (!loop_stopped()) {
		uint64_t size = listed ? opt->requests[number % opt->n_requests].bytes : opt->bytes;

		retransmits += request(opt, number++, listed ? due : now_ns(), size);
		bytes += size;
		due = next_due(opt, number, due);
		loop_until(due);
	}
	report_totals(opt, bytes, retransmits);
}
