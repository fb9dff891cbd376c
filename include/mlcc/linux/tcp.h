/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A TCP socket as a flow of a job: what both carriers, the module and the BPF program, do at the
 * calls of tcp_congestion_ops.  tcp_mlcc/cong.c has the model, the parameters and the sources; the
 * policy is flow.h.  This file knows the socket, and nothing of how a job is found.
 *
 *	call of the kernel		here
 *	pkts_acked, cong_avoid		mlcc_acked(), mlcc_raise()
 *	ssthresh			mlcc_reduced()
 *	set_state			mlcc_state()
 *	cwnd_event: TX_START		mlcc_starts(), mlcc_start_job()
 *	            LOSS		mlcc_timeout()
 *	            ECN_IS_CE, _NO_CE	mlcc_ce_state()
 *	undo_cwnd			mlcc_undo()
 *	min_tso_segs			mlcc_pace()
 *	release				mlcc_pace_end()
 *
 * Before it includes this file a carrier declares the kernel's types and functions, and defines
 * what carrier.h lists.
 */
#ifndef MLCC_LINUX_TCP_H
#define MLCC_LINUX_TCP_H

#include "../flow.h"
#include "../background.h"
#include "../class.h"
#include "../dctcp.h"
#include "../cubic.h"

/*** The socket ***/

static __always_inline bool mlcc_is_open(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder;
}

static __always_inline void mlcc_win_read(const struct sock *sk, struct mlcc_win *w)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	w->cwnd = tp->snd_cwnd;
	w->ssthresh = tp->snd_ssthresh;
	w->prior_cwnd = tp->prior_cwnd;
	w->open = mlcc_is_open(sk);
}

static __always_inline void mlcc_cwnd_write(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? cwnd : tp->snd_cwnd_clamp;
}

/* What the job's phase makes of the window. */
static __always_inline void mlcc_win_write(struct sock *sk, struct mlcc_win *w)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_win was;

	mlcc_win_read(sk, &was);
	mlcc_win_bound(w, &was);
	mlcc_cwnd_write(tp, w->cwnd);
	tp->snd_ssthresh = w->ssthresh;
}

static __always_inline void mlcc_dctcp_start(struct mlcc_dctcp *d, const struct tcp_sock *tp)
{
	d->alpha = MLCC_ONE;
	d->next_seq = tp->snd_nxt;
	d->delivered = tp->delivered;
	d->delivered_ce = tp->delivered_ce;
	d->prior_rcv_nxt = tp->rcv_nxt;
}

/*
 * Tells the job what the flow has sent again and seen marked.  Not on every ACK: when a burst
 * begins, when the state of the loss recovery changes (so 16 bits of it will do), and at the end.
 */
static __always_inline void mlcc_count(struct sock *sk, struct mlcc_slot *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	u16 retrans = tp->total_retrans - ca->retrans;
	u32 ce = tp->delivered_ce - ca->ce;

	ca->retrans = tp->total_retrans;
	ca->ce = tp->delivered_ce;
	if (s && (retrans || ce))
		mlcc_slot_count(s, retrans, ce);
}

/*** Classes ***/

/* Nothing of the flow counts as the job's any more. */
static __always_inline void mlcc_leave(struct sock *sk, struct mlcc_slot *s)
{
	struct mlcc_flow *f = &mlcc_sk(sk)->flow;

	if (f->sends)
		mlcc_flow_drained(f, mlcc_flow_path(f, &s->job, s->paths, mlcc_peer(sk)));
}

/* The flow has no phase: it does what its base does, and enters anew what comes after. */
static __always_inline void mlcc_phaseless(struct sock *sk)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	MLCC_WRITE(ca->flow.p, MLCC_NEUTRAL);
	ca->flow.seq = 0;
	mlcc_flow_uncouple(&ca->flow);
}

/* The job's class is another one than the flow goes by. */
static MLCC_OUTLINE void mlcc_class_change(struct sock *sk, struct mlcc_slot *s, u8 class)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (s)
		mlcc_leave(sk, s);
	mlcc_phaseless(sk);
	if (ca->class == MLCC_CLASS_BACKGROUND) {
		mlcc_background_end(&ca->flow);
		if (ca->cubic_base)
			mlcc_cubic_restart(&ca->cubic);
	}
	ca->class = class;
	if (class == MLCC_CLASS_BACKGROUND)
		mlcc_background_begin(&ca->flow, tcp_sk(sk)->tcp_mstamp);
}

/* Whether the flow is one of training; a change of the job's class is followed. */
static __always_inline bool mlcc_class_follow(struct sock *sk, struct mlcc_slot *s)
{
	u8 class = mlcc_slot_class(s);

	if (mlcc_sk(sk)->class != class)
		mlcc_class_change(sk, s, class);
	return class == MLCC_CLASS_TRAINING;
}

/* It has no job any more, nor the class of one. */
static __always_inline void mlcc_class_none(struct sock *sk)
{
	if (mlcc_sk(sk)->class != MLCC_CLASS_TRAINING)
		mlcc_class_change(sk, NULL, MLCC_CLASS_TRAINING);
	mlcc_phaseless(sk);
}

/*** ACKs ***/

/* The flow's job has been deleted: nor is it among its flows, should it be set again. */
static __always_inline void mlcc_neutral(struct sock *sk, struct mlcc_slot *s)
{
	mlcc_leave(sk, s);
	mlcc_sk(sk)->flow.acked = tcp_sk(sk)->bytes_acked;
	mlcc_class_none(sk);
}

/* Whether the flow's queue marks: that both ends could read it says nothing of what is between. */
static __always_inline bool mlcc_marked(const struct sock *sk)
{
	return mlcc_sk(sk)->ecn && tcp_sk(sk)->delivered_ce;
}

/* What an ACK has measured, with a round trip of @rtt us. */
static __always_inline void mlcc_ack_read(const struct sock *sk, u32 rtt, struct mlcc_ack *a)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	a->now = tp->tcp_mstamp;
	a->peer = mlcc_peer(sk);
	a->rtt = rtt;
	a->srtt = tp->srtt_us >> 3;
	a->min_rtt = tcp_min_rtt(tp);
	a->tsval = tp->rx_opt.rcv_tsval;
	a->mss = tp->mss_cache;
	a->ecn = mlcc_marked(sk);
	a->tick = mlcc_tick(tp);
}

/* A round trip of @rtt us has been measured. */
static __always_inline void mlcc_round(struct sock *sk, struct mlcc_slot *s, struct mlcc_path *path,
				       u32 rtt)
{
	struct mlcc_sk *ca = mlcc_sk(sk);
	bool coupled = ca->flow.coupled;
	struct mlcc_profile pr;
	struct mlcc_ack a;
	struct mlcc_win w;

	if (!mlcc_profile_of(s, &pr))
		return;
	mlcc_win_read(sk, &w);
	mlcc_ack_read(sk, rtt, &a);
	mlcc_flow_rtt(&ca->flow, &s->job, path, &pr, &a, &w);
	mlcc_win_write(sk, &w);
	if (coupled && !ca->flow.coupled && ca->cubic_base)
		mlcc_cubic_restart(&ca->cubic);
}

/*
 * Everything that the flow has sent is acknowledged; it rests if there is no more to send.  Who is
 * paced has nothing in flight most of the time, and keeps its share.
 */
static __always_inline void mlcc_rest(struct sock *sk, struct mlcc_path *path)
{
	struct mlcc_flow *f = &mlcc_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	bool more = tp->write_seq != tp->snd_nxt;
	struct mlcc_win w;

	if (f->pace && more)
		return;
	mlcc_flow_drained(f, path);
	if (!path || more)
		return;
	mlcc_win_read(sk, &w);
	mlcc_flow_rest(f, path, tp->mss_cache, &w);
	mlcc_win_write(sk, &w);
}

/* An ACK of a flow that is none of training. */
static MLCC_OUTLINE void mlcc_acked_other(struct sock *sk, struct mlcc_slot *s, s32 rtt)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	struct mlcc_path *path;
	struct mlcc_ack a;
	struct mlcc_win w;

	mlcc_flow_passed(&ca->flow, &s->job, tp->bytes_acked, tp->tcp_mstamp);
	path = mlcc_flow_path(&ca->flow, &s->job, s->paths, mlcc_peer(sk));
	if (ca->class != MLCC_CLASS_BACKGROUND || rtt <= 0 || !path)
		return;
	mlcc_win_read(sk, &w);
	mlcc_ack_read(sk, rtt, &a);
	mlcc_background_rtt(&ca->flow, &s->job, path, &a, &w);
	mlcc_win_write(sk, &w);
}

/* What an ACK says of the job: bytes and, if @rtt > 0, the round trip in us. */
static __always_inline void mlcc_acked(struct sock *sk, struct mlcc_slot *s, s32 rtt)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	bool drained = !tp->packets_out;
	struct mlcc_path *path;
	u32 p = ca->flow.p;

	if (mlcc_slot_gone(s)) {
		mlcc_neutral(sk, s);
		return;
	}
	if (!mlcc_class_follow(sk, s)) {
		mlcc_acked_other(sk, s, rtt);
		return;
	}
	if (!mlcc_flow_due(&ca->flow, tp->tcp_mstamp) && !drained)
		return;
	path = mlcc_flow_path(&ca->flow, &s->job, s->paths, mlcc_peer(sk));
	if (!drained)	/* a flow may become one of the job, or get its place, in the middle */
		mlcc_flow_sends(&ca->flow, path);
	if (mlcc_flow_tell(&ca->flow, &s->job, path, tp->bytes_acked, tp->tcp_mstamp, drained))
		mlcc_job_peer(&s->job, mlcc_local(sk), mlcc_peer(sk));
	mlcc_moved(sk, s, p);
	if (path && rtt > 0)
		mlcc_round(sk, s, path, rtt);
	if (drained)
		mlcc_rest(sk, path);
}

/* ... and of the marks, once a window. */
static __always_inline void mlcc_acked_ce(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (!ca->ecn || (s32)(tp->snd_una - ca->dctcp.next_seq) <= 0)
		return;
	mlcc_dctcp_window(&ca->dctcp, tp->delivered, tp->delivered_ce);
	ca->dctcp.next_seq = tp->snd_nxt;
}

/*** The increase ***/

/* The window after @acked segments in congestion avoidance; @grow: Q16. */
static __always_inline u32 mlcc_avoid(struct sock *sk, u32 acked, u32 grow)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	struct mlcc_win w;

	mlcc_win_read(sk, &w);
	if (ca->cubic_base)
		return mlcc_cubic_increase(&ca->cubic, &ca->flow, &w, acked, tp->tcp_mstamp,
					   tp->srtt_us >> 3, grow);
	return w.cwnd + mlcc_increase(&ca->flow, w.cwnd, acked, grow);
}

/* Factor of the increase of a flow that has a window of its own, Q16. */
static __always_inline u32 mlcc_grow_of(const struct sock *sk, const struct mlcc_slot *s)
{
	struct mlcc_profile pr;

	if (!s || mlcc_sk(sk)->flow.p == MLCC_NEUTRAL || !mlcc_profile_of(s, &pr))
		return MLCC_ONE;
	return mlcc_flow_grow(&mlcc_sk(sk)->flow, &pr);
}

/* The window of a background flow. */
static MLCC_OUTLINE void mlcc_raise_background(struct sock *sk, u32 acked)
{
	struct mlcc_win w;

	mlcc_win_read(sk, &w);
	w.cwnd += mlcc_background_increase(&mlcc_sk(sk)->flow, &w, acked);
	mlcc_win_write(sk, &w);
}

/* @acked segments raise the window.  What follows a time-out is the base's. */
static __always_inline void mlcc_raise(struct sock *sk, const struct mlcc_slot *s, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (!tcp_is_cwnd_limited(sk) && !ca->flow.pace) {
		if (ca->cubic_base)
			mlcc_cubic_pause(&ca->cubic, tp->tcp_mstamp);
		return;
	}
	ca->flow.limited = 1;
	if (ca->flow.coupled && mlcc_is_open(sk))
		return;
	if (ca->class == MLCC_CLASS_BACKGROUND && mlcc_is_open(sk)) {
		mlcc_raise_background(sk, acked);
		return;
	}
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	mlcc_cwnd_write(tp, mlcc_avoid(sk, acked, mlcc_grow_of(sk, s)));
}

/*** The decrease ***/

static __always_inline u32 mlcc_yield_of(const struct sock *sk, const struct mlcc_slot *s)
{
	struct mlcc_profile pr;
	struct mlcc_win w;

	if (!s || mlcc_slot_gone(s) || !mlcc_profile_of(s, &pr))
		return MLCC_ONE;
	mlcc_win_read(sk, &w);
	return mlcc_flow_yield(&mlcc_sk(sk)->flow, &pr, &w);
}

/*
 * What a loss takes of a job's window, Q16: as its profile's base.  Where the queue marks a loss is
 * more than a mark, so half, whatever alpha says (RFC 8257, section 3.5).
 */
static __always_inline u32 mlcc_beta_loss(const struct sock *sk, const struct mlcc_slot *s)
{
	struct mlcc_profile pr;

	if (!s || mlcc_marked(sk) || !mlcc_profile_of(s, &pr) || pr.base != MLCC_BASE_CUBIC)
		return MLCC_ONE / 2;
	return MLCC_CUBIC_BETA;
}

/* What a loss or a mark takes of the window, Q16. */
static __always_inline u32 mlcc_beta(const struct sock *sk, const struct mlcc_slot *s)
{
	const struct mlcc_sk *ca = mlcc_sk(sk);

	if (ca->flow.coupled && !mlcc_marked(sk))
		return mlcc_beta_loss(sk, s);
	if (ca->ecn)
		return ((u64)(ca->dctcp.alpha >> 1) * mlcc_yield_of(sk, s)) >> MLCC_SHIFT;
	return ca->cubic_base ? MLCC_CUBIC_BETA : MLCC_ONE / 2;
}

/* The path of a flow whose window is a share of its job's; else NULL. */
static __always_inline struct mlcc_path *mlcc_coupled(struct sock *sk, struct mlcc_slot *s)
{
	struct mlcc_flow *f = &mlcc_sk(sk)->flow;

	return s && f->coupled ? mlcc_flow_path(f, &s->job, s->paths, mlcc_peer(sk)) : NULL;
}

/* A decrease by @beta: the job's, once a round trip, of which the flow has its share. */
static __always_inline u32 mlcc_reduced_share(struct sock *sk, struct mlcc_path *path, u32 beta)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 share;

	mlcc_window_cut(path, beta, tp->mss_cache, false);
	share = mlcc_window_share(path, tp->mss_cache);
	if (share > tp->snd_cwnd)
		share = tp->snd_cwnd;
	return share > MLCC_LEFT_MIN ? share : MLCC_LEFT_MIN;
}

/* What the window is to come down to, for a loss or a mark. */
static __always_inline u32 mlcc_reduced(struct sock *sk, struct mlcc_slot *s)
{
	struct mlcc_path *path = mlcc_coupled(sk, s);
	struct mlcc_sk *ca = mlcc_sk(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->flow.credit = 0;
	if (path)
		return mlcc_reduced_share(sk, path, mlcc_beta(sk, s));
	if (ca->cubic_base && !ca->ecn)
		return mlcc_cubic_decrease(&ca->cubic, cwnd);
	return mlcc_decrease(cwnd, mlcc_beta(sk, s), MLCC_ONE);
}

/* The window is to come down by @beta (Q16), unless it was to come down by more anyway. */
static __always_inline void mlcc_decrease_more(struct sock *sk, u32 beta)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 left = mlcc_decrease(tp->snd_cwnd, beta, MLCC_ONE);

	if (left < tp->snd_ssthresh)
		tp->snd_ssthresh = left;
}

/* A recovery begins.  With ECN ssthresh is what a mark takes, maybe less than a loss does. */
static __always_inline void mlcc_loss(struct sock *sk, struct mlcc_slot *s)
{
	struct mlcc_path *path = mlcc_coupled(sk, s);
	u32 beta = path ? mlcc_beta_loss(sk, s) : MLCC_ONE / 2;

	if (!mlcc_sk(sk)->ecn)
		return;
	if (path)
		mlcc_window_cut(path, beta, tcp_sk(sk)->mss_cache, true);
	mlcc_decrease_more(sk, beta);
}

/* A time-out: the base's decrease, whatever the progress is. */
static __always_inline void mlcc_timeout(struct sock *sk)
{
	mlcc_decrease_more(sk, mlcc_sk(sk)->cubic_base ? MLCC_CUBIC_BETA : MLCC_ONE / 2);
}

/* The loss recovery goes over to @state. */
static __always_inline void mlcc_state(struct sock *sk, struct mlcc_slot *s, u8 state)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	mlcc_count(sk, s);
	if (state == TCP_CA_Recovery && inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		mlcc_loss(sk, s);
	else if (state == TCP_CA_Loss && ca->cubic_base)
		mlcc_cubic_reset(&ca->cubic);
}

/* The window that is given back, as the loss was none. */
static __always_inline u32 mlcc_undo(struct sock *sk, struct mlcc_slot *s)
{
	struct mlcc_path *path = mlcc_coupled(sk, s);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (path)
		mlcc_window_undo(path);
	if (ca->cubic_base)
		mlcc_cubic_restart(&ca->cubic);
	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

/*** The start of a transmission ***/

/* A flow of job @s starts to send.  What userspace has set or announced counts from here on. */
static __always_inline void mlcc_start_job(struct sock *sk, struct mlcc_slot *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	struct mlcc_phase_was was;
	struct mlcc_path *path;
	struct mlcc_profile pr;
	struct mlcc_win w;
	u32 p = ca->flow.p;

	mlcc_count(sk, s);
	mlcc_slot_refreshed(sk, s);
	if (mlcc_slot_gone(s)) {
		mlcc_neutral(sk, s);
		return;
	}
	if (!mlcc_class_follow(sk, s) || !mlcc_profile_of(s, &pr))
		return;
	mlcc_win_read(sk, &w);
	mlcc_phase_was(s, &was);
	path = mlcc_flow_path(&ca->flow, &s->job, s->paths, mlcc_peer(sk));
	if (mlcc_flow_tx_start(&ca->flow, &s->job, path, &pr, tp->tcp_mstamp, tcp_min_rtt(tp),
			       tp->mss_cache, &w))
		mlcc_rolled_over(sk, s, &was);
	if (ca->cubic_base && w.cwnd != tp->snd_cwnd)
		mlcc_cubic_restart(&ca->cubic);
	mlcc_win_write(sk, &w);
	mlcc_moved(sk, s, p);
}

/*
 * The flow starts to send.  Returns whether nothing of it was in flight: after a time-out nothing
 * counts as in flight, yet that is no start.
 */
static __always_inline bool mlcc_starts(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (ca->cubic_base)
		mlcc_cubic_pause(&ca->cubic, tp->tcp_mstamp);
	return !tp->packets_out;
}

/*** Pacing ***/

/* The socket is paced no more, unless the application or its queueing discipline wants it to be. */
static __always_inline void mlcc_pace_end(struct sock *sk)
{
	struct mlcc_flow *f = &mlcc_sk(sk)->flow;

	if (f->paced && MLCC_READ(sk->sk_pacing_status) == SK_PACING_NEEDED &&
	    MLCC_READ(sk->sk_max_pacing_rate) == ~0UL)
		MLCC_WRITE(sk->sk_pacing_status, SK_PACING_NONE);
	f->paced = 0;
}

/*
 * The last that the kernel asks before it sends, and after it has set a rate of its own: 1.2 times
 * window by round trip, which does where only bursts are too much.  A loss is repaired unpaced.
 */
static __always_inline void mlcc_pace(struct sock *sk)
{
	struct mlcc_flow *f = &mlcc_sk(sk)->flow;

	if (!(f->pace || f->lossy) || inet_csk(sk)->icsk_ca_state > TCP_CA_CWR) {
		mlcc_pace_end(sk);
		return;
	}
	if (MLCC_READ(sk->sk_pacing_status) == SK_PACING_NONE)
		MLCC_WRITE(sk->sk_pacing_status, SK_PACING_NEEDED);
	if (f->pace && MLCC_READ(sk->sk_pacing_rate) > f->pace)
		MLCC_WRITE(sk->sk_pacing_rate, f->pace);
	f->paced = 1;
}

/*** The receiver ***/

/*
 * The receiver's half of DCTCP (RFC 8257, section 3.2): every ACK says whether the packets that it
 * acknowledges were CE-marked, so that the sender can count them.
 *
 *	              CE packet: ACK what is pending with ECE = 0, then ACK now
 *	    +--------+ ------------------------------------------------> +--------+
 *	    | CE = 0 |                                                   | CE = 1 |
 *	    +--------+ <------------------------------------------------ +--------+
 *	              other packet: ACK what is pending with ECE = 1, then ACK now
 *
 * Without a change of state ACKs are delayed as usual.
 */
static __always_inline void mlcc_echo(struct tcp_sock *tp, bool ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* A packet came in, @ce: it was marked. */
static __always_inline void mlcc_ce_state(struct sock *sk, bool ce)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct mlcc_dctcp *d = &mlcc_sk(sk)->dctcp;
	struct tcp_sock *tp = tcp_sk(sk);

	if (!mlcc_sk(sk)->ecn)
		return;
	if (d->ce_state != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			mlcc_echo(tp, d->ce_state);
			mlcc_send_ack(sk, d->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	d->prior_rcv_nxt = tp->rcv_nxt;
	d->ce_state = ce;
	mlcc_echo(tp, ce);
}

#endif /* MLCC_LINUX_TCP_H */
