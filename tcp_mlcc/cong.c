// SPDX-License-Identifier: GPL-2.0
/*
 * mlcc: congestion control for the jobs of a GPU cluster, on the end host.
 *
 * A training job computes, then communicates, and again.  Flows of several jobs that share a link
 * fairly keep their communication phases on top of each other.  A flow that takes more the nearer
 * its job is to the end of its phase lets the phases slide apart until they no longer overlap:
 *
 *	p     = min(1, D_sent / D_phase)		progress of the job's phase
 *	grow  = floor + slope p^shape			cwnd += grow acked / cwnd
 *	yield = 1 - hold p^shape			cwnd -= cwnd beta yield
 *
 * The model
 *
 *	            +---------+  silence of the whole job    +--------------------------+
 *	  mark ---> | learning| ---------------------------> | in phase                 |
 *	  no job:   | p: none |  phases agree, or a hint     | p = D_sent / D_phase     |
 *	  base      +---------+ <--------------------------- +--------------------------+
 *	                         D_sent > 1.25 D_phase, or     ^   | silence, a flow starts to send:
 *	                         a phase that does not agree   +---+ p = 0, window by "restart"
 *
 *	A flow belongs to the job that its socket mark names; the mark is read when the flow gets
 *	this algorithm and whenever it starts to send with nothing in flight.  All flows of a job
 *	in a network namespace share one progress (job.c).  When phases begin and how long they
 *	are is learnt (include/mlcc/phase.h) or announced (module parameter "job").
 *
 *	A phase starts with a small window, which doubles each round trip while the queue is
 *	empty, and grows by the rule while it is not (include/mlcc/flow.h).  A job that would wait
 *	behind the same other one in every phase pushes, one that waits for somebody who never
 *	finishes keeps its window (include/mlcc/contend.h).  Where flows are served in turn, and an
 *	empty queue says nothing, a job whose rate shows that it is not alone, and that was not
 *	there first, holds back for a while, paced (include/mlcc/fair.h, pace.c).
 *
 * Parameters, by profile (include/mlcc/profiles.h, module parameter "tune"); fractions are Q16
 *
 *	floor	growth at p = 0, 1 is the base algorithm's
 *	slope	what p = 1 adds to it
 *	hold	part of the decrease that p = 1 takes away
 *	shape	exponent of p, a whole number
 *	restart	window at the start of a phase: as above ("drain"), or as the kernel leaves it
 *
 * The base, which a flow without a job, or without a known phase, follows to the letter
 *
 *	ECN negotiated		DCTCP: beta = alpha / 2, 1/2 at a loss	(include/mlcc/dctcp.h)
 *	else, profile's base	Reno: beta = 1/2			(the kernel's)
 *				CUBIC: beta = 0.3			(include/mlcc/cubic.h)
 *
 * What it does not do
 *
 *	- become the default, or let unprivileged users choose it;
 *	- pace, but flows that hold back, or probe for bandwidth;
 *	- go by the delay but for one question, whether the queue is empty; a loss or a mark ends
 *	  the growth, a longer round trip only slows it;
 *	- slow start other than the kernel's (no HyStart), outside of a phase;
 *	- learn from a job whose bytes or silences do not repeat: such a job stays plain base.
 *
 * Sources
 *
 *	Rajasekaran, Ghobadi, Kumar, Akella: "Congestion Control in Machine Learning Clusters",
 *	  HotNets 2022 (the increase by progress)
 *	Rajasekaran, Narang, Zabreyko, Ghobadi: "MLTCP: A Distributed Technique to Approximate
 *	  Centralized Flow Scheduling For Machine Learning", HotNets 2024 (its constants)
 *	RFC 5681 (Reno), RFC 8257 (DCTCP), RFC 9438 (CUBIC)
 *
 * bpf/mlcc.bpf.c is the twin of this file for hosts that may not load modules.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/build_bug.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>

#include "compat.h"
#include "event.h"
#include "job.h"
#include "mlcc.h"
#include "netlink.h"
#include "profile.h"
#include "rules.h"
#include "trace.h"

static struct tcp_congestion_ops mlcc_ops;
static struct tcp_congestion_ops mlcc_ops_no_ecn;

/*
 * A listener's children begin with a copy of its private state, and not every path clears it
 * before the child's own init.  Whose it is stands in it, so that a copy never passes for a
 * reference of its own.
 */
static struct mlcc_slot *mlcc_slot_of(const struct sock *sk)
{
	const struct mlcc_sk *ca = mlcc_sk(sk);

	return likely(ca->owner == sk) ? ca->slot : NULL;
}

static __always_inline void mlcc_profile_of(const struct mlcc_slot *s, struct mlcc_profile *to)
{
	mlcc_profile_read(READ_ONCE(s->profile), to);
}

static __always_inline void mlcc_win_read(const struct tcp_sock *tp, struct mlcc_win *w)
{
	w->cwnd = tcp_snd_cwnd(tp);
	w->ssthresh = tp->snd_ssthresh;
	w->prior_cwnd = tp->prior_cwnd;
	w->open = tp->inet_conn.icsk_ca_state <= TCP_CA_Disorder;
}

static __always_inline void mlcc_cwnd_write(struct tcp_sock *tp, u32 cwnd)
{
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

/* What the job's phase makes of the window. */
static __always_inline void mlcc_win_write(struct tcp_sock *tp, struct mlcc_win *w)
{
	struct mlcc_win was;

	mlcc_win_read(tp, &was);
	mlcc_win_bound(w, &was);
	mlcc_cwnd_write(tp, w->cwnd);
	tp->snd_ssthresh = w->ssthresh;
}

static __always_inline u32 mlcc_peer(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return mlcc_path_peer((__force u32)sk->sk_v6_rcv_saddr.s6_addr32[3],
				      (__force u32)sk->sk_v6_daddr.s6_addr32[3]);
#endif
	return mlcc_path_peer((__force u32)sk->sk_rcv_saddr, (__force u32)sk->sk_daddr);
}

/* Picks the base of a flow without ECN: that of the job's profile, or of the default one. */
static void mlcc_pick_base(struct mlcc_sk *ca)
{
	const struct mlcc_slot *s = ca->slot;
	u32 id = s ? READ_ONCE(s->profile) : mlcc_profile_default();
	struct mlcc_profile pr;
	bool cubic;

	WRITE_ONCE(ca->profile, id);
	if (ca->ecn)
		return;
	mlcc_profile_read(id, &pr);
	cubic = pr.base == MLCC_BASE_CUBIC;
	if (cubic && !ca->cubic_base)
		memset(&ca->cubic, 0, sizeof(ca->cubic));
	ca->cubic_base = cubic;
}

/*
 * Tells the job what the flow has sent again and seen marked.  Not on every ACK: when a burst
 * begins, when the state of the loss recovery changes (so 16 bits will do), and at the end.
 */
static void mlcc_count(struct sock *sk, struct mlcc_slot *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	u16 retrans = tp->total_retrans - ca->retrans;
	u32 ce = tp->delivered_ce - ca->ce;

	ca->retrans = tp->total_retrans;
	ca->ce = tp->delivered_ce;
	if (!s)
		return;
	if (retrans)
		atomic64_add(retrans, &s->retrans);
	if (ce)
		atomic64_add(ce, &s->ce);
}

/* Makes @sk a flow of job @id, 0: of none.  Its old job loses the reference. */
static void mlcc_join(struct sock *sk, u32 id)
{
	struct mlcc_sk *ca = mlcc_sk(sk);
	struct mlcc_slot *old = ca->slot;

	mlcc_count(sk, old);
	mlcc_pace_end(sk);
	WRITE_ONCE(ca->slot, id ? mlcc_slot_get(sock_net(sk), id) : NULL);
	mlcc_flow_init(&ca->flow, tcp_sk(sk)->bytes_acked);
	mlcc_pick_base(ca);
	if (old)
		mlcc_slot_put(old);
}

/* The mark may have been set or changed after init. */
static void mlcc_follow_mark(struct sock *sk)
{
	const struct mlcc_slot *s = mlcc_slot_of(sk);
	u32 id = mlcc_mark_id(sk);

	if (unlikely(id != (s ? s->id : 0)) && mlcc_sk(sk)->owner == sk)
		mlcc_join(sk, id);
}

static void mlcc_dctcp_init(struct mlcc_dctcp *d, const struct tcp_sock *tp)
{
	d->alpha = MLCC_ONE;
	d->next_seq = tp->snd_nxt;
	d->delivered = tp->delivered;
	d->delivered_ce = tp->delivered_ce;
	d->prior_rcv_nxt = tp->rcv_nxt;
}

/*
 * With ECN every packet is to be ECN-capable (TCP_CONG_NEEDS_ECN), without it none: the flag is in
 * the operations, so there are two sets of them.
 */
static void mlcc_pick_ops(struct sock *sk, bool ecn)
{
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, ecn ? &mlcc_ops : &mlcc_ops_no_ecn);
	if (!ecn)
		INET_ECN_dontxmit(sk);
}

/* Also runs in the middle of a connection, and twice if that was chosen while connecting. */
static void mlcc_init(struct sock *sk)
{
	struct mlcc_slot *before = mlcc_slot_of(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (before)
		mlcc_count(sk, before);
	memset(ca, 0, sizeof(*ca));
	ca->owner = sk;
	ca->slot = before;
	ca->retrans = tp->total_retrans;
	ca->ce = tp->delivered_ce;
	ca->ecn = mlcc_ecn_negotiated(tp);
	if (ca->ecn)
		mlcc_dctcp_init(&ca->dctcp, tp);
	mlcc_join(sk, mlcc_mark_id(sk));
	mlcc_pick_ops(sk, ca->ecn);
}

static void mlcc_release(struct sock *sk)
{
	struct mlcc_slot *s = mlcc_slot_of(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (s) {
		mlcc_count(sk, s);
		mlcc_pace_end(sk);
	}
	WRITE_ONCE(ca->slot, NULL);
	ca->owner = NULL;
	if (s)
		mlcc_slot_put(s);
}

/* Whether the path of an ECN flow marks. */
static __always_inline bool mlcc_marked(const struct mlcc_sk *ca)
{
	return ca->ecn && ca->dctcp.marked;
}

static void mlcc_trace_gain(const struct sock *sk, const struct mlcc_slot *s)
{
	const struct mlcc_sk *ca = mlcc_sk(sk);
	const struct mlcc_flow *f = &ca->flow;
	struct mlcc_profile pr;
	struct mlcc_win w;

	mlcc_profile_of(s, &pr);
	mlcc_win_read(tcp_sk(sk), &w);
	trace_gain_change(sk, s, f->p, mlcc_flow_grow(f, &s->job, &pr, mlcc_marked(ca)),
			  mlcc_flow_yield(f, &pr, &w));
}

/* The flow's progress was @old until now. */
static __always_inline void mlcc_progress_was(const struct sock *sk, const struct mlcc_slot *s,
					      u32 old)
{
	u32 p = mlcc_sk(sk)->flow.p;

	if (trace_gain_change_enabled() && old >> (MLCC_SHIFT - 4) != p >> (MLCC_SHIFT - 4))
		mlcc_trace_gain(sk, s);
}

/* The flow's job has been deleted: it does what its base does, and tells nobody. */
static void mlcc_neutral(struct sock *sk)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	WRITE_ONCE(ca->flow.p, MLCC_NEUTRAL);
	ca->flow.acked = tcp_sk(sk)->bytes_acked;
	mlcc_pace_end(sk);
}

/* What an ACK says of the job: bytes and, if @rtt > 0, the round trip in us. */
static __always_inline void mlcc_job_ack(struct sock *sk, s32 rtt)
{
	struct mlcc_slot *s = mlcc_slot_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	u32 old = ca->flow.p;
	struct mlcc_profile pr;
	struct mlcc_ack a;
	struct mlcc_win w;

	if (!s)
		return;
	if (unlikely(READ_ONCE(s->deleted))) {
		mlcc_neutral(sk);
		return;
	}
	mlcc_flow_acked(&ca->flow, &s->job, tp->bytes_acked, tp->tcp_mstamp,
			tp->snd_una == tp->write_seq);
	mlcc_progress_was(sk, s, old);
	if (rtt <= 0)
		return;
	mlcc_profile_of(s, &pr);
	mlcc_win_read(tp, &w);
	a.now = tp->tcp_mstamp;
	a.peer = mlcc_peer(sk);
	a.rtt = rtt;
	a.min_rtt = tcp_min_rtt(tp);
	a.tsval = tp->rx_opt.rcv_tsval;
	a.mss = tp->mss_cache;
	a.tick = mlcc_tick(tp);
	mlcc_flow_rtt(&ca->flow, &s->job, mlcc_path_to(s->paths, a.peer), &pr, &a, &w);
	mlcc_win_write(tp, &w);
	mlcc_pace_follow(sk, &s->job.fair);
}

static void mlcc_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);

	mlcc_job_ack(sk, sample->rtt_us);
	if (ca->ecn && after(tp->snd_una, ca->dctcp.next_seq)) {
		mlcc_dctcp_window(&ca->dctcp, tp->delivered, tp->delivered_ce);
		ca->dctcp.next_seq = tp->snd_nxt;
	}
}

/* The window after @acked segments in congestion avoidance. */
static u32 mlcc_avoid(const struct tcp_sock *tp, struct mlcc_sk *ca, u32 acked, u32 grow)
{
	struct mlcc_win w;

	mlcc_win_read(tp, &w);
	if (ca->cubic_base)
		return mlcc_cubic_increase(&ca->cubic, &ca->flow, &w, acked, tp->tcp_mstamp,
					   tp->srtt_us >> 3, grow);
	return w.cwnd + mlcc_increase(&ca->flow, w.cwnd, acked, grow);
}

/*
 * The window of a flow in its job's phase, while nobody else uses the link.  Otherwise returns
 * false, and in @grow the factor of the increase.
 */
static __always_inline bool mlcc_refill(struct tcp_sock *tp, struct mlcc_sk *ca,
					const struct mlcc_slot *s, u32 acked, u32 *grow)
{
	struct mlcc_profile pr;
	struct mlcc_win w;
	bool refill;

	mlcc_profile_of(s, &pr);
	*grow = mlcc_flow_grow(&ca->flow, &s->job, &pr, mlcc_marked(ca));
	mlcc_win_read(tp, &w);
	refill = mlcc_flow_refill(&ca->flow, &s->job, &pr, mlcc_marked(ca), tp->mss_cache, &w);
	if (refill)
		w.cwnd += acked;
	mlcc_win_write(tp, &w);
	return refill;
}

static void mlcc_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct mlcc_slot *s = mlcc_slot_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	u32 grow = MLCC_ONE;

	if (!s && !ca->cubic_base) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk)) {
		if (ca->cubic_base)
			mlcc_cubic_pause(&ca->cubic, tp->tcp_mstamp);
		return;
	}
	/* what follows a time-out is the base's */
	if (s && ca->flow.p != MLCC_NEUTRAL && inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder &&
	    mlcc_refill(tp, ca, s, acked, &grow))
		return;
	if (grow == MLCC_ONE && !ca->cubic_base) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	mlcc_cwnd_write(tp, mlcc_avoid(tp, ca, acked, grow));
}

static u32 mlcc_yield_of(const struct sock *sk)
{
	const struct mlcc_slot *s = mlcc_slot_of(sk);
	struct mlcc_profile pr;
	struct mlcc_win w;

	if (!s)
		return MLCC_ONE;
	mlcc_profile_of(s, &pr);
	mlcc_win_read(tcp_sk(sk), &w);
	return mlcc_flow_yield(&mlcc_sk(sk)->flow, &pr, &w);
}

static u32 mlcc_ssthresh(struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	struct mlcc_sk *ca = mlcc_sk(sk);
	u32 yield = mlcc_yield_of(sk);

	mlcc_flow_cut(&ca->flow, !ca->ecn);
	if (ca->ecn)
		return mlcc_decrease(cwnd, ca->dctcp.alpha >> 1, yield);
	if (ca->cubic_base)
		return mlcc_cubic_decrease(&ca->cubic, cwnd, yield);
	if (yield == MLCC_ONE)
		return tcp_reno_ssthresh(sk);
	return mlcc_decrease(cwnd, MLCC_ONE / 2, yield);
}

/* The window is to come down by @beta (Q16), unless it was to come down by more anyway. */
static void mlcc_ssthresh_least(struct sock *sk, u32 beta, u32 yield)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 left = mlcc_decrease(tcp_snd_cwnd(tp), beta, yield);

	tp->snd_ssthresh = min(tp->snd_ssthresh, left);
}

/*
 * With ECN: a loss is more than a mark, so half, whatever alpha says (RFC 8257, section 3.5), and
 * not less than was cut for a mark.
 */
static void mlcc_ecn_loss(struct sock *sk)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (!ca->ecn)
		return;
	mlcc_flow_cut(&ca->flow, true);
	mlcc_ssthresh_least(sk, MLCC_ONE / 2, mlcc_yield_of(sk));
}

/* A time-out: the base's decrease, whatever the progress is. */
static void mlcc_timeout(struct sock *sk)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (ca->ecn)
		mlcc_flow_cut(&ca->flow, true);
	mlcc_ssthresh_least(sk, ca->cubic_base ? MLCC_CUBIC_CUT : MLCC_ONE / 2, MLCC_ONE);
}

static void mlcc_set_state(struct sock *sk, u8 state)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	mlcc_count(sk, mlcc_slot_of(sk));
	if (state == TCP_CA_Recovery && inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		mlcc_ecn_loss(sk);
	else if (state == TCP_CA_Loss && ca->cubic_base)
		mlcc_cubic_reset(&ca->cubic);
	mlcc_pace_end(sk);
}

static u32 mlcc_undo_cwnd(struct sock *sk)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	if (ca->cubic_base)
		mlcc_cubic_restart(&ca->cubic);
	return tcp_reno_undo_cwnd(sk);
}

/* The flow of job @s starts to send.  What userspace has said of the job counts from here on. */
static void mlcc_job_start(struct sock *sk, struct mlcc_slot *s)
{
	struct net *net = sock_net(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	u32 old = ca->flow.p, peer = mlcc_peer(sk);
	struct mlcc_phase_was was;
	struct mlcc_profile pr;
	struct mlcc_win w;
	bool began;

	mlcc_count(sk, s);
	mlcc_slot_refresh(s, net);
	WRITE_ONCE(ca->profile, READ_ONCE(s->profile));
	if (unlikely(READ_ONCE(s->deleted))) {
		mlcc_neutral(sk);
		return;
	}
	mlcc_profile_of(s, &pr);
	mlcc_win_read(tp, &w);
	mlcc_phase_was(s, &was);
	began = mlcc_flow_tx_start(&ca->flow, &s->job, mlcc_path_to(s->paths, peer), peer, &pr,
				   tp->tcp_mstamp, tcp_min_rtt(tp), &w);
	if (ca->cubic_base && w.cwnd != tcp_snd_cwnd(tp))
		mlcc_cubic_restart(&ca->cubic);
	mlcc_win_write(tp, &w);
	mlcc_pace_follow(sk, &s->job.fair);
	mlcc_progress_was(sk, s, old);
	if (began)
		mlcc_phase_turned(net, s, &was);
}

static void mlcc_tx_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	struct mlcc_slot *s;

	if (ca->cubic_base)
		mlcc_cubic_pause(&ca->cubic, tp->tcp_mstamp);
	/* after a time-out nothing counts as in flight, yet this is no start */
	if (tp->packets_out)
		return;
	mlcc_follow_mark(sk);
	s = mlcc_slot_of(sk);
	if (s)
		mlcc_job_start(sk, s);
}

static void mlcc_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct mlcc_sk *ca = mlcc_sk(sk);

	switch (event) {
	case CA_EVENT_TX_START:
		mlcc_tx_start(sk);
		break;
	case CA_EVENT_CWND_RESTART:
		ca->flow.idle_cwnd = tcp_snd_cwnd(tcp_sk(sk));
		break;
	case CA_EVENT_LOSS:
		mlcc_timeout(sk);
		break;
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		if (ca->ecn)
			mlcc_ce_state(sk, &ca->dctcp, event == CA_EVENT_ECN_IS_CE);
		break;
	default:
		break;
	}
}

#ifdef MLCC_HAVE_CWND_EVENT_TX_START
#define MLCC_TX_START_OP .cwnd_event_tx_start = mlcc_tx_start,
#else
#define MLCC_TX_START_OP
#endif

#define MLCC_OPS				\
	.init		= mlcc_init,		\
	.release	= mlcc_release,		\
	.ssthresh	= mlcc_ssthresh,	\
	.cong_avoid	= mlcc_cong_avoid,	\
	.set_state	= mlcc_set_state,	\
	.cwnd_event	= mlcc_cwnd_event,	\
	MLCC_TX_START_OP			\
	.pkts_acked	= mlcc_pkts_acked,	\
	.undo_cwnd	= mlcc_undo_cwnd,	\
	.get_info	= mlcc_get_info,	\
	.owner		= THIS_MODULE,		\
	.name		= "mlcc"

static struct tcp_congestion_ops mlcc_ops __read_mostly = {
	.flags = TCP_CONG_NEEDS_ECN,
	MLCC_OPS,
};

/* Never registered: what mlcc_init() puts in the place of the other one. */
static struct tcp_congestion_ops mlcc_ops_no_ecn __read_mostly = {
	MLCC_OPS,
};

static int __init mlcc_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct mlcc_sk) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct mlcc_cubic) > 24);

	err = mlcc_rules_init();
	if (err)
		return err;
	err = mlcc_netlink_init();
	if (err)
		goto no_netlink;
	err = tcp_register_congestion_control(&mlcc_ops);
	if (err)
		goto no_cc;
	return 0;

no_cc:
	mlcc_netlink_exit();
no_netlink:
	mlcc_rules_exit();
	rcu_barrier();
	return err;
}

static void __exit mlcc_unregister(void)
{
	tcp_unregister_congestion_control(&mlcc_ops);
	/* who still writes a parameter has the lock; who comes later sees that the module goes */
	kernel_param_lock(THIS_MODULE);
	kernel_param_unlock(THIS_MODULE);
	mlcc_netlink_exit();
	mlcc_rules_exit();
	mlcc_slots_check_empty();
	rcu_barrier();
}

module_init(mlcc_register);
module_exit(mlcc_unregister);

MODULE_AUTHOR("mlcc maintainers");
MODULE_DESCRIPTION("mlcc: congestion control for GPU clusters");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
