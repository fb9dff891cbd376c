// SPDX-License-Identifier: GPL-2.0
/*
 * A TCP connection of Linux that carries messages one way, in whole segments.
 *
 *	sender		TSO bursts that are deferred, TCP small queues (a millisecond at its rate in
 *			the host's own queue, a megabyte at most), windows that grow only if they
 *			are the limit, samples of the rate, pacing if the core asks for it
 *	recovery	SACK, RACK without a window for reordering (nothing overtakes here), PRR, a
 *			tail loss probe, a time-out of "rto_min" and a round trip that doubles,
 *			at the host's next tick: or it might come whenever others send, for ever
 *	receiver	an ACK for two segments, at a message's end, at once for what is out of
 *			order (and for 16 packets after it), marked or no longer marked; otherwise
 *			in 40 ms
 *
 * Not here: HyStart, reductions that are taken back, a window that decays in a silence,
 * buffers that grow.
 */
#ifndef MLCC_SIM_STREAM_H
#define MLCC_SIM_STREAM_H

#include <deque>
#include <memory>
#include <vector>

#include "clock.h"
#include "fabric.h"
#include "host.h"
#include "tcpcore.h"

namespace sim {

constexpr Ps NEVER = INT64_MAX;

/* An event that can be put off and called off. */
template <typename T, void (T::*Call)()>
class Timer {
public:
	explicit Timer(T *owner) : m_owner(owner), m_event(this) {}

	void at(Ps when)
	{
		m_due = when;
		if (when < m_next) {
			m_next = when;
			m_event.at(when);
		}
	}

	void stop() { m_due = NEVER; }

private:
	void fire()
	{
		Ps now = Clock::now();

		if (now < m_next)
			return;
		m_next = NEVER;
		if (m_due > now) {
			if (m_due != NEVER)
				at(m_due);
			return;
		}
		m_due = NEVER;
		(m_owner->*Call)();
	}

	T *m_owner;
	Ps m_due = NEVER, m_next = NEVER;
	Event<Timer, &Timer::fire> m_event;
};

class Stream : public Channel {
public:
	/* @job NULL: of none.  @there, @back: its paths.  @clock: the host's, at random */
	Stream(HostNet &net, const std::string &cc, struct mlcc_slot *job, uint32_t peer,
	       std::vector<Link *> there, std::vector<Link *> back, uint64_t clock);
	~Stream() override;

	void send(uint64_t bytes) override;
	uint64_t delivered() const override { return m_delivered; }

	void acked(const Segment &ack);		/* the sender's half */

	/* The receiver's: a super-packet grows or is over.  Returns whether a new one has begun. */
	bool joined(const Segment &data);
	void flush();

	const std::vector<Link *> paths[2];	/* of data, of ACKs */
	uint64_t again = 0, timeouts = 0, bursts = 0;

private:
	/* That is sent and not acknowledged. */
	struct Sent {
		Ps at, first_at, delivered_at;	/* as samples of the rate want it */
		uint64_t order;
		uint32_t delivered;
		bool sacked, lost, again, limited;
	};

	/* What an ACK has brought. */
	struct News {
		uint32_t acked = 0, delivered = 0;
		bool lost = false;
		Ps first = -1, last = -1;	/* round trips of what it acknowledges */
		Sent newest = {};		/* of what is delivered */
	};

	void read();
	uint32_t in_flight() const { return m_next - m_una - m_sacked - m_lost; }
	uint32_t burst() const;

	void push();
	Ps held_up();
	bool retransmit();
	bool send_new();
	bool defers(uint32_t room, uint32_t most) const;
	void transmit(uint32_t seq, uint32_t count);
	void pace(uint64_t bytes);
	void validate(bool limited);

	void arrived(Sent &s, News &news);
	void take_sack(const Segment &ack, News &news);
	void take_cumulative(const Segment &ack, News &news);
	void find_lost(News &news);
	void measure(const News &news);
	void sample_rate(const News &news);
	void follow(const Segment &ack, const News &news);
	void probed(const Segment &ack);
	void state(uint8_t to);
	void reduce(uint8_t to);
	void end_reduction();
	void prr(const News &news);
	void raise(uint32_t acked);
	uint32_t reduced();

	Ps tick(Ps when) const;
	void arm();
	void due();
	void probe();
	void timed_out();

	void receive(Range got, bool marked);
	void take_in(Range got);
	void complete();
	void send_ack(bool twice);
	void ack_late() { send_ack(false); }

	HostNet &m_net;
	const bool m_reno;
	struct sock *const m_core;
	struct tcp_sock &m_sk;

	/* sender; segments, ever */
	uint32_t m_una = 0, m_next = 0, m_due_to = 0;
	std::deque<Sent> m_sent;		/* from m_una on */
	uint32_t m_sacked = 0, m_lost = 0, m_lost_from = 0;
	uint64_t m_order = 0, m_newest = 0;	/* of transmissions: the last, that is delivered */
	uint8_t m_state = TCP_CORE_OPEN;
	uint32_t m_high = 0;			/* where a recovery ends */
	uint32_t m_prr_delivered = 0, m_prr_out = 0;
	uint32_t m_reno_acked = 0;
	const Ps m_ticks;
	Ps m_srtt, m_min_rtt;
	unsigned m_backoff = 0;
	uint32_t m_probe_end = 0;		/* of a probe that is not answered; 0: none */
	bool m_probe_again = false, m_is_probe = false;
	bool m_limited = false;			/* by the window */
	uint32_t m_most_out = 0, m_limited_end = 0;
	uint32_t m_idle_until = 0;	/* delivered: up to there too little was to be sent */
	Ps m_first_at = 0, m_delivered_at = 0;
	uint32_t m_stamp = 0;			/* the last ACK's */
	std::deque<std::pair<Ps, uint32_t>> m_queued;	/* in the host: leaves when, bytes */
	uint64_t m_queued_bytes = 0;
	Ps m_paced_until = 0;
	Timer<Stream, &Stream::due> m_timer;
	Timer<Stream, &Stream::push> m_wake;

	/* receiver */
	uint32_t m_expected = 0, m_unacked = 0, m_quick = 16;
	std::vector<Range> m_beyond;		/* the latest first */
	bool m_marked = false;
	Range m_super = {};			/* GRO's, from == to: none */
	bool m_super_marked = false;
	std::deque<std::pair<uint32_t, uint64_t>> m_messages;	/* ends before, bytes */
	uint64_t m_delivered = 0;
	Timer<Stream, &Stream::ack_late> m_late;
};

} /* namespace sim */

#endif /* MLCC_SIM_STREAM_H */
