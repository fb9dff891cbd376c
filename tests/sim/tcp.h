// SPDX-License-Identifier: GPL-2.0
/*
 * TCP hosts, with ns-3's own stack: sockets, IP, point-to-point links, queue disciplines at each
 * port.
 *
 *	cc	cubic, reno, dctcp	ns-3's TcpCubic, TcpLinuxReno, TcpDctcp
 *		a profile of mlcc	mlcc.cc: the core that Linux runs, around ns-3's socket
 *	queue	droptail		"limit" bytes at each port
 *		ecn			likewise, and whatever finds "mark" bytes is marked (a
 *					step, as DCTCP asks for); everybody negotiates ECN
 *
 * A message is bytes in a connection that is open all the time; background flows run CUBIC, each in
 * one of its own, closed at its end.  As in Linux: SACK, RACK-TLP, timestamps, windows that scale,
 * ten segments at first, a least time-out of 200 ms, an ACK for two segments (with ECN for each, as
 * ns-3 cannot send one at once when the marks begin or end); a host's own queue marks and drops
 * nothing.  Unlike it: no TSO, no GRO, no interrupt moderation, which host.h has; a window does
 * not decay in a silence.
 *
 * Routes are static, by destination: of several shortest paths to a host a switch takes one, by a
 * hash of both.
 */
#ifndef MLCC_SIM_TCP_H
#define MLCC_SIM_TCP_H

#include <memory>
#include <string>
#include <vector>

#include <ns3/net-device.h>
#include <ns3/node.h>
#include <ns3/queue-disc.h>

#include "clock.h"
#include "fabric.h"
#include "graph.h"
#include "tcpcore.h"

namespace sim {

struct TcpParam {
	std::string cc;
	bool ecn;
	uint32_t mss, limit, mark;	/* bytes */
	Ps delay;
	uint32_t seed;
};

/* A job on one host. */
class TcpHost : public Host {
public:
	/* @cc: may be one that knows of no jobs */
	TcpHost(const std::string &cc, unsigned flows) : Host(m_slot.job, flows)
	{
		m_slot.profile = profile_named(cc);
	}

	struct mlcc_slot *job() { return m_slot.profile ? &m_slot : nullptr; }

private:
	struct mlcc_slot m_slot = {};
};

class TcpChannel;

class TcpNet : public Fabric {
public:
	TcpNet(const Graph &g, const TcpParam &param);
	~TcpNet() override;

	Host *host(const Job *job) override;
	void report(std::ostream &out) const override;

	const TcpParam param;

private:
	void wire(const Graph &g);
	void add_queue(ns3::Ptr<ns3::NetDevice> device, bool is_host);
	void add_interface(ns3::Ptr<ns3::NetDevice> device, bool is_host);
	void route(const Graph &g);
	Channel *flow(unsigned from, unsigned to, Host *sender, Host *receiver) override;

	std::vector<ns3::Ptr<ns3::Node>> m_nodes;
	std::vector<ns3::Ptr<ns3::QueueDisc>> m_queues;
	std::vector<std::vector<uint32_t>> m_interfaces;	/* of each edge: at a, at b */
	std::vector<std::unique_ptr<TcpChannel>> m_channels;
	uint32_t m_addresses = 0;		/* of switches, given away */
};

} /* namespace sim */

#endif /* MLCC_SIM_TCP_H */
