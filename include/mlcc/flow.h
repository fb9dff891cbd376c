/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One flow of a job.
 *
 *	profile's restart	its window in a phase
 *	queue			a share of the job's over its path: window.h; paced, if that is less
 *				than the two segments that a flow has in flight, or its bursts
 *				may overflow a buffer
 *	base			its own: grows by the rule's factor, per flow, as the paper has it
 *
 *	neither a known phase nor a job, or a path of a millisecond and more: as the base
 *
 * Both carriers of TCP, the module and the BPF program, include this file; what is theirs is how
 * they reach the socket and the job.
 *
 * A flow looks at its round trip, and takes its share anew, several times in one.  It tells the job
 * what it has sent once a round trip, and when it has nothing left in flight.
 */
#ifndef MLCC_FLOW_H
#define MLCC_FLOW_H

#include "types.h"
#include "rule.h"
#include "path.h"
#include "phase.h"
#include "reverse.h"
#include "window.h"

#define MLCC_COUNTED_SHIFT	10	/* a flow counts from 1/1024 of D_phase on */
#define MLCC_LOOK_SHIFT		3	/* it looks at its round trip 8 times in one */
#define MLCC_LOOK_MAX_US	1000U	/* and no less often than that: an ACK may be delayed */
#define MLCC_HYSTART_US		4000U	/* slow start ends at round trips longer by this and 1/8 */

struct mlcc_flow {
	u64 acked;		/* tp->bytes_acked that the job knows of */
	union {
		u32 sent;	/* bytes of this phase, up to 2^32 - 1 */
		u32 least;	/* of a background flow: us, the least queue of this round trip */
	};
	u32 looked;		/* us, when it last looked */
	u64 credit;		/* growth earned and not yet taken, see mlcc_increase() */
	u32 p;			/* progress that the window goes by, or MLCC_NEUTRAL */
	u32 rtt;		/* us, the last one; 0: none in this phase yet */
	struct mlcc_reverse reverse;
	u16 seq;		/* its phase, low bits of the job's number; background: epoch */
	u16 round;		/* of its path, the last one in which it told the job, low bits */
	u32 pace;		/* bytes/s of a share below two segments; 0: not paced */
	u8 path;		/* its place in the job's table, MLCC_PATHS: none */
	u8 coupled:1,		/* its window is a share of the job's */
	   paced:1,		/* the socket's pacing is ours */
	   sends:1,		/* among the flows of its path: something is in flight, or paced */
	   lossy:1,		/* its path has lost something lately: paced */
	   limited:1,		/* by its window, since it last told the job */
	   seen:2,		/* background: enum mlcc_seen */
	   counted:1;		/* among the flows of this phase; background: has grown again */
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
		w->cwnd = mlcc_min(w->cwnd, was->cwnd);
		w->ssthresh = mlcc_min(w->ssthresh, was->ssthresh);
	}
	w->ssthresh = mlcc_max(w->ssthresh, MLCC_LEFT_MIN);
}

/* A socket becomes a flow: of a job, or not yet. @acked: tp->bytes_acked. */
static __always_inline void mlcc_flow_init(struct mlcc_flow *f, u64 acked)
{
	__builtin_memset(f, 0, sizeof(*f));
	f->acked = acked;
	f->p = MLCC_NEUTRAL;
	f->path = MLCC_PATHS;
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
	if ((u32)now - f->looked < mlcc_min(f->rtt >> MLCC_LOOK_SHIFT, MLCC_LOOK_MAX_US))
		return false;
	f->looked = now;
	return true;
}

/* The flow has something in flight: it has a share of the window from now on. */
static __always_inline void mlcc_flow_sends(struct mlcc_flow *f, struct mlcc_path *path)
{
	if (f->sends || !path)
		return;
	mlcc_window_join(path);
	f->sends = 1;
}

/* The flow has nothing in flight any more: or nothing that the job is to know of. */
static __always_inline void mlcc_flow_drained(struct mlcc_flow *f, struct mlcc_path *path)
{
	if (f->sends && path)
		mlcc_window_leave(path);
	f->sends = 0;
}

/* Where the path to @peer is kept; NULL: the job has too many. */
static __always_inline struct mlcc_path *mlcc_flow_path(struct mlcc_flow *f,
							const struct mlcc_job *j,
							struct mlcc_path *table, u32 peer)
{
	u32 i = MLCC_READ(f->path);

	MLCC_HIDE(i);
	if (i >= MLCC_PATHS || MLCC_READ(table[i & (MLCC_PATHS - 1)].peer) != peer) {
		f->sends = 0;
		mlcc_path_find(table, peer, MLCC_READ(j->seq), &f->path);
	}
	i = MLCC_READ(f->path);
	if (i >= MLCC_PATHS)
		return NULL;
	MLCC_HIDE(i);
	return &table[i & (MLCC_PATHS - 1)];
}

/*
 * Tells the job, and its path, what has been acknowledged, once a round trip, and when the flow has
 * nothing left in flight (@drained).  Returns as mlcc_flow_acked().
 */
static __always_inline bool mlcc_flow_tell(struct mlcc_flow *f, struct mlcc_job *j,
					   struct mlcc_path *path, u64 acked, u64 now, bool drained)
{
	u16 round = path ? MLCC_READ(path->round) : f->round + 1U;
	bool anew = f->round != round;

	if (acked == f->acked || (!anew && !drained))
		return false;
	if (path)
		mlcc_window_acked(path, now, acked - f->acked, f->limited);
	f->round = round;
	f->limited = 0;
	return mlcc_flow_acked(f, j, acked, now);
}

/* Whether the flow's window is to be a share of the job's. */
static __always_inline bool mlcc_flow_couples(const struct mlcc_flow *f,
					      const struct mlcc_path *path,
					      const struct mlcc_profile *pr)
{
	return path && pr->restart == MLCC_RESTART_QUEUE && f->p != MLCC_NEUTRAL &&
	       MLCC_READ(path->min_rtt) < MLCC_PATH_LONG_US;
}

/* The flow has a window of its own, or none in this phase yet. */
static __always_inline void mlcc_flow_uncouple(struct mlcc_flow *f)
{
	f->coupled = 0;
	f->lossy = 0;
	f->pace = 0;
}

/*
 * Takes the flow's share of the window, unless something of it is being recovered.  Bursts are
 * paced where a phase before has lost something, for they may overflow a buffer again.  Elsewhere
 * pacing only costs: on a link without a bottleneck phases are longer by it.
 */
static __always_inline void mlcc_flow_take(struct mlcc_flow *f, const struct mlcc_path *path,
					   u32 mss, struct mlcc_win *w)
{
	f->coupled = 1;
	f->lossy = MLCC_READ(path->ssthresh) < MLCC_WINDOW_MAX;
	f->pace = mlcc_window_pace(path, mss, f->rtt);
	if (!w->open)
		return;
	w->cwnd = mlcc_window_share(path, mss);
	w->ssthresh = w->cwnd;
}

/*
 * Nothing of the flow is in flight.  The kernel sends the first burst of a phase, 64 KB with
 * segmentation offload, before it tells of the start: so the window comes down to what a phase
 * starts with now.  Within a phase mlcc_flow_tx_start() gives the share back.
 */
static __always_inline void mlcc_flow_rest(struct mlcc_flow *f, const struct mlcc_path *path,
					   u32 mss, struct mlcc_win *w)
{
	f->pace = 0;
	if (f->coupled && w->open)
		w->cwnd = mlcc_min(w->cwnd, mlcc_window_part(MLCC_START_BYTES,
							     MLCC_READ(path->flows_most), mss));
}

/*
 * A round trip has been measured, and @w may change; @a->min_rtt becomes the path's.  While phases
 * are learnt, slow start ends as by HyStart (RFC 9406, section 4.2), by TCP's average.
 */
static __always_inline void mlcc_flow_rtt(struct mlcc_flow *f, struct mlcc_job *j,
					  struct mlcc_path *path, const struct mlcc_profile *pr,
					  struct mlcc_ack *a, struct mlcc_win *w)
{
	bool couples;
	u32 wait;

	a->min_rtt = mlcc_path_rtt(path, a);
	f->rtt = a->rtt;
	wait = mlcc_reverse(&f->reverse, a);
	couples = mlcc_flow_couples(f, path, pr);
	mlcc_window_enter(path, j, MLCC_READ(j->seq), a->now, couples);
	mlcc_window_look(path, a->now, a->rtt - wait, a->mss,
			 couples ? mlcc_grow(pr, f->p) : 0, a->ecn);
	if (couples && MLCC_READ(path->state) != MLCC_WINDOW_NONE) {
		mlcc_flow_take(f, path, a->mss, w);
		return;
	}
	mlcc_flow_uncouple(f);
	if (w->cwnd < w->ssthresh &&
	    a->srtt > a->min_rtt + (a->min_rtt >> 3) + MLCC_HYSTART_US)
		w->ssthresh = w->cwnd;
}

/*
 * The flow starts to send with nothing in flight; @now and @min_rtt (the socket's) in us.  @path:
 * to its peer, or NULL.  Returns whether this began a phase of the job.
 */
static __always_inline bool mlcc_flow_tx_start(struct mlcc_flow *f, struct mlcc_job *j,
					       struct mlcc_path *path,
					       const struct mlcc_profile *pr, u64 now,
					       u32 min_rtt, u32 mss, struct mlcc_win *w)
{
	bool began = mlcc_job_tx_start(j, now, min_rtt), couples;

	mlcc_flow_sends(f, path);
	if (f->seq == (u16)MLCC_READ(j->seq)) {
		if (f->coupled && path)
			mlcc_flow_take(f, path, mss, w);
		return began;
	}
	mlcc_flow_enter(f, j);
	MLCC_WRITE(f->p, MLCC_READ(j->d_phase) ? 0 : MLCC_NEUTRAL);
	mlcc_reverse_silence(&f->reverse);
	f->rtt = 0;
	mlcc_flow_uncouple(f);
	couples = mlcc_flow_couples(f, path, pr);
	if (path)
		mlcc_window_enter(path, j, MLCC_READ(j->seq), now, couples);
	if (couples && MLCC_READ(path->state) != MLCC_WINDOW_NONE)
		mlcc_flow_take(f, path, mss, w);
	/* another flow is just entering it: the first ACK brings a share of what comes of that */
	if (couples && w->open && MLCC_READ(path->seq) != (u16)MLCC_READ(j->seq))
		w->cwnd = MLCC_LEFT_MIN;
	return began;
}

/* Factor of the increase of a flow that has a window of its own, Q16. */
static __always_inline u32 mlcc_flow_grow(const struct mlcc_flow *f, const struct mlcc_profile *pr)
{
	if (f->p == MLCC_NEUTRAL || pr->restart == MLCC_RESTART_QUEUE)
		return MLCC_ONE;
	return mlcc_grow(pr, f->p);
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

#endif /* MLCC_FLOW_H */
