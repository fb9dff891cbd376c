/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One flow of a job: its congestion window under the rule.
 *
 *	increase	cwnd += share * grow * acked / cwnd	grow and yield from rule.h
 *	a mark		cwnd -= cwnd * alpha / 2 * yield	as DCTCP
 *	a loss		as the base: Reno, or CUBIC
 *
 * Both carriers of TCP, the module and the BPF program, include this file; what is theirs is how
 * they reach the socket and the job.
 *
 * The window after the compute time decides more than the rule does.  A buffer of many times the
 * BDP makes a flow's share of the link its share of the windows.  A job that comes back with the
 * window it left with overruns the buffer or halves what the others get, just when they are about
 * to finish.  So with MLCC_RESTART_QUEUE
 *
 *	- a phase starts with MLCC_RESTART_CWND segments for the whole job, and p = 0: who is there
 *	  finishes first;
 *	- while the queue is empty (the RTT is near the path's least, path.h) the window doubles
 *	  each round trip: nobody else is using the link.  Once the phase has lost something it
 *	  does so up to ssthresh only, as in any slow start.  Otherwise only the rule lets
 *	  it grow, slowly while p is small.
 *
 * Over a long path a loss costs others seconds, and a queue that looks empty may be what the last
 * one has left.  So there a phase after one that lost something begins with three quarters of the
 * window, as after a silence, doubles up to that only, and grows as its base does.  Nor does a
 * flow wait or defer there: to come back from a small window takes as long as others leave the
 * link free.
 *
 *	cwnd	                                ___-- p near 1: grows faster
 *	       queue behind others    ___---'
 *	      ____________________ __/ <- queue empty: doubles each round trip
 *	  10 |
 *	     +----------------------------------------> bytes of the phase
 *
 * So jobs are served in the order in which they come, and queues are short.  A flow that sees ECN
 * marks doubles only up to ssthresh: there the marks keep the queue short, and the rule decides.
 *
 * How long a flow waits, and what is done behind fair queueing, where an empty queue says nothing,
 * is in queue.h.
 */
#ifndef MLCC_FLOW_H
#define MLCC_FLOW_H

#include "types.h"
#include "rule.h"
#include "path.h"
#include "phase.h"
#include "reverse.h"

#define MLCC_CWND_MIN		MLCC_LEFT_MIN
#define MLCC_RESTART_CWND	10U	/* segments, as the initial window (RFC 6928) */
#define MLCC_RESTART_SHIFT	6	/* or more: doubling may take 1/64 of the iteration */
#define MLCC_JITTER_US		100U	/* what a host's timers may add to half a short RTT */
#define MLCC_COUNTED_SHIFT	10	/* a flow counts from 1/1024 of D_phase on */
#define MLCC_LOOK_SHIFT		3	/* it looks at the queue 8 times a round trip */
#define MLCC_GROW_SHIFT		4	/* the rule adds up to 1/16 of the window a round trip */

/* What a flow does about those who were there before it. */
enum mlcc_wait {
	MLCC_WAIT_OVER,		/* the queue has been empty, or it never waited */
	MLCC_WAITING,		/* it started small, and has not yet seen the queue empty */
	MLCC_WAIT_TIMED_OUT,	/* it has waited for too long, or no longer waits at all */
};

/* What the last look at the queue before the data has shown. */
enum mlcc_seen {
	MLCC_SEEN_SHORT,	/* somebody is there; or there was no look in this phase yet */
	MLCC_SEEN_DEEP,		/* likewise, and the queue is longer than the path */
	MLCC_SEEN_EMPTY,	/* nobody uses the link */
	MLCC_SEEN_FULL,		/* nobody else: the window is what the link needs */
};

struct mlcc_flow {
	u64 acked;		/* tp->bytes_acked that the job knows of */
	union {
		u32 sent;	/* bytes of this phase, up to 2^32 - 1 */
		u32 least;	/* of a background flow: us, the least queue of this round trip */
	};
	u32 looked;		/* us, when it last looked at the queue */
	u64 credit;		/* growth earned and not yet taken, see mlcc_increase() */
	u32 p;			/* progress that the window goes by, or MLCC_NEUTRAL */
	union {
		u32 idle_cwnd;	/* window before the kernel let it decay, 0: it did not */
		u32 pace;	/* while it is paced: the limit that was set, bytes a second */
	};
	u32 last_cwnd;		/* window at the end of the last phase */
	u32 rtt;		/* us, the last one; 0: none in this phase yet */
	struct mlcc_reverse reverse;
	u16 seq;		/* its phase, low bits of the job's number; background: epoch */
	u8 unspent:7,		/* acked segments that the window has not grown by yet */
	   lost_last:1;		/* over a long path: the last phase had lost something */
	u8 wait:2,		/* enum mlcc_wait */
	   seen:2,		/* enum mlcc_seen */
	   counted:1,		/* among the flows of this phase; background: has grown again */
	   deferred:1,		/* to be paced by mlcc_queue_pace() */
	   lost:1,		/* this phase has lost something */
	   lost_before:1;	/* and had, before the last decrease */
};

/* The part of a socket's state that belongs to its congestion control. */
struct mlcc_win {
	u32 cwnd;		/* segments */
	u32 ssthresh;		/* segments */
	u32 prior_cwnd;		/* segments, before the last reduction */
	bool open;		/* neither a reduction nor a recovery is under way */
};

/*
 * What may become of a socket that was like @was, whatever @w asks for: while the window is being
 * reduced, or lost segments are sent again, nothing here raises it, nor what it comes down to
 * (RFC 5681, section 3.2; RFC 6937).
 */
static __always_inline void mlcc_win_bound(struct mlcc_win *w, const struct mlcc_win *was)
{
	if (!was->open) {
		w->cwnd = w->cwnd < was->cwnd ? w->cwnd : was->cwnd;
		w->ssthresh = w->ssthresh < was->ssthresh ? w->ssthresh : was->ssthresh;
	}
	if (w->ssthresh < MLCC_CWND_MIN)
		w->ssthresh = MLCC_CWND_MIN;
}

/* A socket becomes a flow: of a job, or not yet. @acked: tp->bytes_acked. */
static __always_inline void mlcc_flow_init(struct mlcc_flow *f, u64 acked)
{
	__builtin_memset(f, 0, sizeof(*f));
	f->acked = acked;
	f->p = MLCC_NEUTRAL;
}

static __always_inline void mlcc_flow_enter(struct mlcc_flow *f, const struct mlcc_job *j)
{
	u16 seq = MLCC_READ(j->seq);

	if (f->seq == seq)
		return;
	f->seq = seq;
	f->sent = 0;
	f->counted = 0;
}

/*
 * Flows that answer with a few bytes are none that the job's share is to be divided among.  Returns
 * whether the flow is counted from now on.
 */
static __always_inline bool mlcc_flow_count(struct mlcc_flow *f, struct mlcc_job *j, u32 bytes)
{
	if (f->counted)
		return false;
	f->sent = f->sent + bytes < bytes ? ~0U : f->sent + bytes;
	if (f->sent < MLCC_READ(j->d_learnt) >> MLCC_COUNTED_SHIFT)
		return false;
	f->counted = 1;
	mlcc_job_enter(j);
	return true;
}

/*
 * An ACK: @acked is tp->bytes_acked, @now us.  Tells the job and takes over its progress.  Returns
 * whether the flow is among those of the phase from now on: mlcc_job_peer().
 */
static __always_inline bool mlcc_flow_acked(struct mlcc_flow *f, struct mlcc_job *j, u64 acked,
					    u64 now)
{
	u32 bytes = acked - f->acked;

	if (!bytes)
		return false;
	mlcc_flow_enter(f, j);
	f->acked = acked;
	MLCC_WRITE(f->p, mlcc_job_acked(j, bytes, now));
	return mlcc_flow_count(f, j, bytes);
}

/* An ACK of a flow that has no phases (class.h): only the job's bytes count. */
static __always_inline void mlcc_flow_passed(struct mlcc_flow *f, struct mlcc_job *j, u64 acked,
					     u64 now)
{
	u32 bytes = acked - f->acked;

	if (!bytes)
		return;
	f->acked = acked;
	mlcc_job_count(j, bytes, now);
}

/*
 * Whether the flow looks at the queue, and moves its window: not on every ACK, but eight times a
 * round trip, which is as good, and leaves counting as the cost of most ACKs.
 */
static __always_inline bool mlcc_flow_due(struct mlcc_flow *f, u64 now)
{
	if ((u32)now - f->looked < f->rtt >> MLCC_LOOK_SHIFT)
		return false;
	f->looked = now;
	return true;
}

/* Whether the window grows now, by all that was acknowledged since it last did: @acked. */
static __always_inline bool mlcc_flow_spends(struct mlcc_flow *f, u64 now, u32 *acked)
{
	u32 all = f->unspent + *acked;

	if (f->looked != (u32)now && all <= 0x7f) {
		f->unspent = all;
		return false;
	}
	f->unspent = 0;
	*acked = all;
	return true;
}

/* Whether the flow restarts small and grows by the queue, rather than as its base does. */
static __always_inline bool mlcc_flow_by_queue(const struct mlcc_flow *f,
					       const struct mlcc_profile *pr)
{
	return pr->restart == MLCC_RESTART_QUEUE && f->p != MLCC_NEUTRAL &&
	       f->wait != MLCC_WAIT_TIMED_OUT;
}

/*
 * No longer waits: slow start up to the window of the last phase, so that ACKs pace what is sent,
 * unless this phase has shown that the window is too large.
 */
static __always_inline void mlcc_flow_take(struct mlcc_flow *f, struct mlcc_win *w)
{
	f->wait = MLCC_WAIT_TIMED_OUT;
	if (!f->lost && w->ssthresh < f->last_cwnd)
		w->ssthresh = f->last_cwnd;
}

/* What hosts and their timers add to a round trip, us. */
static __always_inline u32 mlcc_flow_jitter(u32 min_rtt)
{
	u32 jitter = min_rtt >> 1;

	if (jitter > MLCC_JITTER_US)
		jitter = MLCC_JITTER_US;
	return jitter > min_rtt >> 3 ? jitter : min_rtt >> 3;
}

/* Whether the flow defers; if so with the least window, and paced by the carrier. */
static __always_inline bool mlcc_flow_defers(struct mlcc_flow *f, struct mlcc_job *j,
					     const struct mlcc_ack *a, struct mlcc_win *w)
{
	u64 now = a->now, acked = MLCC_READ(j->acked), d = MLCC_READ(j->d_phase);
	struct mlcc_queue *q = &j->queue;

	f->deferred = mlcc_queue_defers(q, now);
	if (!f->deferred && f->seen == MLCC_SEEN_EMPTY) {
		mlcc_queue_pause(q);
	} else if (!f->deferred && mlcc_queue_sample(q, now, acked, d, f->rtt) &&
		   a->min_rtt < MLCC_PATH_LONG_US) {
		mlcc_queue_defer(q, now, acked, d);
		f->deferred = 1;
	}
	if (!f->deferred)
		return false;
	f->wait = MLCC_WAITING;
	f->seen = MLCC_SEEN_SHORT;
	w->cwnd = MLCC_CWND_MIN;
	return true;
}

/*
 * Somebody is in the queue.  Who waits for him does so for a while; over a long path nobody waits,
 * not even who has just seen the queue empty: with a small window he would stay behind for the
 * whole phase.
 */
static __always_inline bool mlcc_flow_gives_up(const struct mlcc_flow *f, const struct mlcc_job *j,
					       const struct mlcc_ack *a)
{
	if (a->min_rtt >= MLCC_PATH_LONG_US)
		return f->wait != MLCC_WAIT_TIMED_OUT;
	return f->wait == MLCC_WAITING && a->now >= j->start_us + MLCC_READ(j->queue.patience_us);
}

/*
 * How small a phase starts: the job's ten segments, or more on long paths, where each doubling
 * takes its time.  The window that has the flow's last rate without a queue is to be reached within
 * a small part of the iteration.
 */
static __always_inline u32 mlcc_flow_small(const struct mlcc_flow *f, const struct mlcc_job *j,
					   u32 min_rtt)
{
	u32 small = (MLCC_RESTART_CWND * MLCC_READ(j->share)) >> MLCC_SHIFT;
	u64 bdp = f->rtt ? MLCC_DIV64((u64)f->last_cwnd * min_rtt, (u64)f->rtt) : 0;
	u32 doublings = (MLCC_READ(j->period_us) >> MLCC_RESTART_SHIFT) / (min_rtt ? min_rtt : 1);

	bdp = doublings < 32 ? bdp >> doublings : 0;
	if (small < bdp)
		small = bdp;
	return small > MLCC_CWND_MIN ? small : MLCC_CWND_MIN;
}

/*
 * A round trip has been measured, and @w may change; @a->min_rtt becomes the path's.  The first one
 * of a phase shows whether somebody is there; who has waited for too long takes back its window.  A
 * queue that has come down to an eighth was theirs: they have gone, and what is left is the flow's.
 */
static __always_inline void mlcc_flow_rtt(struct mlcc_flow *f, struct mlcc_job *j,
					  struct mlcc_path *path,
					  const struct mlcc_profile *pr,
					  struct mlcc_ack *a, struct mlcc_win *w)
{
	bool first = !f->rtt, full;
	u32 wait, slack, burst, cost = MLCC_READ(j->queue.byte_cost);
	u32 queue, behind = MLCC_READ(j->queue.behind_us);

	a->min_rtt = mlcc_path_rtt(path, a, MLCC_READ(j->seq));
	f->rtt = a->rtt;
	f->deferred = 0;
	wait = mlcc_reverse(&f->reverse, a);
	/* ten segments that leave at once are no queue */
	burst = mlcc_burst(MLCC_RESTART_CWND * a->mss, cost);
	slack = mlcc_flow_jitter(a->min_rtt) + burst;
	if (a->min_rtt < MLCC_PATH_LONG_US)
		burst = slack;
	full = cost && mlcc_burst((u64)w->cwnd * a->mss, cost) >= a->rtt + burst;
	if (wait && wait >= a->tick)
		slack += a->tick;
	if (a->rtt <= a->min_rtt + wait + slack) {
		f->seen = full ? MLCC_SEEN_FULL : MLCC_SEEN_EMPTY;
		mlcc_path_anew(path);
	} else {
		f->seen = a->rtt > 2 * a->min_rtt + wait ? MLCC_SEEN_DEEP : MLCC_SEEN_SHORT;
	}
	if (pr->restart != MLCC_RESTART_QUEUE || f->p == MLCC_NEUTRAL)
		return;
	if (w->open && mlcc_flow_by_queue(f, pr) && mlcc_flow_defers(f, j, a, w))
		return;
	queue = a->rtt > a->min_rtt ? a->rtt - a->min_rtt : 0;
	if (f->seen >= MLCC_SEEN_EMPTY || queue < behind >> 3) {
		MLCC_WRITE(j->queue.emptied, 1);
		if (f->wait == MLCC_WAITING)
			f->wait = MLCC_WAIT_OVER;
		return;
	}
	if ((first || behind) && queue > behind)
		MLCC_WRITE(j->queue.behind_us, queue);
	if (!mlcc_flow_gives_up(f, j, a))
		return;
	MLCC_WRITE(j->queue.timed_out, 1);
	mlcc_flow_take(f, w);
}

/* The window of the first flight of a phase.  Who no longer waits leaves that to the kernel. */
static __always_inline void mlcc_flow_restart(struct mlcc_flow *f, const struct mlcc_job *j,
					      const struct mlcc_profile *pr, u32 min_rtt,
					      struct mlcc_win *w)
{
	u32 last = f->idle_cwnd > w->cwnd ? f->idle_cwnd : w->cwnd;

	/* a reduction in the last round trip leaves less than what it was to come down to */
	if (last < w->ssthresh && w->ssthresh <= w->prior_cwnd)
		last = w->ssthresh;
	if (f->lost_last)
		last -= last >> 2;
	f->last_cwnd = last;
	f->idle_cwnd = 0;
	if (pr->restart != MLCC_RESTART_QUEUE)
		return;
	if (w->ssthresh < last)
		w->ssthresh = last;
	f->wait = mlcc_queue_keeps(&j->queue) ? MLCC_WAIT_TIMED_OUT : MLCC_WAITING;
	if (f->wait == MLCC_WAITING)
		w->cwnd = mlcc_flow_small(f, j, min_rtt);
}

/*
 * The flow starts to send with nothing in flight; @now and @min_rtt (the socket's) in us.  @path:
 * to its peer, or to another whose place that is.  Returns whether this began a phase of the job.
 */
static __always_inline bool mlcc_flow_tx_start(struct mlcc_flow *f, struct mlcc_job *j,
					       struct mlcc_path *path, u32 peer,
					       const struct mlcc_profile *pr, u64 now, u32 min_rtt,
					       struct mlcc_win *w)
{
	bool began = mlcc_job_tx_start(j, now, min_rtt);

	if (f->seq == (u16)MLCC_READ(j->seq))
		return began;
	if (MLCC_READ(path->peer) == peer) {
		if (f->lost)
			mlcc_path_anew(path);
		mlcc_path_phase(path, MLCC_READ(j->seq));
		min_rtt = MLCC_READ(path->min_rtt);
	}
	mlcc_flow_enter(f, j);
	MLCC_WRITE(f->p, MLCC_READ(j->d_phase) ? 0 : MLCC_NEUTRAL);
	f->lost_last = f->lost && min_rtt >= MLCC_PATH_LONG_US;
	f->lost = 0;
	f->deferred = 0;
	f->unspent = 0;
	mlcc_reverse_silence(&f->reverse);
	if (f->p != MLCC_NEUTRAL)
		mlcc_flow_restart(f, j, pr, min_rtt, w);
	f->rtt = 0;
	return began;
}

/*
 * Whether the window may double this round trip because nobody uses the link; if not, and the flow
 * goes by the queue, slow start ends here.  Where the path marks (@marked: of late), or once it has
 * lost something in this phase, or over a long path in the last one, only up to ssthresh.
 */
static __always_inline bool mlcc_flow_doubles(const struct mlcc_flow *f,
					      const struct mlcc_profile *pr, bool marked,
					      struct mlcc_win *w)
{
	if (!mlcc_flow_by_queue(f, pr))
		return false;
	if (f->rtt && f->seen == MLCC_SEEN_EMPTY &&
	    ((!marked && !f->lost && !f->lost_last) || w->cwnd < w->ssthresh))
		return true;
	if (w->cwnd < w->ssthresh)
		w->ssthresh = w->cwnd;
	return false;
}

/*
 * Factor of the increase, Q16: the rule's, shared among the flows of a job that goes by the queue,
 * so that eight connections are no more than one.  Where marks keep the queue short (@marked) the
 * window is a few segments above the BDP, and a share would leave the link idle after a decrease.
 * Elsewhere the queue overflows before anyone yields, at the others' cost, too, so more than the
 * paper's 2 it is only as long as it is a small part of the window, and over a long path only in a
 * queue that is longer still; where the last phase has lost something there, it is the base's.
 */
static __always_inline u32 mlcc_flow_grow(const struct mlcc_flow *f, const struct mlcc_job *j,
					  const struct mlcc_profile *pr, bool marked, u32 cwnd)
{
	u64 most = (u64)cwnd << (MLCC_SHIFT - MLCC_GROW_SHIFT);
	u32 grow;

	if (f->p == MLCC_NEUTRAL)
		return MLCC_ONE;
	grow = mlcc_grow(pr, f->p);
	if (marked)
		return grow;
	if (most < 2 * MLCC_ONE || (f->seen != MLCC_SEEN_DEEP && f->rtt >= MLCC_PATH_LONG_US))
		most = 2 * MLCC_ONE;
	if (f->lost_last)
		most = MLCC_ONE;
	if (grow > most)
		grow = most;
	if (!mlcc_flow_by_queue(f, pr))
		return grow;
	return ((u64)grow * MLCC_READ(j->share)) >> MLCC_SHIFT;
}

/*
 * Factor of the decrease for a mark, Q16.  One that ends slow start is the base's: the window went
 * up to twice what the path holds, which says nothing of the others.  So is a loss: the queue has
 * overflown, and who comes down in small steps goes on losing packets, others' too.
 */
static __always_inline u32 mlcc_flow_yield(const struct mlcc_flow *f,
					   const struct mlcc_profile *pr,
					   const struct mlcc_win *w)
{
	if (f->p == MLCC_NEUTRAL || w->cwnd < w->ssthresh)
		return MLCC_ONE;
	return mlcc_yield(pr, f->p);
}

/*
 * Segments to add to @cwnd for @acked segments, @grow Q16.  An ACK earns grow / cwnd of a segment;
 * what is earned adds up in f->credit in units of 1 / (cwnd * 65536), so the division runs only
 * when a whole segment is due.  Never more than @acked: that is slow start.
 */
static __always_inline u32 mlcc_increase(struct mlcc_flow *f, u32 cwnd, u32 acked, u32 grow)
{
	u64 cost = (u64)cwnd << MLCC_SHIFT;
	u64 add;

	f->credit += (u64)acked * grow;
	if (f->credit < cost)
		return 0;
	add = MLCC_DIV64(f->credit, cost);
	f->credit -= add * cost;
	return add < acked ? add : acked;
}

/* The window is about to be decreased, for a loss or a mark. */
static __always_inline void mlcc_flow_decrease(struct mlcc_flow *f, bool lost)
{
	f->credit = 0;
	f->unspent = 0;
	f->lost_before = f->lost;
	f->lost |= lost;
}

/*
 * Something of the flow was lost while @bytes were delivered in @us.  A queue overflows where the
 * link is full, so the job's rate is the link's, or less; the best that is known of it counts.
 */
static __always_inline void mlcc_flow_overflow(const struct mlcc_flow *f, struct mlcc_job *j,
					       u64 us, u64 bytes)
{
	u32 known = MLCC_READ(j->queue.byte_cost), cost;

	if (f->p == MLCC_NEUTRAL || !us || !bytes)
		return;
	cost = mlcc_cost((us * MLCC_READ(j->share)) >> MLCC_SHIFT, bytes);
	if (cost && (!known || cost < known))
		MLCC_WRITE(j->queue.byte_cost, cost);
}

/* The last decrease was none: what had seemed lost was late. */
static __always_inline void mlcc_flow_undo(struct mlcc_flow *f)
{
	f->lost = f->lost_before;
}

#endif /* MLCC_FLOW_H */
