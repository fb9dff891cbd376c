// SPDX-License-Identifier: GPL-2.0
/*
 * TCP hosts as they are at 25 Gb/s and more, where what a sender hands over at a time, and how
 * seldom a host looks, decide as much as the congestion control does.
 *
 *	Stream --> TSO burst --> Link ~~~> Link ~~~> ... ~~~> interrupt --> GRO --> Stream
 *	  ^                                                                           |
 *	  '------ interrupt <~~~~~~~~~~~~~~~~~ ACK, one for a super-packet <----------'
 *
 * Link		a rate, a delay and a queue, first in, first out, so that a packet's end is known
 *		when it comes: an event a packet and hop.  A host's own link drops and marks nothing;
 *		its packets come up to a packet's time late, at random.
 * TSO		a sender hands over "tso" bytes at a time, and waits (tcp_tso_should_defer) while
 *		the window has room neither for that nor for a third of it.  0: a segment at a time.
 * Interrupts	a host looks at what has come, data or ACKs, at once after a silence, otherwise
 *		"coalesce" after it has looked last.  One queue a host; its CPU takes no time.
 * GRO		what it then finds of a flow, in a row and marked alike, is one super-packet of 64
 *		KB at most, for which there is one ACK if it is two segments or more.
 *
 *	cc	cubic, dctcp		mlcc's own bases, a core without a job
 *		reno			also what dctcp is where nothing marks, as in Linux
 *		a profile of mlcc	the core that Linux runs (tcpcore.h)
 *
 * A stream is as Linux has it (stream.h).  All segments of a message are full; the handshake takes
 * no time; a route is one of the shortest paths, for each stream by a hash.
 */
#ifndef MLCC_SIM_HOST_H
#define MLCC_SIM_HOST_H

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"
#include "fabric.h"
#include "graph.h"
#include "tcpcore.h"

namespace sim {

class HostNet;
class Stream;

constexpr uint32_t FRAME_BYTES = 66;		/* around a segment; an ACK */
constexpr uint32_t SUPER_BYTES = 65536;		/* that GRO joins at most */

struct HostParam {
	std::string cc;
	bool ecn, gro;
	uint32_t mss, limit, mark, tso, window;	/* bytes */
	Ps delay, coalesce, rto_min;
	uint32_t seed;
};

/* A job on one host. */
class TcpHost : public Host {
public:
	/* @cc: may be one that knows of no jobs */
	TcpHost(const std::string &cc, unsigned flows) : Host(flows)
	{
		m_slot.profile = profile_named(cc);
	}

	struct mlcc_slot *job() { return m_slot.profile ? &m_slot : nullptr; }

private:
	struct mlcc_slot m_slot = {};
};

/* Segments [from, to). */
struct Range {
	uint32_t from, to;
};

struct Segment {
	Ps at;			/* where it is going to */
	Stream *stream;
	uint32_t seq;		/* data: a segment's number; ACK: the next one that is expected */
	uint8_t hop;		/* of the path */
	bool ack, marked;	/* an ACK's mark is an echo */
	bool twice;		/* ACK: for what had been there already */
	uint8_t blocks;
	uint32_t stamp;		/* ACK: ms, when it was sent */
	Range sack[3];		/* what is there beyond, the latest first */
};

/* One direction of a wire, with the queue before it. */
class Link {
public:
	Link(HostNet &net, double bps, bool is_hosts, bool to_host);

	Ps send(Segment s);	/* returns when it will have left */

	const bool from_host;
	uint64_t dropped = 0, marked = 0;
	uint64_t deepest = 0;		/* bytes */

private:
	void arrive();
	void wait();
	Ps jitter(Ps most);

	HostNet &m_net;
	const double m_ps_per_byte;
	const bool m_to_host;
	Ps m_free = 0;			/* when all that is here has left */
	uint64_t m_bytes = 0;		/* that have not begun to leave: a packet goes as a whole */
	std::deque<std::pair<Ps, uint32_t>> m_queue;	/* begins when, bytes */
	Ps m_last = 0;			/* when the last packet is there */
	Ps m_looks = 0;			/* when a host looks again */
	std::deque<Segment> m_flight;
	std::vector<Segment> m_found;	/* by a host */
	Event<Link, &Link::arrive> m_arrive;
};

class HostNet : public Fabric {
public:
	HostNet(const Graph &g, const HostParam &param);
	~HostNet() override;

	Host *host(const Job *job) override;
	void report(std::ostream &out) const override;

	void poll(const std::vector<Segment> &found);

	const HostParam param;
	uint64_t hops = 0;

private:
	std::vector<Link *> path(unsigned from, unsigned to, uint64_t hash);
	Channel *flow(unsigned from, unsigned to, Host *sender, Host *receiver) override;

	std::vector<std::unique_ptr<Link>> m_links;	/* of each edge: from a, from b */
	std::vector<std::unique_ptr<Stream>> m_streams;
	std::vector<Stream *> m_touched;		/* of a poll */
};

} /* namespace sim */

#endif /* MLCC_SIM_HOST_H */
