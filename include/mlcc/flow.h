/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One flow of a job: its congestion window under the rule.
 *
 *	increase	cwnd += share * grow * acked / cwnd	grow from rule.h
 *	decrease	cwnd -= cwnd * beta * yield		beta: 1/2, alpha/2 or 0.3
 *
 * Both carriers of TCP, the module and the BPF program, include this file; what is theirs is how
 * they reach the socket and the job.
 *
 * The window after the compute time decides more than the rule does.  A buffer of many times the
 * BDP makes a flow's share of the link its share of the windows.  A job that comes back with the
 * window it left with overruns the buffer or halves what the others get, just when they are about
 * to finish.  So with MLCC_RESTART_DRAIN
 *
 *	- a phase starts with MLCC_RESTART_CWND segments for the whole job, and p = 0: who is there
 *	  finishes first;
 *	- while the queue is empty (the RTT is near the path's least, path.h) the window doubles
 *	  each round trip: nobody else is using the link.  Once the phase has lost something it
 *	  does so up to ssthresh only, as in any slow start.  Otherwise only the rule lets
 *	  it grow, slowly while p is small.
 *
 *	cwnd	                                ___-- p near 1: grows fast, hardly yields
 *	       queue behind others    ___---'
 *	      ____________________ __/ <- queue empty: doubles each round trip
 *	  10 |
 *	     +----------------------------------------> bytes of the phase
 *
 * Up to the middle of its phase a flow also makes way for others whose packets take up more of the
 * queue than its own: back to the small window.  So of two that are at it together the one that is
 * ahead ends it first, and the next time they meet later.
 *
 * This is what makes the rule's increase matter at all, on a link where a phase lasts some ten
 * round trips under a full buffer but hundreds without one.  contend.h says when it is not done.
 * A flow that sees ECN marks doubles only up to ssthresh: there the marks keep the queue short.
 *
 * Behind fair queueing an empty queue says nothing; what is done there is in fair.h.
 *
 * A flow behind the other flows of its job decides when the job may compute again: it acts as if
 * it were further by what it lacks.
 */
#ifndef MLCC_FLOW_H
#define MLCC_FLOW_H

#include "types.h"
#include "rule.h"
#include "path.h"
#include "phase.h"
#include "reverse.h"

#define MLCC_CWND_MIN		2U
#define MLCC_RESTART_CWND	10U	/* segments, as the initial window (RFC 6928) */
#define MLCC_RESTART_BDP_SHIFT	2	/* or a quarter of the bandwidth-delay product */
#define MLCC_VAIN_P		(MLCC_ONE * 3 / 8)	/* least p of decreases, if waiting fails */
#define MLCC_SOFT_CUTS		8U	/* decreases by loss that the rule softens in a phase */
#define MLCC_JITTER_US		100U	/* what a host's timers may add to half a short RTT */
#define MLCC_OUTWEIGHED		(MLCC_ONE * 5 / 4)	/* others' part of the queue, in its own */
#define MLCC_OUTWEIGHED_BY_P	8U	/* and so much more of it for each p */
#define MLCC_BACK_OFF_SHIFT	4	/* makes way by 1/16 of the window an ACK */
#define MLCC_COUNTED_SHIFT	10	/* a flow counts from 1/1024 of D_phase on */

/* What becomes of the window when a new phase starts after the compute time. */
enum mlcc_restart {
	MLCC_RESTART_BASE,	/* what the kernel does: halved for each RTO of silence */
	MLCC_RESTART_DRAIN,	/* small, and up again as the queue is empty */
};

/* What a flow does about those who were there before it. */
enum mlcc_wait {
	MLCC_WAIT_OVER,		/* the queue has been empty, or it never waited */
	MLCC_WAITING,		/* it started small, and has not yet seen the queue empty */
	MLCC_WAIT_VAIN,		/* it has waited for too long, or no longer waits at all */
};

struct mlcc_flow {
	u64 acked;		/* tp->bytes_acked that the job knows of */
	u64 start_acked;	/* "acked" when this flow entered the phase */
	u64 credit;		/* growth earned and not yet taken, see mlcc_increase() */
	u32 p;			/* progress that the window goes by, or MLCC_NEUTRAL */
	union {
		u32 idle_cwnd;	/* window before the kernel cut it for the silence, 0: it did not */
		u32 pace;	/* while it is paced: the limit that was set, bytes a second */
	};
	u32 last_cwnd;		/* window at the end of the last phase */
	u32 rtt;		/* us, the last one; 0: none in this phase yet */
	struct mlcc_reverse reverse;
	u16 seq;		/* phase that this flow has entered, low bits of the job's */
	u8 cuts;		/* decreases by loss in this phase */
	u8 wait:2,		/* enum mlcc_wait */
	   empty:1,		/* the queue was, at the last round trip */
	   counted:1,		/* among the flows of this phase */
	   held:1,		/* holds back: to be paced by mlcc_fair_pace() */
	   acks_wait:1,		/* ACKs do, for most of the round trip */
	   guess:1;		/* "empty" is a guess: see mlcc_flow_alone() */
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
	f->start_acked = acked;
	f->p = MLCC_NEUTRAL;
}

static __always_inline void mlcc_flow_enter(struct mlcc_flow *f, const struct mlcc_job *j)
{
	u16 seq = MLCC_READ(j->seq);

	if (f->seq == seq)
		return;
	f->seq = seq;
	f->start_acked = f->acked;
	f->counted = 0;
}

/* Flows that answer with a few bytes are none that the job's share is to be divided among. */
static __always_inline void mlcc_flow_count(struct mlcc_flow *f, struct mlcc_job *j)
{
	if (f->counted || f->acked - f->start_acked < MLCC_READ(j->d_phase) >> MLCC_COUNTED_SHIFT)
		return;
	f->counted = 1;
	MLCC_FETCH_ADD32(&j->flows, 1);
}

/*
 * Progress that a flow acts by, from its job's: a laggard adds what it lacks to an equal share of
 * the bytes sent so far, as a part of D_phase.
 */
static __always_inline u32 mlcc_flow_progress(const struct mlcc_flow *f, const struct mlcc_job *j,
					      u32 p)
{
	u64 sent = MLCC_READ(j->acked) - MLCC_READ(j->start_acked);
	u64 mine = (f->acked - f->start_acked) * MLCC_READ(j->flows);

	if (mine < sent)
		p += mlcc_progress(sent - mine, MLCC_READ(j->d_phase), MLCC_READ(j->recip));
	return p < MLCC_ONE ? p : MLCC_ONE;
}

/*
 * All that the flow was given to send is acknowledged.  One of several that is done with its part
 * in a moment does not share the link that the job waits for (its peer is in the same rack, or on
 * this host): what it has sent is not progress.
 */
static __always_inline void mlcc_flow_done(struct mlcc_flow *f, struct mlcc_job *j, u64 now)
{
	u64 mine = f->acked - f->start_acked;

	if (!f->counted || MLCC_READ(j->flows) < 2 || !mlcc_phase_is_young(j, now))
		return;
	f->start_acked = f->acked;
	f->counted = 0;
	MLCC_FETCH_ADD32(&j->flows, -1);
	mlcc_job_aside(j, mine);
}

/*
 * An ACK: @acked is tp->bytes_acked, @now us, @done: nothing is left to be sent or acknowledged.
 * Tells the job and takes over its progress.
 */
static __always_inline void mlcc_flow_acked(struct mlcc_flow *f, struct mlcc_job *j, u64 acked,
					    u64 now, bool done)
{
	u32 p;

	if (acked == f->acked)
		return;
	mlcc_flow_enter(f, j);
	p = mlcc_job_acked(j, acked - f->acked, now);
	f->acked = acked;
	mlcc_flow_count(f, j);
	if (done)
		mlcc_flow_done(f, j, now);
	MLCC_WRITE(f->p, p == MLCC_NEUTRAL ? p : mlcc_flow_progress(f, j, p));
}

/* Whether the flow restarts small and grows by the queue, rather than as its base does. */
static __always_inline bool mlcc_flow_drains(const struct mlcc_flow *f, const struct mlcc_job *j,
					     const struct mlcc_profile *pr)
{
	return pr->restart == MLCC_RESTART_DRAIN && f->p != MLCC_NEUTRAL &&
	       f->wait != MLCC_WAIT_VAIN && !mlcc_contend_keeps(&j->contend) &&
	       !MLCC_READ(j->contend.push);
}

/*
 * No longer waits: slow start up to the window of the last phase, so that ACKs pace what is sent,
 * unless this phase has shown that the window is too large.
 */
static __always_inline void mlcc_flow_take(struct mlcc_flow *f, struct mlcc_win *w)
{
	f->wait = MLCC_WAIT_VAIN;
	if (!f->cuts && w->ssthresh < f->last_cwnd)
		w->ssthresh = f->last_cwnd;
}

/* How long the link needs for a window, us, at @cost of phase.h a byte.  0: not known. */
static __always_inline u64 mlcc_flow_burst(u32 cwnd, u32 mss, u32 cost)
{
	return ((u64)cwnd * mss * cost) >> MLCC_BYTE_COST_SHIFT;
}

/* What a byte takes the link: by the best rate that the job has had, or by its shortest phase. */
static __always_inline u32 mlcc_flow_cost(const struct mlcc_job *j)
{
	u32 cost = MLCC_READ(j->fair.byte_cost);

	return cost ? cost : MLCC_READ(j->byte_cost);
}

/*
 * A queue so long, us, is none: hosts and their timers make that much of a round trip, and so do
 * ten segments that leave at once.
 */
static __always_inline u32 mlcc_flow_slack(const struct mlcc_job *j, const struct mlcc_ack *a)
{
	u32 jitter = a->min_rtt >> 1;

	if (jitter > MLCC_JITTER_US)
		jitter = MLCC_JITTER_US;
	if (jitter < a->min_rtt >> 3)
		jitter = a->min_rtt >> 3;
	return jitter + mlcc_flow_burst(MLCC_RESTART_CWND, a->mss, mlcc_flow_cost(j));
}

/*
 * Whether nobody else uses the link although the queue is not empty, at @rtt us without the wait of
 * ACKs.  There are two reasons, where ACKs do wait.  How long they have waited is known to a tick,
 * and so is the queue (but a host that is busy for a moment is none whose ACKs wait: that takes a
 * tick).  And ACKs that have waited arrive in clusters, so the window leaves in a burst that is a
 * queue itself: one that is no longer than the window is nobody else's, and while the window takes
 * up less than 3/4 of the round trip it is too small for the link.  Where ACKs do not wait, neither
 * holds: beside a long flow the shortest phase is a starved one, says that the link is slow, and
 * the burst would seem long.
 */
static __always_inline bool mlcc_flow_alone(const struct mlcc_job *j, const struct mlcc_ack *a,
					    u32 rtt, u32 cwnd)
{
	u64 burst;

	if (rtt >= a->rtt)
		return false;
	if (a->rtt - rtt >= a->tick && rtt - a->min_rtt <= a->tick)
		return true;
	burst = mlcc_flow_burst(cwnd, a->mss, MLCC_READ(j->byte_cost));
	return rtt - a->min_rtt <= burst && burst < a->rtt - (a->rtt >> 2);
}

/* Whether the job, which may get less than the link, is to hold back from now on. */
static __always_inline bool mlcc_flow_hold(struct mlcc_job *j, u64 now, u32 rtt)
{
	u64 until = j->start_us + mlcc_contend_patience_us(&j->contend);
	u64 acked = MLCC_READ(j->acked);
	u64 d = MLCC_READ(j->d_phase);

	if (!mlcc_fair_sample(&j->fair, now, acked, d, rtt))
		return false;
	if (now >= until) {
		MLCC_WRITE(j->contend.gave_up, 1);
		return false;
	}
	mlcc_fair_hold(&j->fair, now, acked, d, until);
	mlcc_contend_held(&j->contend);
	return true;
}

/* Whether the flow holds back; if so with the least window, and paced by the carrier. */
static __always_inline bool mlcc_flow_holds(struct mlcc_flow *f, struct mlcc_job *j, u64 now,
					    struct mlcc_win *w)
{
	f->held = mlcc_fair_holds(&j->fair, now);
	if (!f->held && f->empty)
		mlcc_fair_pause(&j->fair);
	else if (!f->held)
		f->held = mlcc_flow_hold(j, now, f->rtt);
	if (!f->held)
		return false;
	f->wait = MLCC_WAITING;
	f->empty = 0;
	w->cwnd = MLCC_CWND_MIN;
	return true;
}

/*
 * How small a phase starts: the job's ten segments, or a part of the flow's last rate times the
 * least RTT, which is more only on long paths: there each doubling takes its time.
 */
static __always_inline u32 mlcc_flow_small(const struct mlcc_flow *f, const struct mlcc_job *j,
					   u32 min_rtt)
{
	u32 small = (MLCC_RESTART_CWND * MLCC_READ(j->share)) >> MLCC_SHIFT;
	u64 bdp = f->rtt ? MLCC_DIV64((u64)f->last_cwnd * min_rtt, (u64)f->rtt) : 0;

	if (small < bdp >> MLCC_RESTART_BDP_SHIFT)
		small = bdp >> MLCC_RESTART_BDP_SHIFT;
	return small > MLCC_CWND_MIN ? small : MLCC_CWND_MIN;
}

/*
 * Whether the link would be busy without this job: what of the queue is not its own takes longer
 * than its own segments do.  Who is further stays for longer.
 */
static __always_inline bool mlcc_flow_outweighed(const struct mlcc_flow *f,
						 const struct mlcc_job *j,
						 const struct mlcc_ack *a, u32 rtt, u32 slack,
						 u32 cwnd)
{
	u64 queue = ((u64)(rtt - a->min_rtt) * MLCC_READ(j->share)) >> MLCC_SHIFT;
	u64 own, most;

	if (f->p > MLCC_ONE / 2 || queue <= slack)
		return false;
	own = mlcc_flow_burst(cwnd, a->mss, mlcc_flow_cost(j));
	most = (own * (MLCC_OUTWEIGHED + (u64)MLCC_OUTWEIGHED_BY_P * f->p)) >> MLCC_SHIFT;
	return own && queue - slack > most;
}

/* Makes way for those who keep the link busy, down to the window that a phase begins with. */
static __always_inline void mlcc_flow_back_off(struct mlcc_flow *f, const struct mlcc_job *j,
					       u32 min_rtt, struct mlcc_win *w)
{
	u32 small = mlcc_flow_small(f, j, min_rtt);

	if (w->cwnd <= small)
		return;
	w->cwnd -= (w->cwnd >> MLCC_BACK_OFF_SHIFT) + 1;
	if (w->cwnd < small)
		w->cwnd = small;
	if (w->ssthresh > w->cwnd)
		w->ssthresh = w->cwnd;
	f->wait = MLCC_WAITING;
}

/*
 * Whether most of the round trip is the wait of ACKs, @rtt us being the rest, because the other
 * direction is busy.  A host that is busy for a moment makes ACKs wait, too, but for less than a
 * tick.
 */
static __always_inline bool mlcc_flow_acks_wait(const struct mlcc_ack *a, u32 rtt, u32 slack)
{
	return a->rtt - rtt >= a->tick && 4 * ((u64)rtt + slack) <= a->rtt;
}

/*
 * A round trip has been measured, and @w may change; @a->min_rtt becomes the path's.  The first one
 * of a phase shows whether somebody is there; who is to push, or has waited for too long, takes
 * back its window.
 */
static __always_inline void mlcc_flow_rtt(struct mlcc_flow *f, struct mlcc_job *j,
					  struct mlcc_path *path,
					  const struct mlcc_profile *pr,
					  struct mlcc_ack *a, struct mlcc_win *w)
{
	bool first = !f->rtt, empty;
	u32 rtt, slack;

	a->min_rtt = mlcc_path_rtt(path, a->peer, a->rtt, a->min_rtt, MLCC_READ(j->seq));
	rtt = a->rtt - mlcc_reverse(&f->reverse, a);
	slack = mlcc_flow_slack(j, a);
	empty = rtt - a->min_rtt <= slack;
	if (empty)
		mlcc_path_anew(path);
	f->held = 0;
	f->rtt = a->rtt;
	f->guess = !empty && mlcc_flow_alone(j, a, rtt, w->cwnd);
	f->empty = empty || f->guess;
	f->acks_wait = mlcc_flow_acks_wait(a, rtt, slack);
	if (pr->restart != MLCC_RESTART_DRAIN || f->p == MLCC_NEUTRAL)
		return;
	if (mlcc_flow_drains(f, j, pr) && mlcc_flow_holds(f, j, a->now, w))
		return;
	if (empty) {
		/* another CPU may have turned the phase after this one looked at its clock */
		if (mlcc_fair_tells(&j->fair))
			mlcc_contend_emptied(&j->contend,
					     a->now > j->start_us ? a->now - j->start_us : 0);
		if (f->wait == MLCC_WAITING)
			f->wait = MLCC_WAIT_OVER;
		return;
	}
	if (first && mlcc_contend_behind(&j->contend))
		mlcc_flow_take(f, w);
	if (!f->guess && mlcc_flow_drains(f, j, pr) &&
	    mlcc_flow_outweighed(f, j, a, rtt, slack, w->cwnd))
		mlcc_flow_back_off(f, j, a->min_rtt, w);
	if (f->wait != MLCC_WAITING ||
	    a->now < j->start_us + mlcc_contend_patience_us(&j->contend))
		return;
	MLCC_WRITE(j->contend.gave_up, 1);
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
	f->last_cwnd = last;
	f->idle_cwnd = 0;
	if (pr->restart != MLCC_RESTART_DRAIN)
		return;
	if (w->ssthresh < last)
		w->ssthresh = last;
	f->wait = mlcc_contend_keeps(&j->contend) ? MLCC_WAIT_VAIN : MLCC_WAITING;
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
		if (f->cuts)
			mlcc_path_anew(path);
		mlcc_path_phase(path, MLCC_READ(j->seq));
		min_rtt = MLCC_READ(path->min_rtt);
	}
	mlcc_flow_enter(f, j);
	MLCC_WRITE(f->p, MLCC_READ(j->d_phase) ? 0 : MLCC_NEUTRAL);
	f->cuts = 0;
	f->held = 0;
	mlcc_reverse_silence(&f->reverse);
	if (f->p != MLCC_NEUTRAL)
		mlcc_flow_restart(f, j, pr, min_rtt, w);
	f->rtt = 0;
	return began;
}

/*
 * Whether the window is long enough for the round trip in which the queue was empty: the link
 * would be busy all the time, and to double it would only fill the queue.  A guess is good for a
 * window as long as that round trip; so is an empty queue where most of the round trip is the wait
 * of ACKs: beyond that the window makes the other direction's ACKs wait, whose window then grows,
 * too, until both queues overflow.  Where the queue was seen to be empty beside a window of
 * several, the application sends in pieces (as a ring does, that waits for its peer's): the first
 * segments after a pause find no queue, whatever the window is.  The job's shortest phase may be
 * one that it shared, and so the link be faster than it seems: four times.  Nor is a guess good for
 * more than 3/4 of the window that the last phase ended with, which may have been too large.
 */
static __always_inline bool mlcc_flow_full(const struct mlcc_flow *f, const struct mlcc_job *j,
					   u32 cwnd, u32 mss)
{
	u64 ten = mlcc_flow_burst(MLCC_RESTART_CWND, mss, mlcc_flow_cost(j));
	u64 rtt = f->guess || f->acks_wait ? f->rtt : 4 * (f->rtt + ten);

	if (f->guess && cwnd >= f->last_cwnd - (f->last_cwnd >> 2))
		return true;
	return mlcc_flow_burst(cwnd, mss, MLCC_READ(j->byte_cost)) >= rtt;
}

/*
 * Whether the window may double this round trip because nobody uses the link; if not, and the flow
 * goes by the queue, slow start ends here.  Where the path marks (@marked: of late), or once it has
 * lost something in this phase, only up to ssthresh.
 */
static __always_inline bool mlcc_flow_refill(const struct mlcc_flow *f, const struct mlcc_job *j,
					     const struct mlcc_profile *pr, bool marked,
					     u32 mss, struct mlcc_win *w)
{
	if (!mlcc_flow_drains(f, j, pr))
		return false;
	if (f->rtt && f->empty && ((!marked && !f->cuts) || w->cwnd < w->ssthresh) &&
	    !mlcc_flow_full(f, j, w->cwnd, mss))
		return true;
	if (w->cwnd < w->ssthresh)
		w->ssthresh = w->cwnd;
	return false;
}

/*
 * Factor of the increase, Q16: the rule's, shared among the flows of a job that goes by the queue,
 * so that eight connections are no more than one.  Where marks keep the queue short (@marked) the
 * window is a few segments above the BDP, and to grow slower than the base would leave the link
 * idle after each cut; beside those who do not make way it would only leave the link to them.
 */
static __always_inline u32 mlcc_flow_grow(const struct mlcc_flow *f, const struct mlcc_job *j,
					  const struct mlcc_profile *pr, bool marked)
{
	u32 grow;

	if (f->p == MLCC_NEUTRAL)
		return MLCC_ONE;
	grow = mlcc_grow(pr, f->p);
	if (pr->restart != MLCC_RESTART_DRAIN)
		return grow;
	if (marked || !mlcc_flow_drains(f, j, pr))
		return grow > MLCC_ONE ? grow : MLCC_ONE;
	return ((u64)grow * MLCC_READ(j->share)) >> MLCC_SHIFT;
}

/*
 * Factor of the decrease, Q16.  Beside those who do not make way a flow that starts with its window
 * kept is likely to be cut at once, and would come too late at the p that lets it hold on.  A cut
 * that ends slow start is the base's: the window went up to twice what the path holds, which says
 * nothing of the others, and to come down in small steps is to lose packets for as long.
 */
static __always_inline u32 mlcc_flow_yield(const struct mlcc_flow *f,
					   const struct mlcc_profile *pr,
					   const struct mlcc_win *w)
{
	u32 p = f->p;

	if (p == MLCC_NEUTRAL || f->cuts >= MLCC_SOFT_CUTS || w->cwnd < w->ssthresh)
		return MLCC_ONE;
	if (f->wait == MLCC_WAIT_VAIN && p < MLCC_VAIN_P)
		p = MLCC_VAIN_P;
	return mlcc_yield(pr, p);
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

/* Window after a decrease by @beta (Q16) under @yield (Q16). */
static __always_inline u32 mlcc_decrease(u32 cwnd, u32 beta, u32 yield)
{
	u32 cut = ((u64)cwnd * (((u64)beta * yield) >> MLCC_SHIFT)) >> MLCC_SHIFT;
	u32 left = cwnd - cut;

	return left > MLCC_CWND_MIN ? left : MLCC_CWND_MIN;
}

/* The window is about to be cut, for a loss or a mark. */
static __always_inline void mlcc_flow_cut(struct mlcc_flow *f, bool lost)
{
	f->credit = 0;
	if (lost && f->cuts < MLCC_SOFT_CUTS)
		f->cuts++;
}

#endif /* MLCC_FLOW_H */
