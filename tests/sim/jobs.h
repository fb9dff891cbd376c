// SPDX-License-Identifier: GPL-2.0
/*
 * Training jobs: each host computes, then communicates, and again.  What a job of n hosts sends in
 * an iteration is a plan: transfers, each of which its sender begins once it has computed and has
 * received certain others.
 *
 *	pair		the first host, which alone computes, sends "bytes" to the second
 *	ring		all-reduce of "bytes": 2 (n - 1) steps, in each of which a host sends
 *			bytes / n to the next one; it sends a step when it has received the one
 *			before (Patarasuk and Yuan, 2009)
 *	shards		all-reduce of "bytes": each host sends bytes / n to each other one, all at
 *			once, so that one has everybody's part of each shard; when it has them all
 *			it sends the sum to everybody
 *	parameter-server  all send "bytes" to the first host, which computes nothing; it sends as
 *			much back to each when it has them all
 *	endless		the first host sends to the second for ever, as a flow of no job
 *	background	no job at all: flows between two hosts at random, each with a connection
 *			of its own, that have sizes of a distribution and come as a Poisson process.
 *			It has no iterations, but the times that its flows took, beside what each
 *			would have taken alone.
 *
 * Where hosts are the NICs of nodes ("rails" of each), n is the number of nodes, and the plan is
 * done on all rails at once, with bytes / rails on each: within a node nothing takes time.
 *
 * A pair's iteration may come in steps, as a model's layers do it: it computes a part and sends a
 * part of the bytes, behind those of the step before.  Then it waits until they are there; or,
 * where the step overlaps, it computes on.
 *
 * A host has finished when all has come that it receives, and all that it has sent; it computes at
 * once.  The job's iteration ends with its last host.
 *
 * An iteration's computations take 1 + noise N(0, 1) times as long as said, or, where "lognormal"
 * is not 0, a factor with that deviation and the mean 1.  It is drawn for each host and iteration
 * from a stream of its own, so the same seed makes the same noise under each congestion control.
 */
#ifndef MLCC_SIM_JOBS_H
#define MLCC_SIM_JOBS_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ns3/random-variable-stream.h>

#include "clock.h"
#include "fabric.h"

namespace sim {

struct JobStep {
	double compute_s, bytes;
	bool overlaps;			/* the next step computes meanwhile */
};

/* One of its flows; what is not over yet has taken the time until now. */
struct FlowTime {
	Ps began, took;			/* took < 0: not over */
	uint64_t bytes;
	double alone_s;			/* its bytes at the slowest link's rate, and a round trip */
};

struct JobParam {
	std::string name, kind;
	std::vector<unsigned> hosts;
	std::vector<JobStep> steps;	/* of an iteration */
	double noise, lognormal, start_s;
	unsigned iterations, rails;
	unsigned flows;			/* of a connection, under TCP */
	uint32_t timer_ns;		/* T of its flows, under RDMA; 0: the network's */
	bool leaves;			/* when it has done its iterations */
	int64_t stream;			/* of random numbers, and some after it */

	/* of background */
	double per_s;			/* flows that come, 0: none */
	unsigned senders;		/* of the hosts, to the others; all: to each other */
	double delay_s;			/* of a link */
	std::vector<double> sizes;	/* bytes, and which part is no larger; in turn */
};

class Job {
public:
	explicit Job(const JobParam &p) : param(p) {}
	virtual ~Job() = default;

	virtual uint64_t delivered() const = 0;		/* bytes */

	bool over() const { return iterations_s.size() >= param.iterations; }

	const JobParam param;
	std::vector<double> iterations_s;
	std::vector<double> communication_s;	/* of each, since its last host began to send */
	std::vector<FlowTime> flows;	/* of background */

	/* Called when the job has done its iterations; it may go on, for the others' sake. */
	std::function<void()> on_over;

protected:
	void iterated();		/* another iteration is over now */

	Ps m_sends = 0;			/* since when the last host that began to does */

private:
	Ps m_began = 0;
};

std::unique_ptr<Job> make_job(const JobParam &param, Fabric &fabric);

} /* namespace sim */

#endif /* MLCC_SIM_JOBS_H */
