// SPDX-License-Identifier: GPL-2.0
/* The jobs' loops: jobs.h says what each does. */
#include "jobs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace sim {

/*** Plans ***/

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

/*
 * Host i begins with the one after it, so that not all send to the same one.  The second round goes
 * the ways of the first.
 */
static Plan shards(unsigned n, double bytes)
{
	std::vector<std::vector<unsigned>> to(n);
	Plan plan = { {}, n };

	for (unsigned i = 0; i < n; i++) {
		for (unsigned away = 1; away < n; away++) {
			to[(i + away) % n].push_back(plan.transfers.size());
			plan.transfers.push_back({ i, (i + away) % n, bytes / n, {} });
		}
	}
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

/*** What hosts do by them ***/

static Ps ps(double seconds)
{
	return std::llround(seconds * PS_PER_S);
}

void Job::iterated()
{
	Ps now = Clock::now(), began = iterations_s.empty() ? ps(param.start_s) : m_began;

	m_began = now;
	if (over())
		return;
	iterations_s.push_back((now - began) / PS_PER_S);
	communication_s.push_back((now - m_sends) / PS_PER_S);
	if (over())
		on_over();
}

/* A host of a job: computes a step, then calls its owner. */
class Worker {
public:
	Worker(const JobParam &param, unsigned index, std::function<void()> computed)
		: m_param(param), m_computed(std::move(computed)), m_event(this)
	{
		m_normal = ns3::CreateObject<ns3::NormalRandomVariable>();
		m_normal->SetStream(param.stream + index);
		compute(0, ps(param.start_s));
	}

	/* The first step begins an iteration; what makes that slow makes all of it slow. */
	void compute(unsigned step, Ps from)
	{
		busy = true;
		if (!step)
			m_factor = factor();
		m_event.at(from + ps(m_param.steps[step].compute_s * m_factor));
	}

	bool busy;

private:
	/* Where the deviation is large, only a lognormal distribution still has the mean 1. */
	double factor()
	{
		double variance = std::log1p(m_param.lognormal * m_param.lognormal);

		if (variance)
			return std::exp(std::sqrt(variance) * m_normal->GetValue() - variance / 2);
		return m_param.noise ? std::max(0., 1 + m_param.noise * m_normal->GetValue()) : 1;
	}

	void computed()
	{
		busy = false;
		m_computed();
	}

	const JobParam &m_param;
	std::function<void()> m_computed;
	ns3::Ptr<ns3::NormalRandomVariable> m_normal;
	double m_factor;
	Event<Worker, &Worker::computed> m_event;
};

/* A job that does by a plan what it does. */
class Planned : public Job {
public:
	Planned(const JobParam &p, Fabric &fabric, const Plan &plan) : Job(p)
	{
		unsigned nodes = param.hosts.size() / param.rails;

		for (unsigned i = 0; i < nodes; i++)
			m_members.push_back(std::make_unique<Member>());
		for (unsigned i = 0; i < param.hosts.size(); i++)
			m_members[i / param.rails]->hosts.push_back(fabric.host(this));
		for (unsigned rail = 0; rail < param.rails; rail++)
			add_lanes(plan, rail);
		for (const auto &lane : m_lanes)
			open(*lane, fabric);
		for (unsigned i = 0; i < nodes; i++)
			start(*m_members[i], i, i != plan.idle);
	}

	uint64_t delivered() const override
	{
		uint64_t sum = 0;

		for (const auto &lane : m_lanes)
			sum += lane->channel->delivered();
		return sum;
	}

private:
	struct Lane;

	struct Message {
		double bytes;
		unsigned step;					/* of the iteration */
		std::vector<std::pair<Lane *, unsigned>> after;	/* and which message of it */
	};

	/* What goes from one member to another. */
	struct Lane {
		unsigned from, to, rail;
		Channel *channel;
		std::vector<Message> messages;		/* of an iteration */
		uint64_t sent = 0, received = 0;	/* messages, ever */
	};

	struct Member {
		std::vector<Host *> hosts;		/* one on each rail */
		std::unique_ptr<Worker> worker;
		std::vector<Lane *> out, in;
		uint64_t computed = 0;			/* steps, ever */
		uint64_t begun = 0, finished = 0;	/* iterations */
	};

	void add_lanes(const Plan &plan, unsigned rail)
	{
		std::map<std::pair<unsigned, unsigned>, Lane *> known;
		std::vector<std::pair<Lane *, unsigned>> where;	/* is each transfer */

		for (const Transfer &t : plan.transfers) {
			Lane *&lane = known[{ t.from, t.to }];

			if (!lane) {
				m_lanes.push_back(std::make_unique<Lane>());
				lane = m_lanes.back().get();
				lane->from = t.from;
				lane->to = t.to;
				lane->rail = rail;
			}
			where.emplace_back(lane, lane->messages.size());
			lane->messages.push_back({ t.bytes, t.step, {} });
		}
		/* a transfer may come after one that stands behind it */
		for (unsigned i = 0; i < where.size(); i++)
			for (unsigned earlier : plan.transfers[i].after)
				where[i].first->messages[where[i].second].after.push_back(
					where[earlier]);
	}

	unsigned nic(unsigned member, const Lane &lane) const
	{
		return param.hosts[member * param.rails + lane.rail];
	}

	void open(Lane &lane, Fabric &fabric)
	{
		Member &from = *m_members[lane.from], &to = *m_members[lane.to];
		bool none = param.kind == "endless";

		from.out.push_back(&lane);
		to.in.push_back(&lane);
		lane.channel = fabric.connect(nic(lane.from, lane), nic(lane.to, lane),
					      none ? nullptr : from.hosts[lane.rail],
					      none ? nullptr : to.hosts[lane.rail]);
		lane.channel->on_message = [this, &lane, &from, &to] {
			lane.received++;
			send(to);
			go_on(to);
			go_on(from);
		};
	}

	void start(Member &m, unsigned index, bool computes)
	{
		if (!computes) {
			m.computed = UINT64_MAX;
			return;
		}
		m.worker = std::make_unique<Worker>(param, index, [this, &m] {
			m.computed++;
			send(m);
			go_on(m);
		});
	}

	/* Which step, ever, a lane's n-th message is of. */
	uint64_t step(const Lane &lane, uint64_t n) const
	{
		return n / lane.messages.size() * param.steps.size() +
		       lane.messages[n % lane.messages.size()].step;
	}

	/* Whether the next message of a lane may be sent. */
	bool ready(const Lane &lane, const Member &from) const
	{
		uint64_t iteration = lane.sent / lane.messages.size();
		const auto &after = lane.messages[lane.sent % lane.messages.size()].after;

		if (from.computed <= step(lane, lane.sent) || from.finished < iteration)
			return false;
		return std::all_of(after.begin(), after.end(), [&](const auto &earlier) {
			const auto &[other, index] = earlier;

			return other->received > iteration * other->messages.size() + index;
		});
	}

	void send(Member &m)
	{
		for (Lane *lane : m.out) {
			while (ready(*lane, m)) {
				const auto &messages = lane->messages;
				double bytes = messages[lane->sent++ % messages.size()].bytes;

				if (m.begun == m.finished) {
					m.begun++;
					m_sends = Clock::now();
				}
				lane->channel->send(bytes);
			}
		}
	}

	/* Whether all is there that so many steps, ever, send and receive. */
	bool done(const Member &m, uint64_t steps) const
	{
		auto there = [&](const Lane *lane) { return step(*lane, lane->received) >= steps; };

		return std::all_of(m.in.begin(), m.in.end(), there) &&
		       std::all_of(m.out.begin(), m.out.end(), there);
	}

	/* To the next step, when this one lets it. */
	void go_on(Member &m)
	{
		uint64_t steps = param.steps.size(), next = m.computed % steps;

		if (m.worker && m.worker->busy)
			return;
		if (!m.worker || !next)
			finish(m);
		else if (param.steps[next - 1].overlaps || done(m, m.computed))
			m.worker->compute(next, Clock::now());
	}

	void finish(Member &m)
	{
		if (!done(m, (m.finished + 1) * param.steps.size()))
			return;
		m.finished++;
		if (m.worker && !(param.leaves && m.finished >= param.iterations))
			m.worker->compute(0, Clock::now());
		if (std::all_of(m_members.begin(), m_members.end(), [&](const auto &other) {
			    return other->finished >= m.finished;
		    }))
			iterated();
		send(m);
	}

	std::vector<std::unique_ptr<Member>> m_members;
	std::vector<std::unique_ptr<Lane>> m_lanes;
};

class Background : public Job {
public:
	Background(const JobParam &p, Fabric &fabric)
		: Job(p), m_fabric(fabric), m_next(this)
	{
		m_random = ns3::CreateObject<ns3::UniformRandomVariable>();
		m_random->SetStream(param.stream);
		if (param.per_s > 0)
			wait(param.start_s);
	}

	uint64_t delivered() const override { return m_delivered; }

private:
	void wait(double from_s)
	{
		m_next.at(ps(from_s - std::log(m_random->GetValue()) / param.per_s));
	}

	/* By the straight line between two lines of the table. */
	double size()
	{
		double part = m_random->GetValue();
		const auto &s = param.sizes;
		size_t i = 2;

		while (i + 2 < s.size() && s[i + 1] < part)
			i += 2;
		part = (part - s[i - 1]) / (s[i + 1] - s[i - 1]);
		return s[i - 2] + std::max(0., part) * (s[i] - s[i - 2]);
	}

	double alone_s(unsigned from, unsigned to, uint64_t bytes)
	{
		const Routes &routes = m_fabric.router.to(to);

		return 8 * bytes / routes.bps[from] + 2 * routes.hops[from] * param.delay_s;
	}

	void begin()
	{
		unsigned n = param.hosts.size(), from = m_random->GetInteger(0, param.senders - 1);
		unsigned to = param.senders < n ? m_random->GetInteger(param.senders, n - 1) :
						  (from + m_random->GetInteger(1, n - 1)) % n;
		uint64_t bytes = std::max(1., size());
		Channel &c = *m_fabric.connect(param.hosts[from], param.hosts[to], nullptr,
					       nullptr);
		size_t index = flows.size();

		flows.push_back({ Clock::now(), -1, bytes,
				  alone_s(param.hosts[from], param.hosts[to], bytes) });
		c.on_message = [this, index] {
			m_delivered += flows[index].bytes;
			flows[index].took = Clock::now() - flows[index].began;
		};
		c.send(bytes);
		wait(flows[index].began / PS_PER_S);
	}

	Fabric &m_fabric;
	ns3::Ptr<ns3::UniformRandomVariable> m_random;
	uint64_t m_delivered = 0;
	Event<Background, &Background::begin> m_next;
};

static Plan plan_of(const JobParam &param)
{
	static const std::map<std::string, Plan (*)(unsigned, double)> plans = {
		{ "pair", pair },     { "endless", endless },
		{ "ring", ring },     { "shards", shards },
		{ "parameter-server", parameter_server },
	};
	Plan plan = plans.at(param.kind)(param.hosts.size() / param.rails,
					 param.steps[0].bytes / param.rails);

	if (param.steps.size() == 1)
		return plan;
	/* a pair's */
	plan.transfers.clear();
	for (unsigned i = 0; i < param.steps.size(); i++)
		if (param.steps[i].bytes)
			plan.transfers.push_back({ 0, 1, param.steps[i].bytes, {}, i });
	return plan;
}

std::unique_ptr<Job> make_job(const JobParam &param, Fabric &fabric)
{
	if (param.kind == "background")
		return std::make_unique<Background>(param, fabric);
	return std::make_unique<Planned>(param, fabric, plan_of(param));
}

} /* namespace sim */
