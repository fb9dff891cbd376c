// SPDX-License-Identifier: GPL-2.0
/* TcpMlcc: mlcc.h says what it is. */
#include "mlcc.h"

#include <algorithm>
#include <cstdlib>

#include <ns3/tcp-header.h>
#include <ns3/tcp-rx-buffer.h>

#include "clock.h"

namespace sim {

using ns3::Ptr;
using ns3::TcpSocketState;

NS_OBJECT_ENSURE_REGISTERED(TcpMlcc);

ns3::TypeId TcpMlcc::GetTypeId()
{
	static ns3::TypeId id = ns3::TypeId("sim::TcpMlcc").SetParent<ns3::TcpCongestionOps>();

	return id;
}

TcpMlcc::TcpMlcc(struct mlcc_slot *job, bool ecn, uint32_t peer)
	: m_job(job), m_ecn(ecn), m_peer(peer), m_core(tcp_core_new(job, ecn, peer), std::free),
	  m_sk(*tcp_core_sock(m_core.get()))
{
	m_sk.send_ack = send_ack;
	m_sk.arg = this;
}

/* A listener's child is of no job: it only receives. */
Ptr<ns3::TcpCongestionOps> TcpMlcc::Fork()
{
	return ns3::CreateObject<TcpMlcc>(nullptr, m_ecn, m_peer);
}

void TcpMlcc::Init(Ptr<TcpSocketState> tcb)
{
	if (!m_ecn)
		return;
	tcb->m_useEcn = TcpSocketState::On;
	tcb->m_ecnMode = TcpSocketState::DctcpEcn;
	tcb->m_ectCodePoint = TcpSocketState::Ect0;
}

/* @bytes: negative before the handshake is over */
static uint32_t segments(int32_t bytes, uint32_t mss)
{
	return bytes > 0 ? (bytes + mss - 1) / mss : 0;
}

/* The socket as the core is to see it. */
void TcpMlcc::read(const TcpSocketState &tcb)
{
	uint32_t mss = tcb.m_segmentSize, una = tcb.m_lastAckedSeq.GetValue();

	m_sk.tcp_mstamp = Clock::tracker_us();
	m_sk.mss_cache = mss;
	m_sk.snd_cwnd = m_cwnd = tcb.m_cWnd / mss;
	m_sk.snd_ssthresh = m_ssthresh = tcb.m_ssThresh / mss;
	m_sk.snd_nxt = tcb.m_highTxMark.Get().GetValue();
	if (!m_begun || (int32_t)(una - m_una) < 0)
		m_una = una;
	m_sk.bytes_acked += una - m_una;
	m_sk.snd_una = m_una = una;
	m_sk.packets_out = segments(m_sk.snd_nxt - una, mss);
	m_sk.rcv_nxt = tcb.m_rxBuffer->NextRxSequence().GetValue();
	m_sk.rx_opt.rcv_tsval = tcb.m_rcvTimestampValue;
	m_sk.srtt_us = tcb.m_srtt.Get().GetMicroSeconds() * 8;
	m_sk.limited = tcb.m_isCwndLimited;
	m_sk.write_seq = m_sk.snd_nxt + m_sk.limited;
	/* as the kernel's sample of the rate: a window in a round trip */
	m_sk.rate_delivered = m_sk.snd_cwnd;
	m_sk.rate_interval_us = m_sk.srtt_us / 8;
	if (!m_begun)
		tcp_core_begin(m_core.get());
	m_begun = true;
	follow(tcb.m_congState);
}

/* CWR begins and ends without a call. */
void TcpMlcc::follow(TcpSocketState::TcpCongState_t state)
{
	if (m_recovers || state == m_state)
		return;
	m_state = state;
	tcp_core_state(m_core.get(), state);
}

static uint32_t bytes(uint32_t segments, uint32_t mss)
{
	return std::min<uint64_t>((uint64_t)segments * mss, UINT32_MAX);
}

/* What the core has changed of it. */
void TcpMlcc::write(TcpSocketState &tcb)
{
	uint64_t pace = tcp_core_pace(m_core.get());

	if (m_sk.snd_cwnd != m_cwnd)
		tcb.m_cWnd = bytes(m_sk.snd_cwnd, tcb.m_segmentSize);
	if (m_sk.snd_ssthresh != m_ssthresh)
		tcb.m_ssThresh = bytes(m_sk.snd_ssthresh, tcb.m_segmentSize);
	tcb.m_pacing = pace > 0;
	if (pace)	/* ns-3's own is more, and bounded by this */
		tcb.m_maxPacingRate = tcb.m_pacingRate = ns3::DataRate(8 * pace);
}

void TcpMlcc::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t acked, const ns3::Time &)
{
	uint32_t rtt = tcb->m_lastRtt.Get().GetMicroSeconds();

	read(*tcb);
	m_sk.delivered += acked;
	if (tcb->m_ecnState == TcpSocketState::ECN_ECE_RCVD)
		m_sk.delivered_ce += acked;
	if (rtt)
		m_sk.min_rtt = std::min(m_sk.min_rtt, rtt);
	tcp_core_acked(m_core.get(), rtt);
	write(*tcb);
}

void TcpMlcc::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t acked)
{
	read(*tcb);
	if (acked)
		tcp_core_raise(m_core.get(), acked);
	write(*tcb);
}

uint32_t TcpMlcc::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	read(*tcb);
	m_sk.prior_cwnd = m_sk.snd_cwnd;
	m_sk.snd_ssthresh = tcp_core_reduced(m_core.get());
	if (m_recovers) {
		m_recovers = false;
		follow(TcpSocketState::CA_RECOVERY);
	}
	return bytes(m_sk.snd_ssthresh, tcb->m_segmentSize);
}

void TcpMlcc::CongestionStateSet(Ptr<TcpSocketState> tcb,
				 const TcpSocketState::TcpCongState_t state)
{
	read(*tcb);
	m_recovers = state == TcpSocketState::CA_RECOVERY;
	follow(state);
	write(*tcb);
}

/* The receiver's half of DCTCP. */
void TcpMlcc::marked(TcpSocketState &tcb, bool ce)
{
	m_now = &tcb;
	tcp_core_ce(m_core.get(), ce);
	m_now = nullptr;
	if (tcb.m_ecnState != TcpSocketState::ECN_CE_RCVD &&
	    tcb.m_ecnState != TcpSocketState::ECN_SENDING_ECE)
		return;
	if (m_ecn && !(m_sk.ecn_flags & TCP_CORE_ECHO))
		tcb.m_ecnState = TcpSocketState::ECN_IDLE;
}

/* An ACK for what came before @next, with the marks of that. */
void TcpMlcc::send_ack(void *self, uint32_t next)
{
	TcpMlcc &ops = *static_cast<TcpMlcc *>(self);
	TcpSocketState &tcb = *ops.m_now;
	ns3::SequenceNumber32 is = tcb.m_rxBuffer->NextRxSequence();
	bool echo = ops.m_sk.ecn_flags & TCP_CORE_ECHO;

	tcb.m_rxBuffer->SetNextRxSequence(ns3::SequenceNumber32(next));
	tcb.m_sendEmptyPacketCallback(ns3::TcpHeader::ACK | (echo ? ns3::TcpHeader::ECE : 0));
	tcb.m_rxBuffer->SetNextRxSequence(is);
	ops.m_sk.ack_waits = false;
}

void TcpMlcc::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
	read(*tcb);
	switch (event) {
	case TcpSocketState::CA_EVENT_TX_START:
		tcp_core_start(m_core.get());
		break;
	case TcpSocketState::CA_EVENT_LOSS:
		tcp_core_timeout(m_core.get());
		break;
	case TcpSocketState::CA_EVENT_ECN_IS_CE:
	case TcpSocketState::CA_EVENT_ECN_NO_CE:
		marked(*tcb, event == TcpSocketState::CA_EVENT_ECN_IS_CE);
		break;
	case TcpSocketState::CA_EVENT_DELAYED_ACK:
	case TcpSocketState::CA_EVENT_NON_DELAYED_ACK:
		m_sk.ack_waits = event == TcpSocketState::CA_EVENT_DELAYED_ACK;
		break;
	default:
		break;
	}
	write(*tcb);
}

} /* namespace sim */
