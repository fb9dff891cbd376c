// SPDX-License-Identifier: GPL-2.0
/*
 * A lossless Ethernet: ports, switches, NICs, and RDMA flows (RoCEv2, reliable connections).
 *
 * ns-3 runs the events, draws the random numbers and keeps the time; packets are structs of 40
 * bytes that go from one port to the next.  Its own path (NetDevice, Node, IP, UDP, with headers
 * that each hop writes and reads) costs some thirty times as much, and knows no PFC, no shared
 * buffer, no rate of a queue pair; the protocols above IP, which are worth reusing, are not RoCE's.
 * Here a packet costs one event a hop while a port is idle, two while it has a queue: with ns-3's
 * priority-queue scheduler a thousand hosts are within reach of one CPU.
 *
 *	Flow --> Nic ==> Port ~~~~> Switch ==> Port ~~~~> ... ~~~~> Nic --> Flow
 *	 ^ rate of the RP      wire    | ECMP    | queue             | NP
 *	 |                             | buffer, | marks             |
 *	 '------------- ACK, NAK, CNP ---- PFC --'-------------------'
 *
 * Port		two queues: control (ACK, NAK, CNP) goes first, and is neither marked, paused nor
 *		dropped; data.  Store and forward; a packet's buffer is free when it begins to
 *		leave.
 * Switch	output queues in one shared buffer.  A packet is marked by the data that it finds in
 *		its queue: never below Kmin, with Pmax at Kmax, always from there on (Zhu et al.,
 *		SIGCOMM '15).  Which of several shortest paths a flow takes is a hash of it, of its
 *		source port and of the switch.
 *	PFC	on: what came in by a port and is still here may be as much as is free of the
 *		shared buffer; beyond that the port's peer pauses, until it is down to half of it.  A headroom for what is under way is set aside for
 *		each port, so nothing is lost.
 *		off: an output queue may hold as much as is free (dynamic thresholds with an alpha of
 *		1, Choudhury and Hahne, 1998); what comes on top is dropped.
 * Nic		a packet of each flow in turn, among those that their rates let send.
 * Flow		packets of "payload" bytes at the RP's rate, "window" bytes in flight at most.  The
 *		receiver acknowledges each 16th packet, the last one of a message and of a
 *		window, and asks once for what is missing; the sender goes back to it (go-back-N),
 *		as it does when nothing was sent or acknowledged for "rto".
 * Paths	where it has several source ports, a job's flow is sent from one whose path meets
 *		fewest other flows of the job: its hosts know the path of each port (by probes, as
 *		Crux has them, Cao et al., SIGCOMM '24) and tell each other which they have taken.
 *		They are told nothing of other jobs.
 *		A job's connection may be several flows, queue pairs, that each carry a part of every
 *		message, by a path of its own: NCCL's QPS_PER_CONNECTION and SPLIT_DATA_ON_QPS.
 *
 * Not modelled: PFC frames and ACKs as packets that compete for buffers, link errors, the NIC's
 * limits on messages and memory, DCQCN's CNPs lost.
 */
#ifndef MLCC_SIM_NET_H
#define MLCC_SIM_NET_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <ns3/random-variable-stream.h>

#include "clock.h"
#include "fabric.h"
#include "graph.h"
#include "../../rdma/dcqcn/tmdml.h"
#include "../dcqcn/host.h"

namespace sim {

class Flow;
class Node;
class Port;
class RdmaHost;
class RdmaNet;

enum class Kind : uint8_t { DATA, ACK, NAK, CNP };

struct Packet {
	Flow *flow;
	Port *in;		/* by which it came to the switch that it is in */
	uint64_t seq;		/* DATA: of its first byte; ACK, NAK: what is expected next */
	uint32_t bytes;		/* on the wire */
	uint32_t payload;
	Kind kind;
	bool marked;
	bool ack;		/* wants to be acknowledged at once */
	uint8_t tries;		/* times that the sender had gone back, low bits */
	uint8_t hop;		/* of the path: the link that it is on */
};

using Queue = std::deque<Packet>;

/* One end of a link: sends what its node gives it. */
class Port {
public:
	Port(Node &node, double bps, Ps delay);

	void connect(Port &peer) { m_peer = &peer; }
	const Port &peer() const { return *m_peer; }

	void kick();			/* there may be something to send */
	void pause(bool on);		/* tells the peer, by PFC */

	Node &node;
	Queue control, data;		/* of a switch */
	uint64_t queued = 0;		/* bytes of data */
	uint64_t deepest = 0;
	uint64_t arrived = 0;		/* bytes that came in by this port and are in the switch */
	bool pauses = false;		/* its peer is paused, or will be when it hears of it */
	bool paused = false;		/* by its peer */
	const double ps_per_byte;

	uint64_t inside() const;		/* packets of data that wait here or are on the wire */

private:
	void arrive();
	void hear();

	Port *m_peer = nullptr;
	const Ps m_delay;
	Ps m_free = 0;			/* when the last packet has left */
	Queue m_flight;			/* on the wire */
	std::deque<bool> m_heard;	/* PFC frames on their way to this port */
	Event<Port, &Port::kick> m_wake;
	Event<Port, &Port::arrive> m_arrive;
	Event<Port, &Port::hear> m_hear;
};

class Node {
public:
	virtual ~Node() = default;

	virtual void receive(Packet &p, Port &in) = 0;
	virtual std::optional<Packet> next(Port &out) = 0;	/* to send */
	virtual bool more(const Port &out) const = 0;
};

class Switch : public Node {
public:
	Switch(RdmaNet &net, unsigned node) : id(node), m_net(net) {}

	Port &add_port(double bps, Ps delay);
	void finish(int64_t stream);	/* all ports are there */

	void receive(Packet &p, Port &in) override;
	std::optional<Packet> next(Port &out) override;
	bool more(const Port &out) const override;

	const unsigned id;
	std::vector<std::unique_ptr<Port>> ports;
	uint64_t dropped = 0, marked = 0, pauses = 0;

private:
	bool admit(Packet &p, Port &in, Port &out);
	bool fits(const Packet &p, const Port &out) const;
	bool mark(const Port &out);
	uint64_t room() const;
	void release(const Packet &p);

	RdmaNet &m_net;
	uint64_t m_used = 0, m_shared = 0;	/* bytes of the buffer */
	ns3::Ptr<ns3::UniformRandomVariable> m_random;
};

class Nic : public Node {
public:
	Nic(double bps, Ps delay) : port(*this, bps, delay) {}

	void receive(Packet &p, Port &in) override;
	std::optional<Packet> next(Port &out) override;
	bool more(const Port &out) const override;

	void ready(Flow &f);		/* may send a packet */
	void answer(const Packet &p);	/* an ACK, NAK or CNP */

	Port port;

private:
	std::deque<Flow *> m_ready;
};

/* A way through the network: of each link the port that sends. */
using Path = std::vector<Port *>;

/* What the hosts of a job know of its own paths, and nothing else: how many there are on a link. */
using Paths = std::map<const Port *, unsigned>;

class Flow : public Channel {
public:
	/* @sender, @receiver: NULL: of no job */
	Flow(RdmaNet &net, unsigned from, unsigned to, RdmaHost *sender, RdmaHost *receiver,
	     const Path &there, const Path &back);

	void send(uint64_t bytes) override;
	uint64_t delivered() const override { return m_expected; }

	void received(const Packet &p);
	std::optional<Packet> make();
	bool may_send() const;

	const unsigned from, to;
	const Path paths[2];		/* of data, of answers */
	uint64_t again = 0;		/* packets that were sent again */
	uint64_t cnps = 0;

private:
	void go();
	void pace();
	void begin(const Packet &p);
	void on_data(const Packet &p);
	void on_ack(uint64_t seq);
	void on_cnp();
	void accept(const Packet &p);
	void answer(Kind kind, uint8_t tries);
	void go_back(uint64_t seq);
	void watch();
	void expire();
	uint64_t end_of_message() const;
	struct dcqcn_gain gain(uint32_t fresh);
	uint32_t raised(uint32_t wire, uint32_t fresh);
	bool answers();
	Ps gap(uint32_t bytes) const;
	void set_rate(uint32_t kbps);

	RdmaNet &m_net;
	const Ps m_rtt;			/* of an empty network */

	/* the sender; positions are bytes of all messages */
	RdmaHost *const m_host;		/* NULL: plain DCQCN */
	const struct dcqcn_param m_param;
	struct dcqcn m_rp;
	struct dcqcn_own m_own = DCQCN_OWN_LINE;	/* in this phase */
	uint64_t m_end = 0, m_next = 0, m_acked = 0;
	uint64_t m_fresh = 0;		/* from here on nothing was ever sent */
	Ps m_due = 0;			/* when the rate lets it send again */
	Ps m_moved = 0;			/* when something was last sent or acknowledged */
	uint32_t m_rate;		/* kb/s */
	bool m_ready = false;
	uint8_t m_tries = 0;		/* times that it has gone back */
	std::deque<uint64_t> m_ends;	/* of messages that are not acknowledged yet */

	/* the receiver */
	struct mlcc_tmdml_group *const m_group;	/* NULL: plain DCQCN's NP */
	struct mlcc_tmdml_flow m_np = {};
	uint64_t m_expected = 0;
	uint32_t m_unacked = 0;		/* packets */
	uint8_t m_asked = 0xff;		/* m_tries when it last asked for what is missing */
	std::deque<uint64_t> m_messages;	/* ends of those that are not complete yet */

	Event<Flow, &Flow::pace> m_pace;
	Event<Flow, &Flow::expire> m_expire;
};

struct RdmaParam {
	struct dcqcn_param rp;	/* rates are kb/s */
	struct mlcc_tmdml_param np;
	const struct mlcc_profile *profile;	/* NULL: plain DCQCN */
	uint32_t payload, header, window;
	Ps rto, delay;
	uint64_t buffer, kmin, kmax;	/* bytes; of the marks for a port of bps */
	double bps, pmax;
	bool pfc, tmdml;
	bool led;			/* a job's hosts go by the progress of all */
	bool detail;			/* report of each flow, too */
	unsigned ports;			/* that a flow may be sent from */
	unsigned qps;			/* queue pairs of a job's connection */
	uint32_t seed;			/* of the hashes */
};

/* A job on one host: the progress that its flows there share. */
class RdmaHost : public Host {
public:
	RdmaHost(const RdmaParam &c, const Job &job, Paths &p);

	struct dcqcn_param rp;
	struct mlcc_job job = {};
	struct host_led lead = {};	/* no leader: it goes by its own progress */
	struct mlcc_tmdml_group group = {};	/* of what the host receives */
	Paths &paths;
};

class RdmaNet : public Fabric {
public:
	RdmaNet(const Graph &g, const RdmaParam &param);

	Host *host(const Job *job) override;
	void report(std::ostream &out) const override;

	const RdmaParam param;
	uint64_t sent = 0, delivered = 0, hops = 0;
	std::vector<std::unique_ptr<Nic>> nics;

private:
	Path path(unsigned from, unsigned to, uint32_t hash);
	uint32_t choose(unsigned from, unsigned to, Paths &known, uint32_t hash);
	void tell();
	Channel *flow(unsigned from, unsigned to, Host *sender, Host *receiver) override;
	void wire(const Graph &g);

	std::vector<std::unique_ptr<Switch>> m_switches;
	std::vector<std::unique_ptr<Flow>> m_flows;
	std::map<const Job *, Paths> m_paths;
	std::map<const Job *, struct mlcc_job> m_leaders;
	std::vector<RdmaHost *> m_led;
	Event<RdmaNet, &RdmaNet::tell> m_tell;
	std::vector<Port *> m_ports;			/* of each edge: at a, at b */
};

} /* namespace sim */

#endif /* MLCC_SIM_NET_H */
