// SPDX-License-Identifier: GPL-2.0
/* The jobs' loops: jobs.h says what each does. */
#include "jobs.h"

#include <algorithm>
#include <cmath>

namespace sim {

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
	if (over())
		on_over();
}

/* A host of a job: computes, then calls its owner. */
class Worker {
public:
	Worker(const JobParam &param, unsigned index, std::function<void()> computed)
		: m_param(param), m_computed(std::move(computed)), m_event(this)
	{
		m_normal = ns3::CreateObject<ns3::NormalRandomVariable>();
		m_normal->SetStream(param.stream + index);
		compute(ps(param.start_s));
	}

	void compute(Ps from)
	{
		double takes = m_param.compute_s;

		if (m_param.noise)
			takes *= std::max(0., 1 + m_param.noise * m_normal->GetValue());
		m_event.at(from + ps(takes));
	}

private:
	void computed() { m_computed(); }

	const JobParam &m_param;
	std::function<void()> m_computed;
	ns3::Ptr<ns3::NormalRandomVariable> m_normal;
	Event<Worker, &Worker::computed> m_event;
};

class Pair : public Job {
public:
	Pair(const JobParam &p, Fabric &fabric)
		: Job(p), m_channel(*fabric.connect(p.hosts[0], p.hosts[1], fabric.host())),
		  m_worker(param, 0, [this] { m_channel.send(param.bytes); })
	{
		m_channel.on_message = [this] {
			iterated();
			m_worker.compute(Clock::now());
		};
	}

	uint64_t delivered() const override { return m_channel.delivered(); }

private:
	Channel &m_channel;
	Worker m_worker;
};

class Endless : public Job {
public:
	Endless(const JobParam &p, Fabric &fabric)
		: Job(p), m_channel(*fabric.connect(p.hosts[0], p.hosts[1], nullptr)),
		  m_worker(param, 0, [this] { m_channel.send(1ull << 60); })
	{
	}

	uint64_t delivered() const override { return m_channel.delivered(); }

private:
	Channel &m_channel;
	Worker m_worker;
};

class Ring : public Job {
public:
	Ring(const JobParam &p, Fabric &fabric) : Job(p), m_steps(2 * (p.hosts.size() - 1))
	{
		unsigned n = p.hosts.size();

		for (unsigned i = 0; i < n; i++)
			m_members.push_back(std::make_unique<Member>());
		for (unsigned i = 0; i < n; i++)
			join(i, *fabric.connect(p.hosts[i], p.hosts[(i + 1) % n], fabric.host()));
	}

	uint64_t delivered() const override
	{
		uint64_t sum = 0;

		for (const auto &m : m_members)
			sum += m->out->delivered();
		return sum;
	}

private:
	struct Member {
		Channel *out;
		std::unique_ptr<Worker> worker;
		uint64_t sent = 0, received = 0, computed = 0;	/* steps, steps, times; ever */
	};

	void join(unsigned i, Channel &out)
	{
		Member &m = *m_members[i];

		m.out = &out;
		m.worker = std::make_unique<Worker>(param, i, [this, &m] {
			m.computed++;
			send(m);
		});
		out.on_message = [this, i] { received(*m_members[(i + 1) % m_members.size()]); };
	}

	/* The first step of an iteration waits for the computation, any other for what has come. */
	void send(Member &m)
	{
		while (m.sent % m_steps ? m.sent <= m.received : m.sent / m_steps < m.computed) {
			m.sent++;
			m.out->send(param.bytes / m_members.size());
		}
	}

	void received(Member &m)
	{
		m.received++;
		send(m);
		if (m.received % m_steps)
			return;
		m.worker->compute(Clock::now());
		if (++m_done % m_members.size() == 0)
			iterated();
	}

	const uint64_t m_steps;
	uint64_t m_done = 0;			/* hosts, of all iterations */
	std::vector<std::unique_ptr<Member>> m_members;
};

std::unique_ptr<Job> make_job(const JobParam &param, Fabric &fabric)
{
	if (param.kind == "ring")
		return std::make_unique<Ring>(param, fabric);
	if (param.kind == "endless")
		return std::make_unique<Endless>(param, fabric);
	return std::make_unique<Pair>(param, fabric);
}

} /* namespace sim */
