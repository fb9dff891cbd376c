// SPDX-License-Identifier: GPL-2.0
/* Ordinary traffic beside the jobs: a long transfer, or requests. */
#include <stdlib.h>

#include "burst.h"

static int64_t traffic_start(const struct options *opt)
{
	int64_t start = opt->at_ns ? opt->at_ns : now_ns();

	return start + ms_to_ns(opt->start_ms);
}

static int64_t traffic_end(const struct options *opt, int64_t start)
{
	return opt->seconds > 0.0 ? start + ms_to_ns(opt->seconds * 1e3) :
				    INT64_MAX;
}

void bulk_run(const struct options *opt)
{
	uint32_t i, n = opt->n_peers * opt->flows;
	struct flow *flows = calloc(n, sizeof(*flows));
	uint64_t sent = 0, retransmits = 0;
	int64_t start = traffic_start(opt);

	if (!flows)
		die(EXIT_SYSTEM, "out of memory");
	for (i = 0; i < n; i++)
		flow_open_retry(&flows[i], opt, i);
	loop_until(start);
	start = now_ns();
	for (i = 0; i < n && !loop_stopped(); i++)
		flow_send(&flows[i], BURST_ENDLESS, UINT64_MAX);
	loop_until(traffic_end(opt, start));
	for (i = 0; i < n; i++) {
		sent += flows[i].sent;
		retransmits += socket_retransmits(flows[i].watch.fd);
	}
	printf("{\"job\":\"%s\",\"totals\":true,\"seconds\":%.3f,"
	       "\"bytes\":%llu,\"flows\":%u,\"retransmits\":%llu}\n",
	       opt->job, (double)(now_ns() - start) / 1e9,
	       (unsigned long long)sent, n, (unsigned long long)retransmits);
	free(flows);
}

static void request_done(const struct options *opt, uint32_t number, int64_t due, uint64_t bytes,
			 int64_t done)
{
	printf("{\"job\":\"%s\",\"request\":%u,\"start_ns\":%lld,"
	       "\"completion_ms\":%.3f,\"bytes\":%llu}\n",
	       opt->job, number, (long long)due, (double)(done - due) / 1e6,
	       (unsigned long long)bytes);
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
		request_done(opt, number, due, bytes, flow.done_ns);
	return retransmits;
}

static void short_totals(const struct options *opt, uint32_t requests, uint64_t bytes,
			 uint64_t retransmits)
{
	printf("{\"job\":\"%s\",\"totals\":true,\"requests\":%u,"
	       "\"bytes\":%llu,\"retransmits\":%llu}\n", opt->job, requests,
	       (unsigned long long)bytes, (unsigned long long)retransmits);
}

/* Requests that are due when they are due: a slow one makes those after it late. */
static void listed_run(const struct options *opt)
{
	int64_t due = traffic_start(opt), end = traffic_end(opt, due);
	uint64_t retransmits = 0, bytes = 0;
	uint32_t number = 0;

	while (!loop_stopped()) {
		const struct request *next = &opt->requests[number % opt->n_requests];

		due += ms_to_ns(next->gap_ms);
		if (due >= end)
			break;
		loop_until(due);
		if (loop_stopped())
			break;
		retransmits += request(opt, number++, due, next->bytes);
		bytes += next->bytes;
	}
	if (!loop_stopped())
		loop_until(end);
	short_totals(opt, number, bytes, retransmits);
}

void short_run(const struct options *opt)
{
	int64_t period = ms_to_ns(opt->every_ms);
	int64_t next = traffic_start(opt);
	int64_t end = traffic_end(opt, next);
	uint64_t retransmits = 0;
	uint32_t number = 0;

	if (opt->n_requests) {
		listed_run(opt);
		return;
	}
	loop_until(next);
	while (!loop_stopped() && now_ns() < end) {
		retransmits += request(opt, number++, now_ns(), opt->bytes);
		/* A slow request swallows the ticks that it overlaps. */
		do
			next += period;
		while (next <= now_ns());
		loop_until(next < end ? next : end);
	}
	short_totals(opt, number, number * opt->bytes, retransmits);
}
