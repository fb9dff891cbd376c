// SPDX-License-Identifier: GPL-2.0
/* The plans of jobs. */
#include "plans.h"

#include <map>

namespace sim {

constexpr double FOR_EVER = 1ull << 60;		/* bytes */

static Plan pair(unsigned, double bytes)
{
	return { { { 0, 1, bytes, {} } }, 1 };
}

static Plan endless(unsigned, double)
{
	return pair(2, FOR_EVER);
}

/* Step by step, so what a host sends comes after what the host before it has sent a step ago. */
static Plan ring(unsigned n, double bytes)
{
	Plan plan = { {}, n };

	for (unsigned i = 0; i < 2 * (n - 1) * n; i++) {
		unsigned host = i % n, before = i / n * n - n + (host + n - 1) % n;

		plan.transfers.push_back({ host, (host + 1) % n, bytes / n, {} });
		if (i >= n)
			plan.transfers.back().after = { before };
	}
	return plan;
}

/* Host i begins with the one after it, so that not all send to the same one. */
static Plan all_to_all(unsigned n, double bytes)
{
	Plan plan = { {}, n };

	for (unsigned i = 0; i < n; i++)
		for (unsigned away = 1; away < n; away++)
			plan.transfers.push_back({ i, (i + away) % n, bytes / n, {} });
	return plan;
}

/* The second round goes the ways of the first. */
static Plan shards(unsigned n, double bytes)
{
	Plan plan = all_to_all(n, bytes);
	std::vector<std::vector<unsigned>> to(n);

	for (unsigned i = 0; i < n * (n - 1); i++)
		to[plan.transfers[i].to].push_back(i);
	for (unsigned i = 0; i < n * (n - 1); i++) {
		plan.transfers.push_back(plan.transfers[i]);
		plan.transfers.back().after = to[plan.transfers[i].from];
	}
	return plan;
}

static Plan parameter_server(unsigned n, double bytes)
{
	Plan plan = { {}, 0 };
	std::vector<unsigned> all;

	for (unsigned i = 1; i < n; i++) {
		plan.transfers.push_back({ i, 0, bytes, {} });
		all.push_back(i - 1);
	}
	for (unsigned i = 1; i < n; i++)
		plan.transfers.push_back({ 0, i, bytes, all });
	return plan;
}

Plan plan_of_kind(const std::string &kind, unsigned n, double bytes)
{
	static const std::map<std::string, Plan (*)(unsigned, double)> plans = {
		{ "pair", pair },	  { "ring", ring },
		{ "all-to-all", all_to_all }, { "shards", shards },
		{ "endless", endless },	  { "parameter-server", parameter_server },
	};

	return plans.at(kind)(n, bytes);
}

} /* namespace sim */
