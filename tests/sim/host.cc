// SPDX-License-Identifier: GPL-2.0
/* Links, hosts' interrupts and GRO, and the network of them: host.h has the model. */
#include "host.h"

#include <algorithm>
#include <cmath>

#include "jobs.h"
#include "stream.h"

namespace sim {

Link::Link(HostNet &net, double bps, bool is_hosts, bool to_host)
	: from_host(is_hosts), m_net(net), m_ps_per_byte(8 * PS_PER_S / bps), m_to_host(to_host),
	  m_arrive(this)
{
}

/*
 * Part of a packet's time.  Without it a sender at the link's rate is always there when a packet
 * leaves a full queue, and others never are (Floyd and Jacobson, 1991).
 */
Ps Link::jitter(Ps most)
{
	return mix(mix(m_net.param.seed) ^ m_net.hops) % most;
}

Ps Link::send(Segment s)
{
	const HostParam &c = m_net.param;
	uint32_t bytes = s.ack ? FRAME_BYTES : c.mss + FRAME_BYTES;
	Ps now = Clock::now(), free = std::max(m_free, now);

	for (; !m_queue.empty() && m_queue.front().first <= now; m_queue.pop_front())
		m_bytes -= m_queue.front().second;
	m_net.hops++;
	if (!from_host && m_bytes + bytes > c.limit) {
		dropped++;
		return free;
	}
	if (c.ecn && !from_host && !s.ack && m_bytes > c.mark) {
		s.marked = true;
		marked++;
	}
	m_queue.push_back({ free, bytes });
	m_bytes += bytes;
	deepest = std::max(deepest, m_bytes);
	m_free = free + std::llround(bytes * m_ps_per_byte);
	s.at = m_free + c.delay;
	if (from_host)
		s.at = m_last = std::max(m_last, s.at + jitter(m_free - free));
	m_flight.push_back(s);
	if (m_flight.size() == 1)
		wait();
	return m_free;
}

/* For the next that comes; a host looks no sooner than it is due to. */
void Link::wait()
{
	m_arrive.at(std::max(m_flight.front().at, m_looks));
}

void Link::arrive()
{
	Ps now = Clock::now();

	if (!m_to_host) {
		Segment s = m_flight.front();

		m_flight.pop_front();
		if (!m_flight.empty())
			wait();
		s.hop++;
		s.stream->paths[s.ack][s.hop]->send(s);
		return;
	}
	m_looks = now + m_net.param.coalesce;
	m_found.clear();
	while (!m_flight.empty() && m_flight.front().at <= now) {
		m_found.push_back(m_flight.front());
		m_flight.pop_front();
	}
	if (!m_flight.empty())
		wait();
	m_net.poll(m_found);
}

HostNet::HostNet(const Graph &g, const HostParam &p) : Fabric(g), param(p)
{
	for (const Edge &e : g.edges)
		for (auto [from, to] : { std::pair(e.a, e.b), std::pair(e.b, e.a) })
			m_links.push_back(std::make_unique<Link>(*this, e.bps, from < g.hosts,
								 to < g.hosts));
}

HostNet::~HostNet() = default;

std::vector<Link *> HostNet::path(unsigned from, unsigned to, uint64_t hash)
{
	std::vector<Link *> found;

	for (unsigned link : router.path(from, to, hash))
		found.push_back(m_links[link].get());
	return found;
}

Host *HostNet::host(const Job *job)
{
	m_hosts.push_back(std::make_unique<TcpHost>(param.cc, job->param.flows));
	return m_hosts.back().get();
}

Channel *HostNet::flow(unsigned from, unsigned to, Host *sender, Host *)
{
	uint64_t hash = mix(param.seed) ^ m_streams.size();
	auto there = path(from, to, hash), back = path(to, from, hash);

	m_streams.push_back(std::make_unique<Stream>(
		*this, sender ? param.cc : "cubic",
		sender ? static_cast<TcpHost *>(sender)->job() : nullptr, 1 + to, there, back,
		mix(mix(param.seed) ^ ~(uint64_t)from)));
	return m_streams.back().get();
}

/* What a host has found: GRO's work. */
void HostNet::poll(const std::vector<Segment> &found)
{
	m_touched.clear();
	for (const Segment &s : found) {
		if (s.ack)
			s.stream->acked(s);
		else if (s.stream->joined(s))
			m_touched.push_back(s.stream);
	}
	for (Stream *stream : m_touched)
		stream->flush();
}

void HostNet::report(std::ostream &out) const
{
	uint64_t dropped = 0, marked = 0, again = 0, timeouts = 0, bursts = 0, held = 0;

	for (const auto &link : m_links) {
		dropped += link->dropped;
		marked += link->marked;
		if (link->from_host)
			held = std::max(held, link->deepest);
	}
	for (const auto &stream : m_streams) {
		again += stream->again;
		timeouts += stream->timeouts;
		bursts += stream->bursts;
	}
	out << "\"dropped\": " << dropped << ", \"again\": " << again << ", \"marked\": " << marked
	    << ", \"timeouts\": " << timeouts << ", \"bursts\": " << bursts
	    << ", \"held_bytes\": " << held << ", \"hops\": " << hops;
}

} /* namespace sim */
