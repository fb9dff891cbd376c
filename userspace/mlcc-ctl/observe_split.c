// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "observe_split.h"

#define QUEUE_US	100	/* of the round trip, are no queue: the host itself */
#define QUEUE_SEGMENTS	12	/* of all flows: more than a link with next to no buffer holds */
#define CA_LOSS		4	/* of tcpi_ca_state */
#define RUN		3	/* phases in a row that are no accident */
#define PHASE_LOOKS	4	/* at the shortest phase tell one queue from another, if coarse */
#define FLUSH_US	2000000	/* what takes as long and 4 times the best phase has no end */

/* What a look at all flows has found. */
struct look {
	u64 us[OBSERVE_PARTS], sum_us;	/* of all flows */
	u64 busy_us;			/* of that which was busy longest */
	u64 bytes, received;
	u32 ack_us, min_rtt_us;
	bool queue, flying, retransmits, lost, storage, exceeds;
};

static u64 above(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The kernel smooths the round trip over the last eight or so. */
static bool is_queued(const struct tcp_info *i)
{
	return i->tcpi_rtt > i->tcpi_min_rtt + i->tcpi_min_rtt / 2 + QUEUE_US;
}

static bool has_queue(const struct observe_job *j)
{
	u64 segments = 0;

	for (const struct observe_flow *f = j->flows; f; f = f->next) {
		const struct tcp_info *i = &f->now;
		u32 flight = i->tcpi_unacked + i->tcpi_retrans - i->tcpi_sacked - i->tcpi_lost;

		if (f->fresh && !f->storage && is_queued(i))
			segments += (u64)flight * (i->tcpi_rtt - i->tcpi_min_rtt) / i->tcpi_rtt;
	}
	return segments >= QUEUE_SEGMENTS;
}

/* It repairs a time-out. */
static bool is_timed_out(const struct tcp_info *i)
{
	return i->tcpi_ca_state == CA_LOSS || i->tcpi_backoff;
}

static enum observe_cause cause_of(const struct look *l, const struct observe_flow *f)
{
	const struct tcp_info *s = &f->now;

	if (is_timed_out(s))
		return OBSERVE_LOSS;
	if (s->tcpi_delivered_ce != f->last.tcpi_delivered_ce)
		return OBSERVE_NETWORK;
	if (!f->last.tcpi_notsent_bytes && !s->tcpi_notsent_bytes &&
	    s->tcpi_unacked < s->tcpi_snd_cwnd - s->tcpi_snd_cwnd / 4)
		return OBSERVE_UNKNOWN;
	return l->queue && is_queued(s) ? OBSERVE_NETWORK : OBSERVE_DRY;
}

/* Of the time that a flow was busy, receiver and buffer are the kernel's own word. */
static void look_flow(struct look *l, const struct observe_flow *f)
{
	const struct tcp_info *s = &f->now, *last = &f->last;
	u64 bytes = above(s->tcpi_bytes_acked, last->tcpi_bytes_acked);
	u64 received = above(s->tcpi_bytes_received, last->tcpi_bytes_received);
	u64 busy = above(s->tcpi_busy_time, last->tcpi_busy_time);
	u64 rwnd = above(s->tcpi_rwnd_limited, last->tcpi_rwnd_limited);
	u64 sndbuf = above(s->tcpi_sndbuf_limited, last->tcpi_sndbuf_limited);
	bool again = s->tcpi_total_retrans != last->tcpi_total_retrans;

	if (f->storage) {
		l->storage |= bytes || received || s->tcpi_unacked;
		return;
	}
	l->us[OBSERVE_RECEIVER] += rwnd;
	l->us[OBSERVE_SENDER] += sndbuf;
	l->us[cause_of(l, f)] += above(busy, rwnd + sndbuf);
	l->sum_us += rwnd + sndbuf + above(busy, rwnd + sndbuf);
	l->busy_us = busy > l->busy_us ? busy : l->busy_us;
	l->bytes += bytes;
	l->received += received;
	l->retransmits |= again;
	l->lost |= again || is_timed_out(s);
	l->exceeds |= bytes && f->exceeds;
	l->flying |= s->tcpi_unacked || s->tcpi_notsent_bytes;
	if (bytes || again)
		l->ack_us = least(l->ack_us, s->tcpi_last_ack_recv * 1000);
	l->min_rtt_us = least(l->min_rtt_us, s->tcpi_min_rtt);
}

/*** Phases ***/

static void reassign(u64 *us, enum observe_cause from, enum observe_cause to)
{
	us[to] += us[from];
	us[from] = 0;
}

static u8 in_a_row(u8 so_far, bool more)
{
	return more ? so_far + (so_far < RUN) : 0;
}

static u64 flow_rate(const struct observe_flow *f)
{
	return f->busy_us ? f->bytes * 1000 / f->busy_us : 0;
}

/*
 * Whether the same flows are slower than siblings with as many bytes, phase after phase, and send
 * at most half as much again once these are done: on one path they would take what is left.
 */
static bool is_path_slow(struct observe_job *j)
{
	const struct observe_phase *p = &j->phase;
	u64 most = 0, best = 0, bytes = 0, tail_bytes = 0;
	struct observe_flow *f;
	bool found = false;

	for (f = j->flows; f; f = f->next)
		most = f->bytes > most ? f->bytes : most;
	for (f = j->flows; f; f = f->next)
		if (f->bytes > most / 2 && flow_rate(f) > best)
			best = flow_rate(f);
	for (f = j->flows; f; f = f->next) {
		bool slow = f->bytes > most / 2 && flow_rate(f) * 3 / 2 < best;

		bytes += slow ? f->bytes - f->tail_bytes : 0;
		tail_bytes += slow ? f->tail_bytes : 0;
		f->slow = in_a_row(f->slow, slow);
		found |= f->slow == RUN;
		f->bytes = 0;
		f->tail_bytes = 0;
		f->busy_us = 0;
	}
	return found && tail_bytes * p->busy_us * 2 <= bytes * p->tail_busy_us * 3;
}

/* Looks too far apart to see where losses come from. */
static bool is_coarse(const struct observe_phase *p)
{
	return p->looked_us > OBSERVE_COARSE_US * p->looks;
}

/* And so few in a phase that it is chance whether one sees a queue, or who is done first. */
static bool is_blind(const struct observe_job *j)
{
	const struct observe_phase *p = &j->phase;

	return is_coarse(p) && p->looked_us * PHASE_LOOKS > j->tracker.best_us * p->looks;
}

/*
 * The rate after losses: the same in each phase where something has a rate.  A token bucket has let
 * a burst through before; a link with next to no buffer never sends faster than it does.
 */
static void judge_rate(struct observe_job *j)
{
	struct observe_phase *p = &j->phase;
	u64 rate = p->later_us ? p->later_kb * 1000000 / p->later_us : 0;

	if (!rate)
		return;
	j->steady = in_a_row(j->steady, mlcc_absdiff(rate, j->rate) <= j->rate / 4);
	j->bursts = in_a_row(j->bursts, p->peak > rate + rate / 2);
	j->rate = j->rate ? (3 * j->rate + rate) / 4 : rate;
}

/* That others send, too, makes a rate fall as well. */
static void judge_losses(struct observe_job *j)
{
	struct observe_phase *p = &j->phase;
	bool steady = j->steady && p->lost;

	if (p->exceeded) {
		reassign(p->us, OBSERVE_NETWORK, OBSERVE_POLICER);
		reassign(p->us, OBSERVE_LOSS, OBSERVE_POLICER);
		reassign(p->us, OBSERVE_DRY, OBSERVE_POLICER);
		p->tail_network_us = 0;
	}
	if (is_coarse(p)) {
		reassign(p->us, OBSERVE_LOSS, OBSERVE_UNKNOWN);
		reassign(p->us, OBSERVE_DRY, OBSERVE_UNKNOWN);
	}
	if (steady && j->bursts == RUN && p->shared_us < p->busy_us / 4) {
		reassign(p->us, OBSERVE_LOSS, OBSERVE_POLICER);
		reassign(p->us, OBSERVE_DRY, OBSERVE_POLICER);
	}
	reassign(p->us, OBSERVE_DRY, steady ? OBSERVE_NETWORK : p->lost ? OBSERVE_LOSS : OBSERVE_UNKNOWN);
	reassign(p->us, OBSERVE_STALLED, OBSERVE_UNKNOWN);
}

static void phase_close(struct observe_job *j)
{
	struct observe_phase *p = &j->phase;

	judge_rate(j);
	judge_losses(j);
	if (is_path_slow(j)) {
		p->us[OBSERVE_PATH] += p->tail_network_us;
		p->us[OBSERVE_NETWORK] -= p->tail_network_us;
	}
	if (is_blind(j)) {
		reassign(p->us, OBSERVE_NETWORK, OBSERVE_UNKNOWN);
		reassign(p->us, OBSERVE_PATH, OBSERVE_UNKNOWN);
	}
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		j->total_us[i] += p->us[i];
	*p = (struct observe_phase){ };
}

/* Shares @wall us out as the flows' own times are. */
static void spread(u64 *to, const struct look *l, u64 wall)
{
	u64 left = wall;

	for (int i = 0; l->sum_us && i < OBSERVE_PARTS; i++) {
		to[i] += wall * l->us[i] / l->sum_us;
		left -= wall * l->us[i] / l->sum_us;
	}
	to[OBSERVE_UNKNOWN] += left;
}

/*** Silences ***/

/* Between phases.  What storage does beside phases, too, nobody need be waiting for. */
static void silence_between(struct observe_job *j, u64 us)
{
	u64 storage = least(j->storage_us, us);

	if (j->storage_busy_us > j->storage_silent_us / 8)
		storage = least(storage, above(us, j->tracker.gap_us));
	j->total_us[OBSERVE_STORAGE] += storage;
	j->total_us[OBSERVE_COMPUTE] += us - storage;
}

/* Within one: a ring sends on when a neighbour's part is there; who never receives is late. */
static enum observe_cause silence_within(const struct observe_job *j, const struct look *l)
{
	if (j->came || l->received)
		return OBSERVE_PEER;
	return j->phase.received ? OBSERVE_UNKNOWN : OBSERVE_SENDER;
}

static u64 network_us(const struct observe_job *j)
{
	return j->total_us[OBSERVE_NETWORK] + j->total_us[OBSERVE_LOSS] +
	       j->total_us[OBSERVE_POLICER] + j->total_us[OBSERVE_PATH];
}

static u64 longer_us(struct observe_job *j)
{
	const struct mlcc_job *t = &j->tracker;

	return least_beyond(&j->least, t->d_learnt, t->comm_us, t->best_us);
}

static void silence_ends(struct observe_job *j, const struct look *l, u64 start)
{
	struct observe_iteration last = {
		j->tracker.start_us, j->tracker.last_us - j->tracker.start_us, mlcc_phase_sent(&j->tracker),
	};
	enum observe_cause within = silence_within(j, l);
	u64 us = j->tracker.seq ? above(start, j->quiet_us) : 0;
	bool ends = mlcc_job_tx_start(&j->tracker, start, l->min_rtt_us);

	if (ends) {
		phase_close(j);
		if (mlcc_confident(&j->tracker))
			j->lost_us += least(longer_us(j), network_us(j) - j->network_us);
		j->network_us = network_us(j);
		if (j->learnt)
			j->iterations[j->iteration_count++ % OBSERVE_ITERATIONS] = last;
	}
	if (!mlcc_confident(&j->tracker))
		j->total_us[OBSERVE_UNKNOWN] += us;
	else if (ends)
		silence_between(j, us);
	else
		j->phase.us[within] += us;
	if (!j->learnt && mlcc_confident(&j->tracker)) {
		__builtin_memset(j->total_us, 0, sizeof(j->total_us));
		j->network_us = 0;
		j->learnt = true;
	}
	j->storage_us = 0;
}

/*** Looks ***/

static u64 busy_since(const struct observe_flow *f)
{
	return f->fresh && f->known && !f->storage ?
	       above(f->now.tcpi_busy_time, f->last.tcpi_busy_time) : 0;
}

/* Whether some flows of this phase have nothing left to send, and others have. */
static bool is_tail(const struct observe_job *j)
{
	bool busy = false, done = false;

	for (const struct observe_flow *f = j->flows; f; f = f->next) {
		bool is_busy = busy_since(f) || (f->now.tcpi_unacked && !f->storage);

		busy |= is_busy;
		done |= f->busy_us && !is_busy;
	}
	return busy && done;
}

static void observe_take(struct observe_job *j)
{
	for (struct observe_flow *f = j->flows; f; f = f->next) {
		u64 bytes = f->known ? above(f->now.tcpi_bytes_acked, f->last.tcpi_bytes_acked) : 0;

		if (!f->fresh)
			continue;
		f->bytes += bytes;
		f->tail_bytes += j->in_tail ? bytes : 0;
		f->busy_us += busy_since(f);
		f->last = f->now;
		f->known = true;
		f->fresh = false;
	}
}

/* @whole: something was in flight all the time since the look before, @since us. */
static void look_rate(struct observe_phase *p, const struct look *l, bool whole, u64 since)
{
	u64 rate = since ? l->bytes * 1000 / since : 0;

	if (!p->lost && p->peak < rate)
		p->peak = rate;
	p->timed_out |= l->us[OBSERVE_LOSS] || (whole && !l->bytes);
	if (p->lost && whole && !p->timed_out) {
		p->later_kb += l->bytes >> 10;
		p->later_us += since;
	}
	p->lost |= l->lost;
}

/* The causes of @wall us, of which the flows were busy most. */
static void look_causes(struct observe_job *j, struct look *l, u64 wall)
{
	struct observe_phase *p = &j->phase;

	/* a time-out shows when it is over: nothing is acknowledged, then something sent again */
	if (!l->bytes && !l->lost && l->us[OBSERVE_RECEIVER] < l->sum_us / 2) {
		p->us[OBSERVE_STALLED] += wall;
		return;
	}
	reassign(p->us, OBSERVE_STALLED, l->retransmits ? OBSERVE_LOSS : OBSERVE_UNKNOWN);
	if (l->busy_us < wall / 2) {
		p->us[OBSERVE_UNKNOWN] += wall - l->busy_us;
		wall = l->busy_us;
	}
	spread(p->us, l, wall);
	if (j->in_tail && l->sum_us)
		p->tail_network_us += wall * l->us[OBSERVE_NETWORK] / l->sum_us;
	*(j->in_tail ? &p->tail_busy_us : &p->busy_us) += wall;
}

static void look_active(struct observe_job *j, struct look *l, u64 now)
{
	u64 since = now - j->seen_us;
	u64 end = l->flying ? now : now - (l->ack_us < since ? l->ack_us : 0);
	u64 start = j->busy ? j->seen_us : end - least(l->busy_us, end - j->seen_us);

	if (!j->busy)
		silence_ends(j, l, start);
	if (!j->phase.since_us)
		j->phase.since_us = start;
	j->phase.looks++;
	j->phase.looked_us += since;
	j->in_tail = is_tail(j);
	mlcc_job_count(&j->tracker, l->bytes, end);
	j->phase.received += l->received;
	j->phase.exceeded |= l->exceeds;
	look_rate(&j->phase, l, end - start == since, since);
	look_causes(j, l, end - start);
	j->from_us = start;
	j->to_us = end;
	j->quiet_us = end;
	since = now - j->phase.since_us;
	if (since > FLUSH_US && since / 4 > j->tracker.best_us)
		phase_close(j);
}

void observe_look(struct observe_job *j, u64 now)
{
	struct look l = { .ack_us = ~0U, .min_rtt_us = ~0U, .queue = has_queue(j) };
	bool active;

	for (const struct observe_flow *f = j->flows; f; f = f->next)
		if (f->fresh && f->known)
			look_flow(&l, f);
	active = j->seen_us && (l.bytes || l.sum_us || l.flying);
	j->from_us = 0;
	j->to_us = 0;
	if (active)
		look_active(j, &l, now);
	else if (j->seen_us && l.storage)
		j->storage_us += now - j->seen_us;
	/* not where one ends and the other begins */
	if (j->seen_us && l.storage && (!active || (j->busy && l.flying)))
		*(active ? &j->storage_busy_us : &j->storage_silent_us) += now - j->seen_us;
	observe_take(j);
	j->busy = l.flying;
	j->came = l.received;
	j->seen_us = now;
}

enum observe_cause observe_first(const struct observe_job *j, u64 *all)
{
	enum observe_cause first = OBSERVE_NETWORK;

	*all = 0;
	for (int i = 0; i < OBSERVE_CAUSES; i++) {
		*all += j->total_us[i];
		if (i != OBSERVE_COMPUTE && j->total_us[i] > j->total_us[first])
			first = i;
	}
	if (!*all)
		return OBSERVE_UNKNOWN;
	return j->total_us[first] < *all / 10 ? OBSERVE_COMPUTE : first;
}
