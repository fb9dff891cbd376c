// SPDX-License-Identifier: GPL-2.0
/* Ports, switches, NICs and the network of them: net.h has the model. */
#include "net.h"

#include <algorithm>
#include <cmath>
#include <span>
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

static Packet pop(Queue &queue)
{
	Packet p = queue.front();

	queue.pop_front();
	return p;
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
	std::optional<Packet> p;

	if (now < m_free) {
		if (!m_wake.pending())
			m_wake.at(m_free);
		return;
	}
	p = node.next(*this);
	if (!p)
		return;
	m_free = now + std::llround(p->bytes * ps_per_byte);
	m_flight.push_back(*p);
	m_arrive.at(m_free + m_delay);
	if (node.more(*this) && !m_wake.pending())
		m_wake.at(m_free);
}

void Port::arrive()
{
	Packet p = pop(m_flight);

	m_peer->node.receive(p, *m_peer);
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

uint64_t Port::inside() const
{
	return data.size() + std::count_if(m_flight.begin(), m_flight.end(), [](const Packet &p) {
		return p.kind == Kind::DATA;
	});
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

/* Bytes, as many as one port may have. */
uint64_t Switch::room() const
{
	return m_used < m_shared ? m_shared - m_used : 0;
}

bool Switch::fits(const Packet &p, const Port &out) const
{
	if (m_used + p.bytes > m_net.param.buffer)
		return false;
	return m_net.param.pfc || out.queued + p.bytes <= room();
}

bool Switch::admit(Packet &p, Port &in, Port &out)
{
	if (!fits(p, out))
		return false;
	p.in = &in;
	in.arrived += p.bytes;
	m_used += p.bytes;
	if (m_net.param.pfc && !in.pauses && in.arrived > room()) {
		pauses++;
		in.pause(true);
	}
	return true;
}

void Switch::release(const Packet &p)
{
	Port &in = *p.in;

	m_used -= p.bytes;
	in.arrived -= p.bytes;
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

void Switch::receive(Packet &p, Port &in)
{
	Port &out = *p.flow->paths[p.kind != Kind::DATA][++p.hop];

	m_net.hops++;
	if (p.kind != Kind::DATA) {
		out.control.push_back(p);
		out.kick();
		return;
	}
	if (!admit(p, in, out)) {
		dropped++;
		return;
	}
	if (mark(out)) {
		p.marked = true;
		marked++;
	}
	out.queued += p.bytes;
	out.deepest = std::max(out.deepest, out.queued);
	out.data.push_back(p);
	out.kick();
}

std::optional<Packet> Switch::next(Port &out)
{
	Packet p;

	if (!out.control.empty())
		return pop(out.control);
	if (out.paused || out.data.empty())
		return {};
	p = pop(out.data);
	out.queued -= p.bytes;
	release(p);
	return p;
}

bool Switch::more(const Port &out) const
{
	return !out.control.empty() || (!out.paused && !out.data.empty());
}

void Nic::receive(Packet &p, Port &)
{
	p.flow->received(p);
}

std::optional<Packet> Nic::next(Port &out)
{
	if (!out.control.empty())
		return pop(out.control);
	while (!out.paused && !m_ready.empty()) {
		Flow *flow = m_ready.front();

		m_ready.pop_front();
		if (auto p = flow->make())
			return p;
	}
	return {};
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

void Nic::answer(const Packet &p)
{
	port.control.push_back(p);
	port.kick();
}

RdmaNet::RdmaNet(const Graph &g, const RdmaParam &p) : Fabric(g), param(p), m_tell(this)
{
	wire(g);
}

void RdmaNet::wire(const Graph &g)
{
	nics.resize(g.hosts);
	for (unsigned i = g.hosts; i < g.nodes; i++)
		m_switches.push_back(std::make_unique<Switch>(*this, i));
	for (unsigned e = 0; e < g.edges.size(); e++) {
		for (unsigned node : { g.edges[e].a, g.edges[e].b }) {
			if (node < g.hosts)
				nics[node] = std::make_unique<Nic>(g.edges[e].bps, param.delay);
			m_ports.push_back(node < g.hosts ? &nics[node]->port :
					  &m_switches[node - g.hosts]->add_port(g.edges[e].bps,
										 param.delay));
		}
		m_ports[2 * e]->connect(*m_ports[2 * e + 1]);
		m_ports[2 * e + 1]->connect(*m_ports[2 * e]);
	}
	for (unsigned i = 0; i < m_switches.size(); i++)
		m_switches[i]->finish(FIRST_STREAM + i);
}

RdmaHost::RdmaHost(const RdmaParam &c, const Job &j, Paths &p) : Host(c.qps), rp(c.rp), paths(p)
{
	if (j.param.timer_ns)
		rp.time_ns = j.param.timer_ns;
}

/* Hosts tell their jobs' leaders what they have sent, and hear what these said the last time. */
void RdmaNet::tell()
{
	uint64_t now = Clock::tracker_us();

	for (RdmaHost *h : m_led)
		host_reports(&h->lead, &h->job, now, TELL / (1000 * NS));
	for (RdmaHost *h : m_led)
		host_answered(&h->lead, now);
	m_tell.at(Clock::now() + TELL);
}

Host *RdmaNet::host(const Job *job)
{
	auto found = std::make_unique<RdmaHost>(param, *job, m_paths[job]);

	if (param.led && param.profile) {
		if (m_led.empty())
			m_tell.at(Clock::now() + TELL);
		found->lead.leader = &m_leaders[job];
		m_led.push_back(found.get());
	}
	m_hosts.push_back(std::move(found));
	return m_hosts.back().get();
}

static unsigned met(const Path &path, const Paths &known)
{
	unsigned sum = 0;

	for (const Port *link : path) {
		auto flows = known.find(link);

		sum += flows == known.end() ? 0 : flows->second;
	}
	return sum;
}

/* The hash that the best port makes of it, or the first of those that are as good. */
uint32_t RdmaNet::choose(unsigned from, unsigned to, Paths &known, uint32_t hash)
{
	unsigned fewest = met(path(from, to, hash), known);
	uint32_t best = hash;

	for (unsigned port = 1; port < param.ports; port++) {
		uint32_t other = mix((uint64_t)port << 32 | hash);
		unsigned meets = met(path(from, to, other), known);

		if (meets < fewest) {
			fewest = meets;
			best = other;
		}
	}
	for (const Port *link : path(from, to, best))
		known[link]++;
	return best;
}

Channel *RdmaNet::flow(unsigned from, unsigned to, Host *sender, Host *receiver)
{
	uint64_t which = (uint64_t)from << 40 | (uint64_t)to << 20 | m_flows.size();
	uint32_t hash = mix(which ^ mix(param.seed));
	auto *host = static_cast<RdmaHost *>(sender);

	if (host)
		hash = choose(from, to, host->paths, hash);
	m_flows.push_back(std::make_unique<Flow>(*this, from, to, host,
						 static_cast<RdmaHost *>(receiver),
						 path(from, to, hash), path(to, from, hash)));
	return m_flows.back().get();
}

Path RdmaNet::path(unsigned from, unsigned to, uint32_t hash)
{
	Path found;

	for (unsigned end : router.path(from, to, hash))
		found.push_back(m_ports[end]);
	return found;
}

/* Its path: the nodes that it goes through, which are switches. */
static void report_flow(std::ostream &out, const Flow &flow)
{
	std::span<Port *const> links = flow.paths[0];

	out << "{\"from\": " << flow.from << ", \"to\": " << flow.to << ", \"path\": ";
	list(out, links.first(links.size() - 1), [&out](const Port *link) {
		out << static_cast<const Switch &>(link->peer().node).id;
	});
	out << "}";
}

/* Packets of data; "deepest": bytes in one output queue. */
void RdmaNet::report(std::ostream &out) const
{
	uint64_t dropped = 0, marked = 0, pauses = 0, again = 0, cnps = 0, inside = 0, deepest = 0;

	for (const auto &nic : nics)
		inside += nic->port.inside();
	for (const auto &s : m_switches) {
		dropped += s->dropped;
		marked += s->marked;
		pauses += s->pauses;
		for (const auto &port : s->ports) {
			inside += port->inside();
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
	out << ", \"flows\": ";
	list(out, m_flows, [&](const auto &flow) { report_flow(out, *flow); });
}

} /* namespace sim */
