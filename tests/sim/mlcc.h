// SPDX-License-Identifier: GPL-2.0
/*
 * TcpMlcc: the TCP core of mlcc as a congestion control of ns-3, a thin adapter like the module's
 * and the BPF program's.  Where ns-3 calls otherwise than Linux does, this makes it alike:
 *
 *	- the least round trip: ns-3's is that of the smoothed one, so it is taken here;
 *	- a recovery: ns-3 says so before it asks for ssthresh, Linux after that; and of CWR, which
 *	  it enters for a mark, it says nothing;
 *	- windows are bytes there, segments here; a window that the core leaves alone keeps its
 *	  bytes.
 *
 * What ns-3 has no call for: a window that decays in a silence, a reduction that is taken back, an
 * ACK for the packet with which the receiver's state of marks changes (what came before it gets
 * its own).
 */
#ifndef MLCC_SIM_MLCC_H
#define MLCC_SIM_MLCC_H

#include <memory>

#include <ns3/tcp-congestion-ops.h>

#include "tcpcore.h"

namespace sim {

class TcpMlcc : public ns3::TcpCongestionOps {
public:
	static ns3::TypeId GetTypeId();

	/* @job NULL: of none.  @peer: not 0 */
	TcpMlcc(struct mlcc_slot *job, bool ecn, uint32_t peer);

	std::string GetName() const override { return "TcpMlcc"; }
	void Init(ns3::Ptr<ns3::TcpSocketState> tcb) override;
	uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t in_flight) override;
	void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t acked) override;
	void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t acked,
		       const ns3::Time &rtt) override;
	void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb,
				const ns3::TcpSocketState::TcpCongState_t state) override;
	void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb,
		       const ns3::TcpSocketState::TcpCAEvent_t event) override;
	ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

private:
	void read(const ns3::TcpSocketState &tcb);
	void write(ns3::TcpSocketState &tcb);
	void follow(ns3::TcpSocketState::TcpCongState_t state);
	void marked(ns3::TcpSocketState &tcb, bool ce);
	static void send_ack(void *self, uint32_t next);

	struct mlcc_slot *m_job;
	const bool m_ecn;
	const uint32_t m_peer;
	std::unique_ptr<struct sock, void (*)(void *)> m_core;
	struct tcp_sock &m_sk;
	uint32_t m_cwnd = 0, m_ssthresh = 0;	/* as read, segments */
	uint32_t m_una = 0;			/* what bytes_acked goes up to */
	ns3::TcpSocketState::TcpCongState_t m_state = ns3::TcpSocketState::CA_OPEN;
	bool m_begun = false;
	bool m_recovers = false;		/* a recovery begins: ssthresh comes next */
	ns3::TcpSocketState *m_now = nullptr;	/* whose event is being handled */
};

} /* namespace sim */

#endif /* MLCC_SIM_MLCC_H */
