// SPDX-License-Identifier: GPL-2.0
/* TCP hosts and their networks: tcp.h has the model. */
#include "tcp.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-l3-protocol.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/packet.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/rtt-estimator.h>
#include <ns3/string.h>
#include <ns3/tcp-cubic.h>
#include <ns3/tcp-dctcp.h>
#include <ns3/tcp-l4-protocol.h>
#include <ns3/tcp-linux-reno.h>
#include <ns3/tcp-option-sack.h>
#include <ns3/tcp-prr-recovery.h>
#include <ns3/tcp-socket-base.h>
#include <ns3/tcp-tx-buffer.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/uinteger.h>

#include "jobs.h"
#include "mlcc.h"

namespace sim {

using ns3::Config::SetDefault;
using ns3::Ptr;
using ns3::StringValue;
using ns3::UintegerValue;

constexpr uint32_t BUFFER = 64 << 20;		/* of a socket, bytes: never the limit */
constexpr uint32_t HEADERS = 66;		/* of a full segment, as a queue counts it */
constexpr uint32_t HOST_NET = 10 << 24;		/* 10.0.0.0/8 */
constexpr uint32_t SWITCH_NET = 172 << 24 | 16 << 16;
const ns3::Time PROBE_LEAST = ns3::MilliSeconds(2);	/* two ticks of Linux */
constexpr uint16_t FIRST_PORT = 10000, PORTS = 30000;

static ns3::Ipv4Address address(unsigned host)
{
	return ns3::Ipv4Address(HOST_NET + 1 + host);
}

/*
 * A socket that finds out what is lost as Linux does, by RACK-TLP (RFC 8985), where ns-3 waits for
 * the time-out: retransmissions that are lost, too, and the last segments before a silence.  A
 * flow's packets keep their order here, so that what is delivered tells that all is lost that was
 * sent before it and is not there.
 */
class TcpSender : public ns3::TcpSocketBase {
protected:
	uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t size, bool with_ack) override
	{
		if (seq < m_tcb->m_highTxMark)
			m_again[seq] = { ++m_turn, m_tcb->m_highTxMark };
		else
			m_last = seq;
		wait();
		return TcpSocketBase::SendDataPacket(seq, size, with_ack);
	}

	void ReceivedAck(Ptr<ns3::Packet> packet, const ns3::TcpHeader &header) override
	{
		TcpSocketBase::ReceivedAck(packet, header);
		wait();
		m_again.erase(m_again.begin(), m_again.lower_bound(m_txBuffer->HeadSequence()));
		if (!m_again.empty() && header.HasOption(ns3::TcpOption::SACK))
			overtaken(*ns3::DynamicCast<const ns3::TcpOptionSack>(
				header.GetOption(ns3::TcpOption::SACK)));
	}

	/* As Linux measures it: ns-3 takes it from timestamps, which are milliseconds. */
	ns3::Time CalculateRttSample(const ns3::TcpHeader &header,
				     const ns3::RttHistory &sent) override
	{
		bool acked = header.GetAckNumber() >= sent.seq + sent.count;

		return acked && !sent.retx ? ns3::Simulator::Now() - sent.time : ns3::Time();
	}

	void ReTxTimeout() override
	{
		m_again.clear();
		TcpSocketBase::ReTxTimeout();
	}

private:
	struct Again {
		uint64_t turn;			/* among those that are sent again */
		ns3::SequenceNumber32 next;	/* where what is new begins that is sent later */
	};

	/* One for one: it takes the place in the network of the packet that is lost. */
	void overtaken(const ns3::TcpOptionSack &sack)
	{
		ns3::SequenceNumber32 highest = m_txBuffer->HeadSequence();
		std::vector<ns3::SequenceNumber32> lost;
		uint64_t turn = 0;

		for (const auto &[begin, end] : sack.GetSackList()) {
			auto i = m_again.lower_bound(begin), past = m_again.lower_bound(end);

			for (; i != past; i = m_again.erase(i))
				turn = std::max(turn, i->second.turn);
			highest = std::max(highest, end);
		}
		for (const auto &[seq, again] : m_again)
			if (again.turn < turn || again.next < highest)
				lost.push_back(seq);
		for (ns3::SequenceNumber32 seq : lost)
			SendDataPacket(seq, m_tcb->m_segmentSize, true);
	}

	/* A tail loss probe comes two round trips after the last segment or ACK. */
	void wait()
	{
		m_probe_at = ns3::Simulator::Now() + 2 * m_tcb->m_srtt.Get() + PROBE_LEAST;
		if (!m_probe.IsPending())
			come_back();
	}

	void come_back()
	{
		m_probe = ns3::Simulator::Schedule(m_probe_at - ns3::Simulator::Now(),
						   &TcpSender::probe, Ptr<TcpSender>(this));
	}

	/* Sends the last segment again: an ACK for it shows what is missing. */
	void probe()
	{
		/*
		 * What is there beyond a hole shows it without a probe.  Of a single segment the
		 * ACK may be delayed: that is left to the time-out.
		 */
		if (m_tcb->m_congState != ns3::TcpSocketState::CA_OPEN || m_txBuffer->GetSacked() ||
		    m_last == m_probed || m_last <= m_txBuffer->HeadSequence())
			return;
		if (ns3::Simulator::Now() < m_probe_at) {
			come_back();
			return;
		}
		m_probed = m_last;
		SendDataPacket(m_last, m_tcb->m_segmentSize, true);
	}

	std::map<ns3::SequenceNumber32, Again> m_again;
	uint64_t m_turn = 0;
	ns3::SequenceNumber32 m_last, m_probed;		/* the last segment, and that of a probe */
	ns3::EventId m_probe;
	ns3::Time m_probe_at;
};

static Ptr<ns3::TcpSocketBase> open_socket(Ptr<ns3::Node> node, const std::string &cc, bool ecn,
					   struct mlcc_slot *job, uint32_t peer)
{
	auto base = ns3::CreateObject<TcpSender>();
	auto tcp = node->GetObject<ns3::TcpL4Protocol>();
	Ptr<ns3::TcpCongestionOps> ops;

	if (cc == "cubic")
		ops = ns3::CreateObject<ns3::TcpCubic>();
	else if (cc == "reno")
		ops = ns3::CreateObject<ns3::TcpLinuxReno>();
	else if (cc == "dctcp")
		ops = ns3::CreateObject<ns3::TcpDctcp>();
	else
		ops = ns3::CreateObject<TcpMlcc>(job, ecn, peer);
	base->SetNode(node);
	base->SetTcp(tcp);
	base->SetRtt(ns3::CreateObject<ns3::RttMeanDeviation>());
	base->SetCongestionControlAlgorithm(ops);
	base->SetRecoveryAlgorithm(ns3::CreateObject<ns3::TcpPrrRecovery>());
	tcp->AddSocket(base);
	return base;
}

/* A connection that carries messages in one direction. */
class TcpChannel : public Channel {
public:
	TcpChannel(const TcpParam &c, const std::string &cc, Ptr<ns3::Node> from,
		   Ptr<ns3::Node> to, ns3::Address peer, struct mlcc_slot *job, uint32_t path)
		: m_mss(c.mss), m_sender(open_socket(from, cc, c.ecn, job, path)),
		  m_listener(open_socket(to, cc, c.ecn, nullptr, path))
	{
		m_listener->Bind(peer);
		m_listener->Listen();
		m_listener->SetAcceptCallback(
			ns3::MakeNullCallback<bool, Ptr<ns3::Socket>, const ns3::Address &>(),
			[this](Ptr<ns3::Socket> s, const ns3::Address &) { accepted(s); });
		m_sender->SetSendCallback([this](Ptr<ns3::Socket>, uint32_t) { fill(); });
		m_sender->Bind();
		m_sender->SetConnectCallback([this](Ptr<ns3::Socket>) { fill(); },
					     ns3::MakeNullCallback<void, Ptr<ns3::Socket>>());
		m_sender->TraceConnectWithoutContext("Retransmission",
						     ns3::MakeCallback(&TcpChannel::again, this));
		/* nodes are not ready before the first event */
		ns3::Simulator::ScheduleNow([this, peer] { m_sender->Connect(peer); });
	}

	void send(uint64_t bytes) override
	{
		m_due += bytes;
		m_messages.push_back(m_due);
		fill();
	}

	uint64_t delivered() const override { return m_delivered; }

	/* ns-3 looks for a packet's socket among all of a host's, one by one: none is left there. */
	void close() override
	{
		m_receiver->SetCloseCallbacks(
			[](Ptr<ns3::Socket> s) { s->Close(); },
			ns3::MakeNullCallback<void, Ptr<ns3::Socket>>());
		m_listener->Close();
		m_sender->Close();
		m_sender = m_listener = m_receiver = nullptr;
	}

	uint64_t retransmitted = 0;		/* segments */

private:
	void accepted(Ptr<ns3::Socket> s)
	{
		m_receiver = s;
		s->SetRecvCallback([this](Ptr<ns3::Socket> socket) { receive(socket); });
	}

	/* Hands to the socket what it takes, in segments, which it need not cut or join then. */
	void fill()
	{
		while (m_handed < m_due) {
			uint32_t size = std::min<uint64_t>({ m_due - m_handed, m_mss,
							     m_sender->GetTxAvailable() });
			uint64_t before = m_handed;

			if (!size)
				return;
			/* sending may call for more */
			m_handed += size;
			if (m_sender->Send(ns3::Create<ns3::Packet>(size)) != (int)size) {
				m_handed = before;
				return;
			}
		}
	}

	void receive(Ptr<ns3::Socket> socket)
	{
		while (Ptr<ns3::Packet> p = socket->Recv())
			m_delivered += p->GetSize();
		while (!m_messages.empty() && m_messages.front() <= m_delivered) {
			m_messages.pop_front();
			if (on_message)
				on_message();
		}
	}

	void again(Ptr<const ns3::Packet>, const ns3::TcpHeader &, const ns3::Address &,
		   const ns3::Address &, Ptr<const ns3::TcpSocketBase>)
	{
		retransmitted++;
	}

	const uint32_t m_mss;
	Ptr<ns3::Socket> m_sender, m_listener, m_receiver;
	uint64_t m_due = 0, m_handed = 0, m_delivered = 0;
	std::deque<uint64_t> m_messages;	/* ends of those that are not complete yet */
};

static void set_defaults(const TcpParam &c)
{
	SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(c.mss));
	SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(BUFFER));
	SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(BUFFER));
	SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
	/* nobody is told at once of a mark that changes the receiver's state, as Linux does */
	SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(c.ecn ? 1 : 2));
	SetDefault("ns3::TcpSocket::DelAckTimeout", ns3::TimeValue(ns3::MilliSeconds(40)));
	/* RACK's window for what comes late is min_rtt / 4: none, where packets keep their order */
	SetDefault("ns3::TcpSocketBase::ReTxThreshold", UintegerValue(1));
	SetDefault("ns3::TcpSocketBase::MinRto", ns3::TimeValue(ns3::MilliSeconds(200)));
	/* ports are used again when nothing of their last flow is under way */
	SetDefault("ns3::TcpSocketBase::MaxSegLifetime", ns3::DoubleValue(0.1));
	SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(c.ecn ? "On" : "Off"));
}

TcpNet::TcpNet(const Graph &g, const TcpParam &p) : param(p)
{
	ns3::Ipv4StaticRoutingHelper routing;
	ns3::InternetStackHelper stack;

	set_defaults(param);
	stack.SetRoutingHelper(routing);
	stack.SetIpv6StackInstall(false);
	for (unsigned i = 0; i < g.nodes; i++) {
		m_nodes.push_back(ns3::CreateObject<ns3::Node>());
		stack.Install(m_nodes.back());
	}
	wire(g);
	route(g);
}

TcpNet::~TcpNet() = default;

/*
 * A queue in front of a device that holds one packet.  A host's own marks and drops nothing: in
 * Linux sockets wait for it (TCP small queues).
 */
void TcpNet::add_queue(Ptr<ns3::NetDevice> device, bool is_host)
{
	uint32_t bytes = is_host ? BUFFER : param.limit;
	ns3::QueueSizeValue limit(ns3::QueueSize(ns3::QueueSizeUnit::BYTES, bytes));
	double mark = param.mark;
	ns3::TrafficControlHelper helper;

	if (param.ecn && !is_host)
		/* a step: what finds more than that is marked; no mean, no drop before the limit */
		helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", limit,
					"MinTh", ns3::DoubleValue(mark),
					"MaxTh", ns3::DoubleValue(mark + 1),
					"QW", ns3::DoubleValue(1),
					"UseEcn", ns3::BooleanValue(true),
					"Gentle", ns3::BooleanValue(false),
					"UseHardDrop", ns3::BooleanValue(false),
					"MeanPktSize", UintegerValue(param.mss + HEADERS));
	else
		helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", limit);
	m_queues.push_back(helper.Install(device).Get(0));
}

void TcpNet::add_interface(Ptr<ns3::NetDevice> device, bool is_host)
{
	Ptr<ns3::Ipv4> ip = device->GetNode()->GetObject<ns3::Ipv4>();
	uint32_t i = ip->AddInterface(device);
	ns3::Ipv4Address is = is_host ? address(device->GetNode()->GetId()) :
					ns3::Ipv4Address(SWITCH_NET + ++m_addresses);

	ip->AddAddress(i, ns3::Ipv4InterfaceAddress(is, ns3::Ipv4Mask::GetOnes()));
	ip->SetUp(i);
	m_interfaces.back().push_back(i);
}

void TcpNet::wire(const Graph &g)
{
	ns3::PointToPointHelper link;

	/* the MTU leaves room for what a host may add to a segment */
	link.SetDeviceAttribute("Mtu", UintegerValue(param.mss + 120));
	link.SetChannelAttribute("Delay", ns3::TimeValue(ns3::Time(param.delay)));
	link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
	for (const Edge &e : g.edges) {
		ns3::NetDeviceContainer ends;

		link.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(e.bps)));
		ends = link.Install(m_nodes[e.a], m_nodes[e.b]);
		m_interfaces.emplace_back();
		for (unsigned i = 0; i < 2; i++) {
			bool is_host = (i ? e.b : e.a) < g.hosts;

			add_queue(ends.Get(i), is_host);
			add_interface(ends.Get(i), is_host);
		}
	}
}

void TcpNet::route(const Graph &g)
{
	ns3::Ipv4StaticRoutingHelper helper;
	Router router(g);

	for (unsigned host = 0; host < g.hosts; host++) {
		Routes r = router.to(host);

		for (unsigned node = 0; node < g.nodes; node++) {
			uint64_t which = mix(param.seed) ^ ((uint64_t)node << 24 | host);
			unsigned e;

			if (r.edges[node].empty())
				continue;
			e = r.edges[node][mix(which) % r.edges[node].size()];
			helper.GetStaticRouting(m_nodes[node]->GetObject<ns3::Ipv4>())
				->AddHostRouteTo(address(host),
						 m_interfaces[e][g.edges[e].b == node]);
		}
	}
}

Host *TcpNet::host(const Job *job)
{
	m_hosts.push_back(std::make_unique<TcpHost>(param.cc, job->param.flows));
	return m_hosts.back().get();
}

Channel *TcpNet::flow(unsigned from, unsigned to, Host *sender, Host *)
{
	ns3::InetSocketAddress peer(address(to), FIRST_PORT + m_channels.size() % PORTS);

	m_channels.push_back(std::make_unique<TcpChannel>(
		param, sender ? param.cc : "cubic", m_nodes[from], m_nodes[to], peer,
		sender ? static_cast<TcpHost *>(sender)->job() : nullptr, 1 + to));
	return m_channels.back().get();
}

void TcpNet::report(std::ostream &out) const
{
	uint64_t dropped = 0, marked = 0, passed = 0, again = 0;

	for (const auto &queue : m_queues) {
		dropped += queue->GetStats().nTotalDroppedPackets;
		marked += queue->GetStats().nTotalMarkedPackets;
		passed += queue->GetStats().nTotalSentPackets;
	}
	for (const auto &channel : m_channels)
		again += channel->retransmitted;
	out << "\"dropped\": " << dropped << ", \"again\": " << again << ", \"marked\": " << marked
	    << ", \"hops\": " << passed;
}

} /* namespace sim */
