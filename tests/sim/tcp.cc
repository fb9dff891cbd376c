// SPDX-License-Identifier: GPL-2.0
/* TCP hosts and their networks: tcp.h has the model. */
#include "tcp.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>

#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-l3-protocol.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/packet.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/string.h>
#include <ns3/tcp-cubic.h>
#include <ns3/tcp-dctcp.h>
#include <ns3/tcp-linux-reno.h>
#include <ns3/tcp-socket-base.h>
#include <ns3/tcp-socket-factory.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/uinteger.h>

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
constexpr uint16_t FIRST_PORT = 10000, PORTS = 30000;

/* A job on one host. */
class TcpHost : public Host {
public:
	explicit TcpHost(struct tcp_job *j) : Host(j ? tcp_job_tracker(j) : nullptr), job(j) {}
	~TcpHost() override { std::free(job); }

	struct tcp_job *const job;
};

static ns3::Ipv4Address address(unsigned host)
{
	return ns3::Ipv4Address(HOST_NET + 1 + host);
}

static Ptr<ns3::TcpSocketBase> open_socket(Ptr<ns3::Node> node, const std::string &cc, bool ecn,
					   struct tcp_job *job, uint32_t peer)
{
	auto type = ns3::TcpSocketFactory::GetTypeId();
	auto base = ns3::DynamicCast<ns3::TcpSocketBase>(ns3::Socket::CreateSocket(node, type));
	Ptr<ns3::TcpCongestionOps> ops;

	if (cc == "cubic")
		ops = ns3::CreateObject<ns3::TcpCubic>();
	else if (cc == "reno")
		ops = ns3::CreateObject<ns3::TcpLinuxReno>();
	else if (cc == "dctcp")
		ops = ns3::CreateObject<ns3::TcpDctcp>();
	else
		ops = ns3::CreateObject<TcpMlcc>(job, ecn, peer);
	base->SetCongestionControlAlgorithm(ops);
	return base;
}

/* A connection that carries messages in one direction. */
class TcpChannel : public Channel {
public:
	TcpChannel(const TcpParam &c, const std::string &cc, Ptr<ns3::Node> from,
		   Ptr<ns3::Node> to, ns3::Address peer, struct tcp_job *job, uint32_t path)
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
	SetDefault("ns3::TcpSocketBase::MinRto", ns3::TimeValue(ns3::MilliSeconds(200)));
	SetDefault("ns3::TcpSocketBase::Timestamp", ns3::BooleanValue(false));
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

/* A queue in front of a device that holds one packet. */
void TcpNet::add_queue(Ptr<ns3::NetDevice> device)
{
	ns3::QueueSizeValue limit(ns3::QueueSize(ns3::QueueSizeUnit::BYTES, param.limit));
	double mark = param.mark;
	ns3::TrafficControlHelper helper;

	if (param.ecn)
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
			add_queue(ends.Get(i));
			add_interface(ends.Get(i), (i ? e.b : e.a) < g.hosts);
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

Host *TcpNet::host(const Job *)
{
	const char *cc = param.cc.c_str();

	m_hosts.push_back(std::make_unique<TcpHost>(tcp_profile(cc) ? tcp_job_new(cc) : nullptr));
	return m_hosts.back().get();
}

Channel *TcpNet::connect(unsigned from, unsigned to, Host *sender, Host *)
{
	ns3::InetSocketAddress peer(address(to), FIRST_PORT + m_channels.size() % PORTS);

	m_channels.push_back(std::make_unique<TcpChannel>(
		param, sender ? param.cc : "cubic", m_nodes[from], m_nodes[to], peer,
		sender ? static_cast<TcpHost *>(sender)->job : nullptr, 1 + to));
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
