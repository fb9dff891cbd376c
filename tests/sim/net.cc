// SPDX-License-Identifier: GPL-2.0
/* Ports, switches, NICs and the network of them: net.h has the model. */
#include "net.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ns3/object-factory.h>

#include "jobs.h"

namespace sim {

constexpr uint32_t PFC_BYTES = 64;
constexpr Ps TELL = 1000000 * NS;	/* MLCC_LEAD_US */
constexpr int64_t FIRST_STREAM = 1;	/* of random numbers; jobs have those from 2^16 on */

void Clock::start()
{
	ns3::ObjectFactory factory;

	ns3::Time::SetResolution(ns3::Time::PS);
	factory.SetTypeId("ns3::PriorityQueueScheduler");
	ns3::Simulator::SetScheduler(factory);
	impl = ns3::PeekPointer(ns3::Simulator::GetImplementation());
}

uint64_t Queue::packets(Kind kind) const
{
	uint64_t n = 0;

	if (m_first)
		for (const Packet *p = m_first; p; p = p->next)
			n += p->kind == kind;
	return n;
}

Port::Port(Node &owner, double bps, Ps delay)
	: node(owner), ps_per_byte(8 * PS_PER_S / bps), m_delay(delay), m_wake(this),
	  m_arrive(this), m_hear(this)
{
}

/* While a packet is leaving an event is needed only if another one waits. */
void Port::kick()
{
	Ps now = Clock::now();
	Packet *p;

	if (now < m_free) {
		if (!m_waking) {
			m_waking = true;
			m_wake.at(m_free);
		}
		return;
	}
	p = node.next(*this);
	if (!p)
		return;
	m_free = now + std::llround(p->bytes * ps_per_byte);
	m_flight.push(p);
	m_arrive.at(m_free + m_delay);
	if (node.more(*this) && !m_waking) {
		m_waking = true;
		m_wake.at(m_free);
	}
}

void Port::wake()
{
	m_waking = false;
	kick();
}

void Port::arrive()
{
	m_peer->node.receive(m_flight.pop(), *m_peer);
}

/* A PFC frame goes after the packet that is leaving, before all others. */
void Port::pause(bool on)
{
	Ps leaves = std::max(m_free, Clock::now()) + std::llround(PFC_BYTES * ps_per_byte);

	pauses = on;
	m_peer->m_heard.push_back(on);
	m_peer->m_hear.at(leaves + m_delay);
}

void Port::hear()
{
	bool on = m_heard.front();

	m_heard.pop_front();
	if (on == paused)
		return;
	paused = on;
	if (!on)
		kick();
}

uint64_t Port::packets(Kind kind) const
{
	return data.packets(kind) + m_flight.packets(kind);
}

Port &Switch::add_port(double bps, Ps delay)
{
	ports.push_back(std::make_unique<Port>(*this, bps, delay));
	return *ports.back();
}

/* What may still come by a port after it has asked its peer to pause, in bytes. */
static uint64_t headroom(const Port &port, const RdmaParam &c)
{
	uint64_t packet = c.payload + c.header;

	return 2 * c.delay / port.ps_per_byte + 3 * packet + PFC_BYTES;
}

void Switch::finish(int64_t stream)
{
	uint64_t aside = 0;

	if (m_net.param.pfc)
		for (const auto &port : ports)
			aside += headroom(*port, m_net.param);
	if (aside >= m_net.param.buffer)
		throw std::runtime_error("buffer: " + std::to_string(ports.size()) +
					 " ports need more than " + std::to_string(aside) +
					 " bytes as headroom");
	m_shared = m_net.param.buffer - aside;
	m_random = ns3::CreateObject<ns3::UniformRandomVariable>();
	m_random->SetStream(stream);
}

Port &Switch::route(unsigned to, uint32_t hash) const
{
	const auto &ways = routes[to];

	if (ways.size() == 1)
		return *ways[0];
	return *ways[mix(hash ^ ((uint64_t)id << 32)) % ways.size()];
}

/* Bytes, as many as one port may have. */
uint64_t Switch::room() const
{
	return m_used < m_shared ? m_shared - m_used : 0;
}

bool Switch::fits(const Packet *p, const Port &out) const
{
	if (m_used + p->bytes > m_net.param.buffer)
		return false;
	return m_net.param.pfc || out.queued + p->bytes <= room();
}

bool Switch::admit(Packet *p, Port &in, Port &out)
{
	if (!fits(p, out))
		return false;
	p->in = &in;
	in.arrived += p->bytes;
	m_used += p->bytes;
	if (m_net.param.pfc && !in.pauses && in.arrived > room()) {
		pauses++;
		in.pause(true);
	}
	return true;
}

void Switch::release(Packet *p)
{
	Port &in = *p->in;

	m_used -= p->bytes;
	in.arrived -= p->bytes;
	if (in.pauses && in.arrived <= room() / 2)
		in.pause(false);
}

/* Thresholds are those of a port of param.bps; slower ports have shorter queues. */
bool Switch::mark(const Port &out)
{
	const RdmaParam &c = m_net.param;
	double found = out.queued * out.ps_per_byte * c.bps / 8 / PS_PER_S;

	if (found <= c.kmin)
		return false;
	if (found >= c.kmax)
		return true;
	return m_random->GetValue() < c.pmax * (found - c.kmin) / (c.kmax - c.kmin);
}

void Switch::receive(Packet *p, Port &in)
{
	Port &out = route(p->to, p->flow->hash());

	m_net.hops++;
	if (p->kind != Kind::DATA) {
		out.control.push(p);
		out.kick();
		return;
	}
	if (!admit(p, in, out)) {
		dropped++;
		m_net.free(p);
		return;
	}
	if (mark(out)) {
		p->marked = true;
		marked++;
	}
	out.queued += p->bytes;
	out.deepest = std::max(out.deepest, out.queued);
	out.data.push(p);
	out.kick();
}

Packet *Switch::next(Port &out)
{
	Packet *p;

	if (!out.control.empty())
		return out.control.pop();
	if (out.paused || out.data.empty())
		return nullptr;
	p = out.data.pop();
	out.queued -= p->bytes;
	release(p);
	return p;
}

bool Switch::more(const Port &out) const
{
	return !out.control.empty() || (!out.paused && !out.data.empty());
}

void Nic::receive(Packet *p, Port &)
{
	p->flow->received(p);
}

Packet *Nic::next(Port &out)
{
	if (!out.control.empty())
		return out.control.pop();
	while (!out.paused && !m_ready.empty()) {
		Flow *flow = m_ready.front();
		Packet *p;

		m_ready.pop_front();
		p = flow->make();
		if (p)
			return p;
	}
	return nullptr;
}

bool Nic::more(const Port &out) const
{
	return !out.control.empty() || (!out.paused && !m_ready.empty());
}

void Nic::ready(Flow &f)
{
	m_ready.push_back(&f);
	port.kick();
}

void Nic::answer(Packet *p)
{
	port.control.push(p);
	port.kick();
}

RdmaNet::RdmaNet(const Graph &g, const RdmaParam &p) : param(p), m_tell(this)
{
	wire(g);
	route(g);
}

void RdmaNet::wire(const Graph &g)
{
	m_ends.resize(g.edges.size());
	nics.resize(g.hosts);
	for (unsigned i = g.hosts; i < g.nodes; i++)
		m_switches.push_back(std::make_unique<Switch>(*this, i));
	for (unsigned e = 0; e < g.edges.size(); e++) {
		for (unsigned node : { g.edges[e].a, g.edges[e].b }) {
			if (node < g.hosts)
				nics[node] = std::make_unique<Nic>(g.edges[e].bps, param.delay);
			m_ends[e].push_back(node < g.hosts ? &nics[node]->port :
					    &m_switches[node - g.hosts]->add_port(g.edges[e].bps,
										   param.delay));
		}
		m_ends[e][0]->connect(*m_ends[e][1]);
		m_ends[e][1]->connect(*m_ends[e][0]);
	}
	for (unsigned i = 0; i < m_switches.size(); i++)
		m_switches[i]->finish(FIRST_STREAM + i);
}

void RdmaNet::route(const Graph &g)
{
	Router router(g);

	for (auto &s : m_switches)
		s->routes.resize(g.hosts);
	for (unsigned host = 0; host < g.hosts; host++) {
		Routes r = router.to(host);

		for (unsigned i = 0; i < m_switches.size(); i++) {
			unsigned node = g.hosts + i;

			for (unsigned e : r.edges[node])
				m_switches[i]->routes[host].push_back(
					m_ends[e][g.edges[e].b == node]);
		}
		m_far.emplace_back(r.hops.begin(), r.hops.begin() + g.hosts);
	}
}

RdmaHost::RdmaHost(const RdmaParam &c, const Job &j, Paths &p, struct mlcc_job *l)
	: Host(job, c.qps), rp(c.rp), leader(l), paths(p)
{
	if (j.param.timer_ns)
		rp.time_ns = j.param.timer_ns;
}

void RdmaHost::report()
{
	uint64_t now = Clock::now_ns(), us = Clock::tracker_us();
	uint64_t since_us = (now - m_reported) / 1000;

	if (m_answer.best_us) {
		m_answer.age_us += since_us;
		mlcc_led_hear(&led, &m_answer, job.acked, us);
	}
	mlcc_lead_report(leader, &m_counted, job.acked, us, since_us);
	m_reported = now;
}

void RdmaHost::answer()
{
	m_answer = mlcc_lead_answer(leader, Clock::tracker_us());
}

/* Of those that hosts tell what they have sent; NULL: none. */
struct mlcc_job *RdmaNet::leader(const Job *job)
{
	if (!param.led || !param.profile)
		return nullptr;
	if (m_led.empty())
		m_tell.at(Clock::now() + TELL);
	return &m_leaders[job];
}

/* Hosts tell their jobs' leaders what they have sent, and hear what these said the last time. */
void RdmaNet::tell()
{
	for (RdmaHost *h : m_led)
		h->report();
	for (RdmaHost *h : m_led)
		h->answer();
	m_tell.at(Clock::now() + TELL);
}

Host *RdmaNet::host(const Job *job)
{
	auto found = std::make_unique<RdmaHost>(param, *job, m_paths[job], leader(job));

	if (found->leader)
		m_led.push_back(found.get());
	m_hosts.push_back(std::move(found));
	return m_hosts.back().get();
}

Channel *RdmaNet::flow(unsigned from, unsigned to, Host *sender, Host *receiver)
{
	uint64_t which = (uint64_t)from << 40 | (uint64_t)to << 20 | m_flows.size();
	uint32_t hash = mix(which ^ mix(param.seed));

	m_flows.push_back(std::make_unique<Flow>(*this, from, to, static_cast<RdmaHost *>(sender),
						 static_cast<RdmaHost *>(receiver),
						 2 * m_far[to][from] * param.delay, hash));
	return m_flows.back().get();
}

Path RdmaNet::path(unsigned from, unsigned to, uint32_t hash, unsigned port) const
{
	Path found = { port ? (uint32_t)mix((uint64_t)port << 32 | hash) : hash, {} };
	const Port *link = &nics[from]->port;

	for (;;) {
		const Switch &s = static_cast<const Switch &>(link->peer().node);

		link = &s.route(to, found.hash);
		if (&link->peer().node == nics[to].get())
			return found;
		found.links.push_back(link);
	}
}

Packet *RdmaNet::alloc()
{
	Packet *p = m_spare;

	if (!p)
		return new Packet();
	m_spare = p->next;
	return p;
}

void RdmaNet::free(Packet *p)
{
	p->next = m_spare;
	m_spare = p;
}

/* Its path: the nodes that it goes through, which are switches. */
void RdmaNet::report_flow(std::ostream &out, const Flow &flow) const
{
	const Port *first = &nics[flow.from()]->port;

	out << "{\"from\": " << flow.from() << ", \"to\": " << flow.to() << ", \"path\": ["
	    << static_cast<const Switch &>(first->peer().node).id;
	for (const Port *link : path(flow.from(), flow.to(), flow.hash(), 0).links)
		out << ", " << static_cast<const Switch &>(link->peer().node).id;
	out << "]}";
}

/* Packets of data; "deepest": bytes in one output queue. */
void RdmaNet::report(std::ostream &out) const
{
	uint64_t dropped = 0, marked = 0, pauses = 0, again = 0, cnps = 0, inside = 0, deepest = 0;

	for (const auto &nic : nics)
		inside += nic->port.packets(Kind::DATA);
	for (const auto &s : m_switches) {
		dropped += s->dropped;
		marked += s->marked;
		pauses += s->pauses;
		for (const auto &port : s->ports) {
			inside += port->packets(Kind::DATA);
			deepest = std::max(deepest, port->deepest);
		}
	}
	for (const auto &flow : m_flows) {
		again += flow->again;
		cnps += flow->cnps;
	}
	out << "\"sent\": " << sent << ", \"delivered\": " << delivered << ", \"dropped\": " << dropped
	    << ", \"inside\": " << inside << ", \"again\": " << again << ", \"marked\": " << marked
	    << ", \"cnps\": " << cnps << ", \"pauses\": " << pauses
	    << ", \"deepest_bytes\": " << deepest << ", \"hops\": " << hops;
	if (!param.detail)
		return;
	out << ", \"flows\": [";
	for (const auto &flow : m_flows)
		report_flow(out << (flow == m_flows.front() ? "" : ", "), *flow);
	out << "]";
}

} /* namespace sim */
