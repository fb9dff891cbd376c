// SPDX-License-Identifier: GPL-2.0
/* A flow of RoCEv2, both ends of it: net.h has the model. */
#include "net.h"

#include <algorithm>
#include <cmath>

namespace sim {

constexpr uint32_t CONTROL_BYTES = 64;	/* an ACK, NAK or CNP on the wire */
constexpr uint32_t ACK_EVERY = 16;	/* packets */

Flow::Flow(RdmaNet &net, unsigned a, unsigned b, RdmaHost *sender, RdmaHost *receiver,
	   const Path &there, const Path &back)
	: from(a), to(b), paths{ there, back }, m_net(net),
	  m_rtt((there.size() + back.size()) * net.param.delay),
	  m_host(net.param.profile ? sender : nullptr), m_param(sender ? sender->rp : net.param.rp),
	  m_group(receiver && net.param.tmdml ? &receiver->group : nullptr), m_pace(this),
	  m_expire(this)
{
	dcqcn_init(&m_rp, &m_param, Clock::now_ns());
	m_rate = dcqcn_rate(&m_rp);
}

/*** The sender ***/

void Flow::send(uint64_t bytes)
{
	m_end += bytes;
	m_ends.push_back(m_end);
	m_messages.push_back(m_end);
	go();
}

bool Flow::may_send() const
{
	return m_next < m_end && (!m_net.param.window || m_next - m_acked < m_net.param.window);
}

/* How long so many bytes take at the flow's rate. */
Ps Flow::gap(uint32_t bytes) const
{
	return std::llround(bytes * 8e9 / m_rate);
}

/* What is left of the gap to the next packet stretches and shrinks with the rate. */
void Flow::set_rate(uint32_t kbps)
{
	Ps now = Clock::now();

	if (m_due > now)
		m_due = now + std::llround((double)(m_due - now) * m_rate / kbps);
	m_rate = kbps;
}

/*
 * Gets into the NIC's ring, now or when the rate allows it.  A long gap is looked at whenever the
 * rate may have risen.
 */
void Flow::go()
{
	if (m_ready || m_pace.pending() || !may_send())
		return;
	if (Clock::now() < m_due) {
		m_pace.at(std::min<Ps>(m_due, Clock::now() + m_param.time_ns * NS));
		return;
	}
	m_ready = true;
	m_net.nics[from]->ready(*this);
}

/* A CNP may have made it later, an increase earlier. */
void Flow::pace()
{
	if (Clock::now() < m_due)
		set_rate(raised(0, 0));
	go();
}

/* After @fresh bytes more of the job; which calls to make rdma/dcqcn/job.h lists. */
struct dcqcn_gain Flow::gain(uint32_t fresh)
{
	struct mlcc_led *led;
	uint32_t p;

	if (!m_host)
		return DCQCN_PLAIN;
	led = m_host->lead.leader ? &m_host->lead.led : nullptr;
	p = host_sent(&m_host->job, led, &m_param, fresh, Clock::tracker_us());
	if (dcqcn_enter(&m_rp, m_host->job.seq)) {
		m_own = host_own(&m_host->job, led, m_param.line);
		mlcc_job_enter(&m_host->job);
	}
	return dcqcn_gain(m_net.param.profile, p, m_own);
}

/* The rate when @wire bytes leave, @fresh of them for the first time; with what is due by now. */
uint32_t Flow::raised(uint32_t wire, uint32_t fresh)
{
	struct dcqcn_gain g = gain(fresh);

	dcqcn_sent(&m_rp, &m_param, &g, Clock::now_ns(), wire);
	return dcqcn_rate(&m_rp);
}

uint64_t Flow::end_of_message() const
{
	return *std::find_if(m_ends.begin(), m_ends.end(),
			     [this](uint64_t end) { return end > m_next; });
}

/* What the RP has to know of a packet that leaves. */
void Flow::begin(const Packet &p)
{
	uint64_t end = p.seq + p.payload;
	uint32_t fresh = end > m_fresh ? end - m_fresh : 0;

	if (m_host && m_fresh == m_acked && fresh)
		mlcc_job_tx_start(&m_host->job, Clock::tracker_us(), m_rtt / (1000 * NS));
	m_rate = raised(p.bytes, fresh);
	m_fresh += fresh;
	again += !fresh;
	m_due = m_moved = Clock::now();
	m_due += gap(p.bytes);
}

/* The NIC sends a packet of this flow; none: it was acknowledged while it waited for its turn. */
std::optional<Packet> Flow::make()
{
	Packet p = {};
	uint64_t end;

	m_ready = false;
	if (!may_send())
		return {};
	end = end_of_message();
	p.flow = this;
	p.kind = Kind::DATA;
	p.seq = m_next;
	p.payload = std::min<uint64_t>(m_net.param.payload, end - m_next);
	p.bytes = p.payload + m_net.param.header;
	p.tries = m_tries;
	begin(p);
	m_next += p.payload;
	p.ack = m_next == end || !may_send();
	m_net.sent++;
	watch();
	go();
	return p;
}

void Flow::on_ack(uint64_t seq)
{
	if (seq <= m_acked)
		return;
	m_acked = seq;
	m_next = std::max(m_next, seq);
	m_moved = Clock::now();
	while (!m_ends.empty() && m_ends.front() <= seq)
		m_ends.pop_front();
	go();
}

void Flow::go_back(uint64_t seq)
{
	m_tries++;
	on_ack(seq);
	m_next = m_acked;
	go();
}

void Flow::on_cnp()
{
	struct dcqcn_gain g = gain(0);

	cnps++;
	dcqcn_cnp(&m_rp, &m_param, &g, Clock::now_ns());
	set_rate(dcqcn_rate(&m_rp));
}

/* One event looks after all packets in flight. */
void Flow::watch()
{
	if (!m_expire.pending())
		m_expire.at(m_moved + m_net.param.rto);
}

void Flow::expire()
{
	if (m_next == m_acked)
		return;
	if (m_net.nics[from]->port.paused)
		m_moved = Clock::now();
	if (Clock::now() >= m_moved + m_net.param.rto) {
		m_moved = Clock::now();
		go_back(m_acked);
	}
	watch();
}

/*** The receiver ***/

void Flow::answer(Kind kind, uint8_t tries)
{
	Packet p = {};

	p.flow = this;
	p.kind = kind;
	p.seq = m_expected;
	p.bytes = CONTROL_BYTES;
	p.tries = tries;
	m_net.nics[to]->answer(p);
}

void Flow::accept(const Packet &p)
{
	m_expected += p.payload;
	m_unacked++;
	if (p.ack || m_unacked >= ACK_EVERY) {
		m_unacked = 0;
		answer(Kind::ACK, p.tries);
	}
	while (!m_messages.empty() && m_messages.front() <= m_expected) {
		m_messages.pop_front();
		if (on_message)
			on_message();
	}
}

/* Whether a mark is to be answered with a CNP. */
bool Flow::answers()
{
	const struct mlcc_tmdml_param &c = m_net.param.np;

	if (m_group)
		return mlcc_tmdml_marked(m_group, &m_np, &c, Clock::now_ns());
	return mlcc_np_marked(&m_np.np, c.interval, Clock::now_ns());
}

void Flow::on_data(const Packet &p)
{
	m_net.delivered++;
	if (m_group)
		mlcc_tmdml_arrived(m_group, &m_np, &m_net.param.np, p.payload,
				   Clock::tracker_us());
	if (p.marked && answers())
		answer(Kind::CNP, p.tries);
	if (p.seq == m_expected) {
		accept(p);
	} else if (p.seq < m_expected) {
		if (p.ack)
			answer(Kind::ACK, p.tries);
	} else if (m_asked != p.tries) {
		m_asked = p.tries;
		answer(Kind::NAK, p.tries);
	}
}

/* At either end. */
void Flow::received(const Packet &p)
{
	m_net.hops++;
	switch (p.kind) {
	case Kind::DATA:
		on_data(p);
		break;
	case Kind::ACK:
		on_ack(p.seq);
		break;
	case Kind::NAK:
		if (p.tries == m_tries)
			go_back(p.seq);
		break;
	case Kind::CNP:
		on_cnp();
		break;
	}
}

} /* namespace sim */
