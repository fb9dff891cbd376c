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
 *	yield = 1 - hold p^shape			a mark: cwnd -= cwnd alpha/2 yield
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
 *	A flow belongs to the job that its socket mark names; the mark is read once, when the
 *	flow gets this algorithm.  All flows of a job in a network namespace share one progress
 *	(job.c).  When phases begin and how long they are is learnt (include/mlcc/phase.h) or
 *	announced (netlink).
 *
 *	In a phase all flows of a job to a peer share one window (include/mlcc/window.h).  It starts
 *	small; one short round trip shows that the link is free, and the job takes it.  A job that
 *	waits for somebody who never finishes keeps its window.
 *
 *	All this is of jobs of the class training.  A flow of the class latency is its base, one of
 *	background goes by the delay that it adds (include/mlcc/class.h, background.h).
 *
 *	What earns what: behind a queue that drops packets, the small window; where it marks them,
 *	the rule.  Documentation/decisions.md has the measurements.
 *
 * Parameters, by profile (include/mlcc/profiles.h, netlink); fractions are Q16
 *
 *	floor	growth at p = 0, 1 is the base algorithm's
 *	slope	what p = 1 adds to it
 *	hold	part of the decrease for a mark that p = 1 takes away
 *	shape	exponent of p, a whole number
 *	restart	window at the start of a phase: as above ("queue"), or as the kernel leaves it
 *
 * The base, which a flow without a job, or without a known phase, follows to the letter
 *
 *	ECN negotiated		DCTCP: beta = alpha / 2, 1/2 at a loss	(include/mlcc/dctcp.h)
 *	else, profile's base	CUBIC: beta = 0.3			(include/mlcc/cubic.h)
 *				Reno: beta = 1/2			(the kernel's)
 *
 * A loss, and what follows it, is the base's for a flow of a job, too.
 *
 * What it does not do
 *
 *	- become the default, or let unprivileged users choose it;
 *	- pace, but a share of less than two segments and where something was lost, or probe for
 *	  bandwidth;
 *	- anything but its base on paths of a millisecond and more;
 *	- go by the delay, but background flows, but for one question, whether the queue is empty; a
 *	  loss or a mark ends the growth, a longer round trip only slows it;
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
 * What is done at each call is include/mlcc/linux/tcp.h.  bpf/mlcc.bpf.c, the twin of this file for
 * hosts that may not load modules, includes it as well.
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
#include "settings.h"
#include "trace.h"
#include "../include/mlcc/linux/carrier.h"

/*** What include/mlcc/linux/carrier.h asks for ***/

/*
 * A listener's children begin with a copy of its private state, and not every path clears it
 * before the child's own init.  Whose it is stands in it, so that a copy never passes for a
 * reference of its own.
 */
static __always_inline struct mlcc_slot *mlcc_slot_of(const struct sock *sk)
{
	const struct mlcc_sk *ca = mlcc_sk(sk);

	return likely(ca->owner == sk) ? ca->slot : NULL;
}

static __always_inline bool mlcc_slot_gone(const struct mlcc_slot *s)
{
	return unlikely(READ_ONCE(s->deleted));
}

static __always_inline u8 mlcc_slot_class(const struct mlcc_slot *s)
{
	return READ_ONCE(s->class);
}

static __always_inline void mlcc_slot_refreshed(struct sock *sk, struct mlcc_slot *s)
{
	mlcc_slot_refresh(s, sock_net(sk));
}

static __always_inline void mlcc_slot_count(struct mlcc_slot *s, u32 retrans, u32 ce)
{
	atomic64_add(retrans, &s->retrans);
	atomic64_add(ce, &s->ce);
}

static __always_inline bool mlcc_profile_of(const struct mlcc_slot *s, struct mlcc_profile *to)
{
	mlcc_profile_read(READ_ONCE(s->profile), to);
	return true;
}

static __always_inline u32 mlcc_local(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return (__force u32)sk->sk_v6_rcv_saddr.s6_addr32[3];
#endif
	return (__force u32)sk->sk_rcv_saddr;
}

static __always_inline u32 mlcc_peer(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return mlcc_path_peer(mlcc_local(sk), (__force u32)sk->sk_v6_daddr.s6_addr32[3]);
#endif
	return mlcc_path_peer(mlcc_local(sk), (__force u32)sk->sk_daddr);
}

static __always_inline void mlcc_rolled_over(struct sock *sk, const struct mlcc_slot *s,
					     const struct mlcc_phase_was *was)
{
	mlcc_phase_begun(sock_net(sk), s, was);
}

static void mlcc_trace_gain(const struct sock *sk, const struct mlcc_slot *s);

/* Traces a flow's progress that was @old until now, by sixteenths. */
static __always_inline void mlcc_moved(const struct sock *sk, const struct mlcc_slot *s, u32 old)
{
	u32 p = mlcc_sk(sk)->flow.p;

	if (trace_gain_change_enabled() && old >> (MLCC_SHIFT - 4) != p >> (MLCC_SHIFT - 4))
		mlcc_trace_gain(sk, s);
}

#include "../include/mlcc/linux/tcp.h"

/*** The congestion control ***/

static struct tcp_congestion_ops mlcc_ops;
static struct tcp_congestion_ops mlcc_ops_no_ecn;

/* Picks the base of a flow without ECN: that of the job's profile, or of the default one. */
static void mlcc_pick_base(struct mlcc_sk *ca)
{
	const struct mlcc_slot *s = ca->slot;
	u32 id = s ? READ_ONCE(s->profile) : mlcc_profile_default();
	struct mlcc_profile pr;

	WRITE_ONCE(ca->profile, id);
	mlcc_profile_read(id, &pr);
	ca->cubic_base = !ca->ecn && pr.base == MLCC_BASE_CUBIC;
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
	u32 id = mlcc_mark_id(sk);

	if (before) {
		mlcc_count(sk, before);
		mlcc_leave(sk, before);
	}
	memset(ca, 0, sizeof(*ca));
	ca->owner = sk;
	mlcc_flow_init(&ca->flow, tp->bytes_acked);
	ca->retrans = tp->total_retrans;
	ca->ce = tp->delivered_ce;
	ca->ecn = mlcc_ecn_negotiated(tp);
	if (ca->ecn)
		mlcc_dctcp_start(&ca->dctcp, tp);
	if (id)
		WRITE_ONCE(ca->slot, mlcc_slot_get(sock_net(sk), id, mlcc_is_tagged(sk, id)));
	mlcc_pick_base(ca);
	mlcc_pick_ops(sk, ca->ecn);
	if (before)
		mlcc_slot_put(before);
}

static void mlcc_release(struct sock *sk)
{
	struct mlcc_slot *s = mlcc_slot_of(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);

	mlcc_pace_end(sk);
	if (s) {
		mlcc_count(sk, s);
		mlcc_leave(sk, s);
	}
	WRITE_ONCE(ca->slot, NULL);
	ca->owner = NULL;
	if (s)
		mlcc_slot_put(s);
}

static void mlcc_trace_gain(const struct sock *sk, const struct mlcc_slot *s)
{
	const struct mlcc_sk *ca = mlcc_sk(sk);
	const struct mlcc_flow *f = &ca->flow;
	struct mlcc_profile pr;

	mlcc_profile_of(s, &pr);
	trace_gain_change(sk, s, f->p,
			  f->p == MLCC_NEUTRAL ? MLCC_ONE : mlcc_grow(&pr, f->p),
			  mlcc_yield_of(sk, s));
}

static void mlcc_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct mlcc_slot *s = mlcc_slot_of(sk);

	if (s)
		mlcc_acked(sk, s, sample->rtt_us);
	mlcc_acked_ce(sk);
}

static void mlcc_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	mlcc_raise(sk, mlcc_slot_of(sk), acked);
}

static u32 mlcc_ssthresh(struct sock *sk)
{
	return mlcc_reduced(sk, mlcc_slot_of(sk));
}

static void mlcc_set_state(struct sock *sk, u8 state)
{
	mlcc_state(sk, mlcc_slot_of(sk), state);
}

static u32 mlcc_undo_cwnd(struct sock *sk)
{
	return mlcc_undo(sk, mlcc_slot_of(sk));
}

static u32 mlcc_min_tso_segs(struct sock *sk)
{
	mlcc_pace(sk);
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

static void mlcc_tx_start(struct sock *sk)
{
	struct mlcc_slot *s;

	if (!mlcc_starts(sk))
		return;
	s = mlcc_slot_of(sk);
	if (!s)
		return;
	mlcc_start_job(sk, s);
	WRITE_ONCE(mlcc_sk(sk)->profile, READ_ONCE(s->profile));
}

static void mlcc_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	switch (event) {
	case CA_EVENT_TX_START:
		mlcc_tx_start(sk);
		break;
	case CA_EVENT_LOSS:
		mlcc_timeout(sk);
		break;
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		mlcc_ce_state(sk, event == CA_EVENT_ECN_IS_CE);
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
	.min_tso_segs	= mlcc_min_tso_segs,	\
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

	err = mlcc_settings_init();
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
	mlcc_settings_exit();
	rcu_barrier();
	return err;
}

static void __exit mlcc_unregister(void)
{
	tcp_unregister_congestion_control(&mlcc_ops);
	mlcc_netlink_exit();
	mlcc_settings_exit();
	mlcc_slots_check_empty();
	rcu_barrier();
}

module_init(mlcc_register);
module_exit(mlcc_unregister);

MODULE_AUTHOR("mlcc maintainers");
MODULE_DESCRIPTION("mlcc: congestion control for GPU clusters");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
