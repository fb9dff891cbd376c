// SPDX-License-Identifier: GPL-2.0
/* What a job's hosts send each other in an iteration: jobs.h says which kinds there are. */
#ifndef MLCC_SIM_PLANS_H
#define MLCC_SIM_PLANS_H

#include <string>
#include <vector>

namespace sim {

struct Transfer {
	unsigned from, to;		/* hosts, as numbers within the job */
	double bytes;
	std::vector<unsigned> after;	/* transfers that "from" has to have received */
	unsigned step = 0;		/* that "from" has to have computed */
};

/* Transfers between the same hosts are in the order in which they are sent. */
struct Plan {
	std::vector<Transfer> transfers;
	unsigned idle = 0;		/* a host that computes nothing; n: all compute */
};

/* Of @n hosts, with one step of computing. */
Plan plan_of_kind(const std::string &kind, unsigned n, double bytes);

} /* namespace sim */

#endif /* MLCC_SIM_PLANS_H */
