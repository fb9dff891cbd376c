// SPDX-License-Identifier: GPL-2.0
/*
 * Training jobs: each host computes, then communicates, and again.
 *
 *	pair	the first host sends "bytes" to the second; the iteration ends when all have come
 *	ring	all-reduce of "bytes" over n hosts: 2 (n - 1) steps, in each of which a host sends
 *		bytes / n to the next one; it sends a step when it has received the one before
 *		(Patarasuk and Yuan, 2009).  A host that is done computes at once; the job's
 *		iteration ends with its last host.
 *	endless	the first host sends to the second for ever
 *
 * A computation takes compute (1 + noise N(0, 1)), drawn for each host and iteration from a stream
 * of its own, so the same seed makes the same noise under each congestion control.
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

struct JobParam {
	std::string name, kind;
	std::vector<unsigned> hosts;
	double bytes, compute_s, noise, start_s;
	unsigned iterations;
	int64_t stream;			/* of random numbers, and some after it */
};

class Job {
public:
	explicit Job(const JobParam &p) : param(p) {}
	virtual ~Job() = default;

	virtual uint64_t delivered() const = 0;		/* bytes */

	bool over() const { return iterations_s.size() >= param.iterations; }

	const JobParam param;
	std::vector<double> iterations_s;

	/* Called when the job has done its iterations; it goes on, for the others' sake. */
	std::function<void()> on_over;

protected:
	void iterated();		/* another iteration is over now */

private:
	Ps m_began = 0;
};

std::unique_ptr<Job> make_job(const JobParam &param, Fabric &fabric);

} /* namespace sim */

#endif /* MLCC_SIM_JOBS_H */
