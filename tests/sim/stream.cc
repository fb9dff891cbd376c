// SPDX-License-Identifier: GPL-2.0
/* TCP connections: stream.h says of what kind. */
#include "stream.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace sim {

constexpr Ps US = 1000 * NS, MS = 1000 * US;
constexpr Ps PROBE_LEAST = 2 * MS, ACK_LATEST = 40 * MS;
constexpr Ps TICK = 8 * MS;	/* of the timer wheel, HZ 1000: timers of 64 to 511 ms */
constexpr uint32_t NO_SSTHRESH = 0x7fffffff;
constexpr unsigned BACKOFF_MAX = 9;
constexpr uint64_t SMALL_QUEUE = 1 << 20;	/* sysctl tcp_limit_output_bytes */
constexpr unsigned QUICK = 16;			/* ACKs that are not delayed */

static uint32_t us(Ps t)
{
	return std::max<Ps>(1, t / US);
}

Stream::Stream(HostNet &net, const std::string &cc, struct mlcc_slot *job, uint32_t peer,
	       std::vector<Link *> there, std::vector<Link *> back, uint64_t clock)
	: paths{ std::move(there), std::move(back) }, m_net(net),
	  m_reno(cc == "reno" || (cc == "dctcp" && !net.param.ecn)),
	  m_core(tcp_core_new(job, net.param.ecn && (job || cc == "dctcp"), peer)),
	  m_sk(*tcp_core_sock(m_core)), m_ticks(clock % TICK),
	  m_srtt((paths[0].size() + paths[1].size()) * net.param.delay), m_min_rtt(m_srtt),
	  m_timer(this), m_wake(this), m_late(this)
{
	m_sk.snd_cwnd = 10;
	m_sk.snd_ssthresh = NO_SSTHRESH;
	m_sk.mss_cache = net.param.mss;
	read();
	tcp_core_begin(m_core);
}

Stream::~Stream()
{
	std::free(m_core);
}

/* The socket as the core is to see it. */
void Stream::read()
{
	m_sk.tcp_mstamp = Clock::tracker_us();
	m_sk.rx_opt.rcv_tsval = m_stamp;
	m_sk.snd_una = m_una * m_sk.mss_cache;
	m_sk.snd_nxt = m_next * m_sk.mss_cache;
	m_sk.write_seq = m_due_to * m_sk.mss_cache;
	m_sk.packets_out = m_next - m_una;
	m_sk.bytes_acked = (uint64_t)m_una * m_sk.mss_cache;
	m_sk.srtt_us = us(m_srtt) * 8;
	m_sk.min_rtt = us(m_min_rtt);
	/* tcp_is_cwnd_limited() */
	m_sk.limited = m_limited || (m_sk.snd_cwnd < m_sk.snd_ssthresh &&
				     m_sk.snd_cwnd < 2 * m_most_out);
}

/*** Sending ***/

void Stream::send(uint64_t bytes)
{
	m_due_to += std::max<uint64_t>(1, (bytes + m_sk.mss_cache - 1) / m_sk.mss_cache);
	m_messages.push_back({ m_due_to, bytes });
	push();
}

/* Segments that are handed over at a time. */
uint32_t Stream::burst() const
{
	return std::max(1U, m_net.param.tso / m_sk.mss_cache);
}

void Stream::push()
{
	Ps until;

	do {
		until = held_up();
		if (until) {
			validate(in_flight() >= m_sk.snd_cwnd);
			m_wake.at(until);
			return;
		}
	} while (m_lost ? retransmit() : send_new());
}

/* By pacing, or what waits in the host already: until when; 0: it is not. */
Ps Stream::held_up()
{
	Ps now = Clock::now();
	uint64_t most;

	if (m_paced_until > now)
		return m_paced_until;
	while (!m_queued.empty() && m_queued.front().first <= now) {
		m_queued_bytes -= m_queued.front().second;
		m_queued.pop_front();
	}
	read();
	most = std::min<uint64_t>(SMALL_QUEUE, tcp_core_rate(m_core) / 1024);
	if (m_queued_bytes <= std::max<uint64_t>(most, 2 * burst() * m_sk.mss_cache))
		return 0;
	return m_queued.front().first;
}

/* Of what is lost, what the window has room for. */
bool Stream::retransmit()
{
	if (in_flight() >= m_sk.snd_cwnd)
		return false;
	for (m_lost_from = std::max(m_lost_from, m_una); m_lost_from != m_next; m_lost_from++) {
		Sent &s = m_sent[m_lost_from - m_una];

		if (!s.lost)
			continue;
		s.lost = false;
		m_lost--;
		transmit(m_lost_from, 1);
		return true;
	}
	return false;
}

/* tcp_tso_should_defer(): whether it pays to wait for more room. */
bool Stream::defers(uint32_t room, uint32_t most) const
{
	uint32_t third = std::min(m_sk.snd_cwnd, m_net.param.window / m_sk.mss_cache) / 3;

	if (m_state >= TCP_CORE_RECOVERY || m_next == m_una || room >= most || room >= third)
		return false;
	/* an ACK that is far yet is not waited for */
	return Clock::now() - m_sent.front().at >= m_srtt / 2;
}

/* A burst, if the windows let it. */
bool Stream::send_new()
{
	uint32_t left = m_due_to - m_next, out = m_next - m_una, flight = in_flight();
	uint32_t window = m_net.param.window / m_sk.mss_cache;
	uint32_t by_cwnd = m_sk.snd_cwnd > flight ? m_sk.snd_cwnd - flight : 0;
	uint32_t room = std::min(by_cwnd, window > out ? window - out : 0);
	uint32_t most = std::min(burst(), left);

	if (!left) {
		validate(false);
		m_idle_until = std::max(1U, m_sk.delivered + flight);
		return false;
	}
	if (!room || defers(room, most)) {
		validate(by_cwnd <= room);
		return false;
	}
	transmit(m_next, std::min(room, most));
	return true;
}

/* tcp_cwnd_validate(): a window counts as the limit for a round trip after it was. */
void Stream::validate(bool limited)
{
	uint32_t out = m_next - m_una;

	if (m_una >= m_limited_end || limited || (!m_limited && out > m_most_out)) {
		m_limited = limited;
		m_most_out = out;
		m_limited_end = m_next;
	}
}

/* tcp_update_skb_after_send(), of @bytes: if the core paces the socket. */
void Stream::pace(uint64_t bytes)
{
	Ps now = Clock::now(), late = now - m_paced_until, length;
	uint64_t rate;

	read();
	rate = tcp_core_pace(m_core);
	if (!rate)
		return;
	length = bytes / (rate / PS_PER_S);
	m_paced_until = now + length - std::min(length / 2, late);
}

/* New segments, or one again. */
void Stream::transmit(uint32_t seq, uint32_t count)
{
	Ps now = Clock::now(), left = 0;
	bool repeats = seq != m_next;

	if (m_next == m_una) {
		m_first_at = m_delivered_at = now;
		read();
		tcp_core_start(m_core);
	}
	for (uint32_t i = 0; i < count; i++) {
		Segment s = {};

		if (!repeats)
			m_sent.emplace_back();
		m_sent[seq + i - m_una] = { now, m_first_at, m_delivered_at, ++m_order,
					    m_sk.delivered, false, false, repeats,
					    m_idle_until > m_sk.delivered };
		s.stream = this;
		s.seq = seq + i;
		left = paths[0][0]->send(s);
	}
	m_queued.push_back({ left, count * (m_sk.mss_cache + FRAME_BYTES) });
	m_queued_bytes += m_queued.back().second;
	m_prr_out += count;
	bursts++;
	pace(count * m_sk.mss_cache);
	if (repeats) {
		again++;
		m_sk.total_retrans++;
	} else {
		m_next += count;
	}
	if (!repeats || seq == m_una)
		arm();
}

/*** ACKs ***/

void Stream::acked(const Segment &ack)
{
	News news;

	if (ack.seq < m_una)
		return;
	m_stamp = ack.stamp;
	take_sack(ack, news);
	take_cumulative(ack, news);
	if (news.delivered && ack.marked)
		m_sk.delivered_ce += news.delivered;
	find_lost(news);
	measure(news);
	read();
	if (news.delivered)
		tcp_core_acked(m_core, news.last >= 0 ? us(news.last) : -1);
	probed(ack);
	follow(ack, news);
	if (news.acked) {
		m_backoff = 0;
		arm();
	}
	push();
}

void Stream::arrived(Sent &s, News &news)
{
	Ps now = Clock::now();

	if (s.lost) {
		s.lost = false;
		m_lost--;
	}
	if (!s.again) {
		if (news.first < 0)
			news.first = now - s.at;
		news.last = now - s.at;
	}
	if (s.order >= news.newest.order)
		news.newest = s;
	m_newest = std::max(m_newest, s.order);
	m_sk.delivered++;
	news.delivered++;
}

void Stream::take_sack(const Segment &ack, News &news)
{
	for (unsigned i = 0; i < ack.blocks; i++) {
		Range r = { std::max(ack.sack[i].from, m_una), ack.sack[i].to };

		for (uint32_t seq = r.from; seq < r.to; seq++) {
			Sent &s = m_sent[seq - m_una];

			if (s.sacked)
				continue;
			arrived(s, news);
			s.sacked = true;
			m_sacked++;
		}
	}
}

void Stream::take_cumulative(const Segment &ack, News &news)
{
	for (; m_una < ack.seq; m_una++) {
		if (m_sent.front().sacked)
			m_sacked--;
		else
			arrived(m_sent.front(), news);
		m_sent.pop_front();
		news.acked++;
	}
}

/* RACK: what was sent before something that is there, and is not there itself. */
void Stream::find_lost(News &news)
{
	if (!m_sacked && m_state < TCP_CORE_RECOVERY)
		return;
	for (uint32_t seq = m_una; seq != m_next; seq++) {
		Sent &s = m_sent[seq - m_una];

		/* behind it there is nothing that was sent earlier */
		if (!s.again && s.order > m_newest)
			break;
		if (s.sacked || s.lost || s.order >= m_newest)
			continue;
		s.lost = true;
		m_lost++;
		m_lost_from = std::min(m_lost_from, seq);
		news.lost = true;
	}
}

void Stream::measure(const News &news)
{
	if (news.last >= 0)
		m_min_rtt = std::min(m_min_rtt, news.last);
	if (news.first >= 0)
		m_srtt += (news.first - m_srtt) / 8;
	if (news.delivered)
		sample_rate(news);
}

/* tcp_rate_gen() */
void Stream::sample_rate(const News &news)
{
	const Sent &s = news.newest;
	Ps now = Clock::now(), took = std::max(s.at - s.first_at, now - s.delivered_at);
	uint32_t delivered = m_sk.delivered - s.delivered;

	m_first_at = s.at;
	m_delivered_at = now;
	if (m_idle_until && m_sk.delivered > m_idle_until)
		m_idle_until = 0;
	if (took < m_min_rtt)
		return;
	if (s.limited && (uint64_t)delivered * m_sk.rate_interval_us <
				 (uint64_t)m_sk.rate_delivered * us(took))
		return;
	m_sk.rate_delivered = delivered;
	m_sk.rate_interval_us = us(took);
}

/* tcp_fastretrans_alert(), tcp_cong_control() */
void Stream::follow(const Segment &ack, const News &news)
{
	if (m_state == TCP_CORE_CWR ? m_una > m_high :
	    m_state >= TCP_CORE_RECOVERY && m_una >= m_high)
		end_reduction();
	if (m_lost && m_state < TCP_CORE_RECOVERY)
		reduce(TCP_CORE_RECOVERY);
	else if (ack.marked && m_net.param.ecn && m_state < TCP_CORE_CWR)
		reduce(TCP_CORE_CWR);
	if (m_state == TCP_CORE_CWR || m_state == TCP_CORE_RECOVERY)
		prr(news);
	else if (news.acked)
		raise(news.delivered);
}

void Stream::state(uint8_t to)
{
	if (to == m_state)
		return;
	read();
	tcp_core_state(m_core, to);
	m_state = to;
}

/* Of a CWR that becomes a recovery the window has come down already. */
void Stream::reduce(uint8_t to)
{
	m_high = m_next;
	if (m_state != TCP_CORE_CWR) {
		m_prr_delivered = m_prr_out = 0;
		m_sk.prior_cwnd = m_sk.snd_cwnd;
		m_sk.snd_ssthresh = reduced();
	}
	state(to);
}

void Stream::end_reduction()
{
	if (m_state != TCP_CORE_LOSS && m_sk.snd_ssthresh < NO_SSTHRESH)
		m_sk.snd_cwnd = m_sk.snd_ssthresh;
	state(TCP_CORE_OPEN);
}

/* tcp_cwnd_reduction(), RFC 6937 */
void Stream::prr(const News &news)
{
	int64_t flight = in_flight(), room = (int64_t)m_sk.snd_ssthresh - flight, count;

	if (!news.delivered)
		return;
	m_prr_delivered += news.delivered;
	if (room < 0) {
		count = ((uint64_t)m_sk.snd_ssthresh * m_prr_delivered + m_sk.prior_cwnd - 1) /
			m_sk.prior_cwnd - m_prr_out;
	} else {
		count = std::max<int64_t>((int64_t)m_prr_delivered - m_prr_out, news.delivered);
		if (news.acked && !news.lost)
			count++;
		count = std::min(count, room);
	}
	m_sk.snd_cwnd = flight + std::max<int64_t>(count, m_prr_out ? 0 : 1);
}

void Stream::raise(uint32_t acked)
{
	if (!m_reno) {
		read();
		tcp_core_raise(m_core, acked);
		return;
	}
	read();
	if (!m_sk.limited)
		return;
	if (m_sk.snd_cwnd < m_sk.snd_ssthresh) {
		m_sk.snd_cwnd += acked;
		return;
	}
	for (m_reno_acked += acked; m_reno_acked >= m_sk.snd_cwnd; m_reno_acked -= m_sk.snd_cwnd++)
		;
}

uint32_t Stream::reduced()
{
	read();
	return m_reno ? std::max(m_sk.snd_cwnd / 2, 2U) : tcp_core_reduced(m_core);
}

/*** Timers ***/

/* The host's first tick after @when; shorter timers have its finest ones. */
Ps Stream::tick(Ps when) const
{
	Ps length = m_net.param.rto_min < 64 * MS ? MS : TICK;

	return when + length - (when + m_ticks) % length;
}

/* A probe while nothing is known to be missing, otherwise a time-out. */
void Stream::arm()
{
	Ps now = Clock::now(), least = m_net.param.rto_min;
	Ps timeout = (m_srtt + least) << m_backoff;
	Ps probe = 2 * m_srtt + (m_next - m_una == 1 ? least : PROBE_LEAST);

	if (m_una == m_next) {
		m_timer.stop();
		return;
	}
	m_is_probe = (m_state == TCP_CORE_OPEN || m_state == TCP_CORE_CWR) && !m_sacked &&
		     !m_probe_end && probe < timeout;
	m_timer.at(m_is_probe ? now + probe : tick(now + timeout));
}

void Stream::due()
{
	if (m_una == m_next)
		return;
	if (m_is_probe && m_sacked)	/* something is known to be missing by now */
		arm();
	else if (m_is_probe)
		probe();
	else
		timed_out();
}

/* Something new if there is, otherwise the last segment again (RFC 8985, section 7). */
void Stream::probe()
{
	bool fresh = m_next != m_due_to &&
		     (uint64_t)(m_next - m_una + 1) * m_sk.mss_cache <= m_net.param.window;

	m_probe_again = !fresh;
	transmit(fresh ? m_next : m_next - 1, 1);
	m_probe_end = m_next;
	arm();
}

/* A segment that the probe has brought again was lost, which is no reason to recover. */
void Stream::probed(const Segment &ack)
{
	if (!m_probe_end || ack.seq < m_probe_end)
		return;
	m_probe_end = 0;
	if (!m_probe_again || ack.twice || m_state >= TCP_CORE_RECOVERY)
		return;
	reduce(TCP_CORE_CWR);
	end_reduction();
}

void Stream::timed_out()
{
	timeouts++;
	if (m_state < TCP_CORE_CWR || m_una >= m_high) {
		m_sk.prior_cwnd = m_sk.snd_cwnd;
		m_sk.snd_ssthresh = reduced();
		if (!m_reno)
			tcp_core_timeout(m_core);
	}
	for (Sent &s : m_sent) {
		m_lost += !s.sacked && !s.lost;
		s.lost = !s.sacked;
	}
	m_lost_from = m_una;
	m_high = m_next;
	m_probe_end = 0;
	m_sk.snd_cwnd = 1;
	state(TCP_CORE_LOSS);
	m_backoff = std::min(m_backoff + 1, BACKOFF_MAX);
	push();
	arm();
}

/*** Receiving ***/

bool Stream::joined(const Segment &data)
{
	uint32_t most = m_net.param.gro ? SUPER_BYTES / m_sk.mss_cache : 1;
	bool none = m_super.from == m_super.to;

	if (!none && (data.seq != m_super.to || data.marked != m_super_marked ||
		      m_super.to - m_super.from >= most)) {
		flush();
		none = true;
	}
	if (none)
		m_super = { data.seq, data.seq };
	m_super.to++;
	m_super_marked = data.marked;
	return none;
}

void Stream::flush()
{
	Range got = m_super;

	m_super = {};
	if (got.from != got.to)
		receive(got, m_super_marked);
}

void Stream::receive(Range got, bool marked)
{
	bool hole = !m_beyond.empty() || got.from > m_expected, now = hole;

	if (m_net.param.ecn && marked != m_marked) {
		/* what was there before was not marked, or was */
		if (m_unacked)
			send_ack(false);
		m_marked = marked;
		now = true;
	}
	if (got.to <= m_expected) {
		m_quick = QUICK;
		send_ack(true);
		return;
	}
	if (hole)
		m_quick = QUICK;
	take_in(got);
	if (m_quick && !hole) {
		m_quick--;
		now = true;
	}
	if (now || m_unacked >= 2 ||
	    (!m_messages.empty() && m_messages.front().first <= m_expected))
		send_ack(false);
	else
		m_late.at(Clock::now() + ACK_LATEST);
	complete();
}

/* What it touches of what is there beyond a hole becomes one with it. */
void Stream::take_in(Range got)
{
	uint32_t expected = m_expected;

	std::erase_if(m_beyond, [&got](const Range &r) {
		if (r.from > got.to || r.to < got.from)
			return false;
		got = { std::min(r.from, got.from), std::max(r.to, got.to) };
		return true;
	});
	if (got.from > m_expected) {
		m_beyond.insert(m_beyond.begin(), got);
		return;
	}
	m_expected = got.to;
	m_unacked += m_expected - expected;
}

/* Messages that are there. */
void Stream::complete()
{
	while (!m_messages.empty() && m_messages.front().first <= m_expected) {
		m_delivered += m_messages.front().second;
		m_messages.pop_front();
		if (on_message)
			on_message();
	}
}

void Stream::send_ack(bool twice)
{
	Segment s = {};

	m_late.stop();
	m_unacked = 0;
	s.stream = this;
	s.ack = true;
	s.seq = m_expected;
	s.marked = m_marked;
	s.twice = twice;
	s.stamp = Clock::now() / MS;
	s.blocks = std::min<size_t>(m_beyond.size(), std::size(s.sack));
	std::copy_n(m_beyond.begin(), s.blocks, s.sack);
	paths[1][0]->send(s);
}

} /* namespace sim */
