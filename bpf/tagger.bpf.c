// SPDX-License-Identifier: GPL-2.0
/*
 * The tagger: sockets of a job's cgroup get the job's mark and the congestion control "mlcc".
 *
 *	socket --> its cgroup --> nearest ancestor in "jobs" --> mark, then TCP_CONGESTION
 *
 * One sockops program is attached to the root of the cgroup hierarchy, and looks the job up when a
 * connection is established.  Attached to each job's cgroup it would run twice for a job within a
 * job, and setting a job would be more than writing one entry of a map; what the root costs to
 * others is a walk up the hierarchy for each new connection, and nothing per packet.  It is
 * attached with BPF_F_ALLOW_MULTI, as links are: programs of others run as before.
 *
 * The mark comes first, for the congestion control reads it when it begins.  A connection without
 * ECN asks for "mlcc_plain" before "mlcc": the BPF carrier cannot go over to it by itself while a
 * program sets the option.
 *
 * ECN is agreed on before a connection is established, and for a congestion control that needs it
 * the kernel wants both ends to say so.  So a connection being opened asks for it, if the last
 * socket that wanted mlcc got it, and listening sockets are tagged as well.  What they accept is
 * born with mlcc, with the mark and with a copy of what the listener had before.
 *
 * Only with priority classes are round trips reported (BPF_SOCK_OPS_RTT_CB): the flow's progress,
 * as the carrier keeps it in the socket, picks the DSCP.  Without a progress it is what it was.
 * A DSCP that does not go by progress is there from the SYN on.
 *
 * Sockets that are there before the job, or after it, are walked by the iterator mlcc_sync, which
 * makes each what the jobs map says, whatever that was when the socket was opened.  It sees the
 * network namespace of the process that runs it.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sockets_map.h"
#include "tagger_bpf.h"
#include "../include/mlcc/flow.h"

char _license[] SEC("license") = "GPL";

/* from the kernel's headers; macros are not in BTF */
#define SOL_SOCKET		1
#define SO_PRIORITY		12
#define SO_MARK			36
#define IP_TOS			1
#define IPV6_TCLASS		67
#define MLCC_CB_FLAGS		1008	/* TCP_BPF_SOCK_OPS_CB_FLAGS, from 6.13 on */
#define MLCC_RTT_CB_FLAG	8	/* BPF_SOCK_OPS_RTT_CB_FLAG */
#define ECN_BITS		3

#define MLCC_DEPTH		32	/* cgroups that are looked at, from the socket's upwards, */
#define MLCC_TOP		64	/* and from the root downwards, if none of those has a tag */
#define MLCC_CC_LEN		16

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct mlcc_tagger_config);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MLCC_TAGS);
	__type(key, u64);
	__type(value, struct mlcc_tag);
} jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MLCC_TAGS);
	__type(key, u64);
	__type(value, struct mlcc_tag_count);
} counts SEC(".maps");

static __always_inline struct mlcc_tagger_config *mlcc_config(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&settings, &zero);
}

static __always_inline struct cgroup *mlcc_cgroup_parent(struct cgroup *cg)
{
	void *css = BPF_CORE_READ(cg, self.parent);

	return css ? css - bpf_core_field_offset(struct cgroup, self) : NULL;
}

static __always_inline bool mlcc_is_v6(struct sock *sk)
{
	return sk->__sk_common.skc_family == AF_INET6;
}

static __always_inline bool mlcc_listens(struct sock *sk)
{
	return sk->__sk_common.skc_state == TCP_LISTEN;
}

/* The peer's address and our own, IPv4 as ::ffff:a.b.c.d. */
static __always_inline void mlcc_addresses(struct sock *sk, u32 *peer, u32 *own)
{
	struct sock_common *c = &sk->__sk_common;
	int i;

	for (i = 0; i < 4; i++) {
		peer[i] = c->skc_v6_daddr.in6_u.u6_addr32[i];
		own[i] = c->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
	}
	if (mlcc_is_v6(sk))
		return;
	peer[0] = 0;
	peer[1] = 0;
	peer[2] = bpf_htonl(0xffff);
	peer[3] = c->skc_daddr;
	own[0] = 0;
	own[1] = 0;
	own[2] = peer[2];
	own[3] = c->skc_rcv_saddr;
}

static __always_inline bool mlcc_stays_here(const u32 *peer, const u32 *own)
{
	bool v4 = peer[2] == bpf_htonl(0xffff);

	if (peer[0] == own[0] && peer[1] == own[1] && peer[2] == own[2] && peer[3] == own[3])
		return true;
	if (peer[0] || peer[1])
		return false;
	return v4 ? (peer[3] & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000) :
		    !peer[2] && peer[3] == bpf_htonl(1);
}

static __always_inline bool mlcc_skips_port(struct sock *sk, const struct mlcc_skip *s)
{
	u16 own = sk->__sk_common.skc_num, peer = bpf_ntohs(sk->__sk_common.skc_dport);
	int i;

	for (i = 0; i < MLCC_SKIPS && i < s->ports; i++)
		if ((own >= s->first[i] && own <= s->last[i]) ||
		    (peer >= s->first[i] && peer <= s->last[i]))
			return true;
	return false;
}

static __always_inline bool mlcc_skips_peer(struct sock *sk, const struct mlcc_skip *s)
{
	u32 peer[4], own[4];
	int i;

	mlcc_addresses(sk, peer, own);
	if (s->own && mlcc_stays_here(peer, own))
		return true;
	for (i = 0; i < MLCC_SKIPS && i < s->addresses; i++)
		if ((peer[0] & s->mask[i][0]) == s->address[i][0] &&
		    (peer[1] & s->mask[i][1]) == s->address[i][1] &&
		    (peer[2] & s->mask[i][2]) == s->address[i][2] &&
		    (peer[3] & s->mask[i][3]) == s->address[i][3])
			return true;
	return false;
}

/* A socket that listens has no peer yet. */
static __always_inline bool mlcc_skips(struct sock *sk, const struct mlcc_skip *s)
{
	return mlcc_skips_port(sk, s) || (!mlcc_listens(sk) && mlcc_skips_peer(sk, s));
}

struct mlcc_climb {
	u64 list, found;		/* where the kernel has the cgroup's ancestors; an id, 0: none */
	u32 level;
};

static long mlcc_climb_one(u32 i, struct mlcc_climb *c)
{
	struct cgroup *cg;
	u64 id;

	if (i > c->level || bpf_probe_read_kernel(&cg, sizeof(cg), (void **)c->list + i))
		return 1;
	id = BPF_CORE_READ(cg, kn, id);
	if (bpf_map_lookup_elem(&jobs, &id))
		c->found = id;
	return 0;
}

/*
 * Whose own cgroup is further down than is looked at, as anybody makes cgroups in one that is his:
 * jobs are not far from the root.
 */
static __always_inline u64 mlcc_tag_above(struct cgroup *cg)
{
	struct mlcc_climb c = { .level = BPF_CORE_READ(cg, level) };

	if (!bpf_core_field_exists(cg->ancestors))
		return 0;
	c.list = (u64)cg + bpf_core_field_offset(struct cgroup, ancestors);
	bpf_loop(MLCC_TOP, mlcc_climb_one, &c, 0);
	return c.found;
}

/* The tag of the nearest cgroup that has one; @id: of that cgroup. */
static __always_inline struct mlcc_tag *mlcc_tag_nearest(struct sock *sk, u64 *id)
{
	struct cgroup *cg = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
	struct mlcc_tag *tag;
	int i;

	for (i = 0; i < MLCC_DEPTH && cg; i++) {
		*id = BPF_CORE_READ(cg, kn, id);
		tag = bpf_map_lookup_elem(&jobs, id);
		if (tag)
			return tag;
		cg = mlcc_cgroup_parent(cg);
	}
	if (!cg)
		return NULL;
	*id = mlcc_tag_above(cg);
	return *id ? bpf_map_lookup_elem(&jobs, id) : NULL;
}

/* Unless that skips the socket, or it is one of those that have a tag of their own. */
static __always_inline struct mlcc_tag *mlcc_tag_find(struct sock *sk, u64 *id)
{
	struct mlcc_tag *tag = mlcc_tag_nearest(sk, id), *other;
	u64 key = MLCC_TAG_OTHER;

	if (!tag || mlcc_skips(sk, &tag->skip))
		return NULL;
	other = bpf_map_lookup_elem(&jobs, &key);
	if (!other || !mlcc_skips(sk, &other->skip))
		return tag;
	*id = key;
	return other;
}

static __always_inline void mlcc_tag_count(u64 cgroup, bool refused)
{
	struct mlcc_tag_count *n = bpf_map_lookup_elem(&counts, &cgroup);

	if (n)
		__sync_fetch_and_add(refused ? &n->refused : &n->tagged, 1);
}

/*
 * What follows runs in both programs.  @at is what bpf_setsockopt() takes there: the context of
 * sockops, the socket in the iterator.
 */

static __always_inline long mlcc_mark_set(void *at, u32 mark)
{
	return bpf_setsockopt(at, SOL_SOCKET, SO_MARK, &mark, sizeof(mark));
}

static __always_inline long mlcc_cc_set(void *at, char *name)
{
	return bpf_setsockopt(at, IPPROTO_TCP, TCP_CONGESTION, name, MLCC_CC_LEN);
}

static __always_inline void mlcc_cc_get(struct sock *sk, char *name)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;

	bpf_probe_read_kernel_str(name, MLCC_CC_LEN, icsk->icsk_ca_ops->name);
}

static __always_inline bool mlcc_cc_ours(struct sock *sk)
{
	const char *cc = ((struct inet_connection_sock *)sk)->icsk_ca_ops->name;

	return cc[0] == 'm' && cc[1] == 'l' && cc[2] == 'c' && cc[3] == 'c';
}

static __always_inline bool mlcc_has_ecn(struct sock *sk)
{
	return ((struct tcp_sock *)sk)->ecn_flags & MLCC_ECN_MODE;
}

static __always_inline const struct mlcc_flow *mlcc_flow_of(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* A flow that is mlcc's already would keep its job: it begins anew. */
static __always_inline long mlcc_cc_take(void *at, struct sock *sk)
{
	char plain[MLCC_CC_LEN] = "mlcc_plain";
	char reno[MLCC_CC_LEN] = "reno";
	char mlcc[MLCC_CC_LEN] = "mlcc";

	if (mlcc_cc_ours(sk))
		mlcc_cc_set(at, reno);
	if (!mlcc_listens(sk) && !mlcc_has_ecn(sk) && !mlcc_cc_set(at, plain))
		return 0;
	return mlcc_cc_set(at, mlcc);
}

/* What it had before, which may be mlcc, for another job. */
static __always_inline void mlcc_cc_give(void *at, struct sock *sk, char *name)
{
	char reno[MLCC_CC_LEN] = "reno";

	if (!mlcc_cc_ours(sk))
		return;
	mlcc_cc_set(at, reno);
	mlcc_cc_set(at, name);
}

static __always_inline u8 mlcc_tos_get(struct sock *sk)
{
	struct inet_sock *inet = (struct inet_sock *)sk;

	return mlcc_is_v6(sk) ? BPF_CORE_READ(inet, pinet6, tclass) : inet->tos;
}

/* The bits of ECN stay as they are. */
static __always_inline void mlcc_dscp_set(void *at, struct sock *sk, u8 tos)
{
	int v = (tos & ~ECN_BITS) | (mlcc_tos_get(sk) & ECN_BITS);

	if (mlcc_is_v6(sk))
		bpf_setsockopt(at, IPPROTO_IPV6, IPV6_TCLASS, &v, sizeof(v));
	else
		bpf_setsockopt(at, IPPROTO_IP, IP_TOS, &v, sizeof(v));
}

/*
 * Class + 1, or MLCC_DSCP_FIXED with the DSCP, or 0: what it was before, with the priority that
 * goes with it.
 */
static __always_inline void mlcc_class_set(void *at, struct sock *sk, struct mlcc_tagged *t,
					   const struct mlcc_tag *tag, u32 class)
{
	u32 i = (class - 1) & (MLCC_CLASSES_MAX - 1);
	u8 tos = t->tos;

	if (class == t->class)
		return;
	t->class = class;
	if (class & MLCC_DSCP_FIXED)
		tos = (class & ~MLCC_DSCP_FIXED) << 2;
	else if (class && tag)
		tos = tag->dscp[i] << 2;
	mlcc_dscp_set(at, sk, tos);
	if (!class)
		bpf_setsockopt(at, SOL_SOCKET, SO_PRIORITY, &t->priority, sizeof(t->priority));
}

static __always_inline void mlcc_save(struct sock *sk, struct mlcc_tagged *t)
{
	if (t->saved)
		return;
	t->mark = sk->sk_mark;
	t->priority = sk->sk_priority;
	t->tos = mlcc_tos_get(sk);
	mlcc_cc_get(sk, t->cc);
	t->saved = 1;
}

/* The bits of the mark that are the job's, unless somebody else has set them since. */
static __always_inline void mlcc_mark_restore(void *at, struct sock *sk, u32 job, u32 before)
{
	struct mlcc_tagger_config *cfg = mlcc_config();
	u32 mark = sk->sk_mark;

	if (cfg && (mark & cfg->mark_mask) == job << (cfg->mark_shift & 31))
		mlcc_mark_set(at, (mark & ~cfg->mark_mask) | (before & cfg->mark_mask));
}

static __always_inline long mlcc_give(void *at, struct sock *sk, u32 job)
{
	struct mlcc_tagger_config *cfg = mlcc_config();
	long err;

	if (!cfg)
		return -1;
	err = mlcc_mark_set(at, (sk->sk_mark & ~cfg->mark_mask) | job << (cfg->mark_shift & 31));
	if (!err)
		err = mlcc_cc_take(at, sk);
	if (cfg->carrier != !err)
		cfg->carrier = !err;
	return err;
}

/* Tags the socket.  If it may not have mlcc it is left as it was, which is counted once. */
static __always_inline struct mlcc_tagged *mlcc_tag_give(void *at, struct sock *sk, u64 cgroup,
							 const struct mlcc_tag *tag)
{
	struct mlcc_tagged *t;
	bool again;

	t = bpf_sk_storage_get(&sockets, (struct tcp_sock *)sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!t) {
		mlcc_tag_count(cgroup, true);
		return NULL;
	}
	again = t->cgroup == cgroup && !t->listener;
	t->listener = mlcc_listens(sk);
	mlcc_save(sk, t);
	t->cgroup = cgroup;
	/* first: the carrier looks whether the mark is from here */
	t->job = tag->job;
	if (!mlcc_give(at, sk, tag->job)) {
		if (!mlcc_listens(sk))
			mlcc_tag_count(cgroup, false);
		return t;
	}
	t->job = 0;
	mlcc_mark_restore(at, sk, tag->job, t->mark);
	mlcc_cc_set(at, t->cc);
	mlcc_class_set(at, sk, t, NULL, 0);
	if (!again && !mlcc_listens(sk))
		mlcc_tag_count(cgroup, true);
	return NULL;
}

/* What the application has changed since stays; a mark that it had before is not from here. */
static __always_inline void mlcc_untag(void *at, struct tcp_sock *tp, struct mlcc_tagged *t)
{
	struct sock *sk = (struct sock *)tp;
	u32 job = t->job;

	mlcc_class_set(at, sk, t, NULL, 0);
	t->job = 0;
	if (job) {
		mlcc_mark_restore(at, sk, job, t->mark);
		mlcc_cc_give(at, sk, t->cc);
	}
	bpf_sk_storage_delete(&sockets, tp);
}

/*
 * Class + 1 of the flow's progress, 0 without one.  Module and BPF carrier alike have the flow
 * first in what is theirs of a socket.
 */
static __always_inline u32 mlcc_class_of(struct sock *sk, u32 classes)
{
	u32 p = mlcc_cc_ours(sk) ? mlcc_flow_of(sk)->p : MLCC_NEUTRAL, class;

	if (p > MLCC_ONE)
		return 0;
	class = (p * classes) >> MLCC_SHIFT;
	return (class < classes ? class : classes - 1) + 1;
}

/* Of a tag that does not go by progress. */
static __always_inline u32 mlcc_class_fixed(const struct mlcc_tag *tag)
{
	return tag->classes ? MLCC_DSCP_FIXED | tag->dscp[0] : 0;
}

static __always_inline void mlcc_round_trip(struct bpf_sock_ops *ops, struct sock *sk)
{
	struct mlcc_tagged *t;
	struct mlcc_tag *tag;

	t = bpf_sk_storage_get(&sockets, (struct tcp_sock *)sk, 0, 0);
	if (!t)
		return;
	tag = bpf_map_lookup_elem(&jobs, &t->cgroup);
	if (!tag || tag->classes < MLCC_CLASSES_MIN || !t->job) {
		mlcc_class_set(ops, sk, t, NULL, tag && t->job ? mlcc_class_fixed(tag) : 0);
		if (t->rtt)
			bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags &
						  ~MLCC_RTT_CB_FLAG);
		t->rtt = 0;
		return;
	}
	mlcc_class_set(ops, sk, t, tag, mlcc_class_of(sk, tag->classes));
}

/* Also for a socket that has begun to listen. */
static __always_inline void mlcc_established(struct bpf_sock_ops *ops, struct sock *sk)
{
	struct mlcc_tagged *t;
	struct mlcc_tag *tag;
	u64 cgroup = 0;

	tag = mlcc_tag_find(sk, &cgroup);
	if (!tag) {
		/* the tag was taken off after the listener had made this socket */
		t = bpf_sk_storage_get(&sockets, (struct tcp_sock *)sk, 0, 0);
		if (t)
			mlcc_untag(ops, (struct tcp_sock *)sk, t);
		return;
	}
	t = mlcc_tag_give(ops, sk, cgroup, tag);
	if (!t || mlcc_listens(sk))
		return;
	if (tag->classes < MLCC_CLASSES_MIN) {
		mlcc_class_set(ops, sk, t, NULL, mlcc_class_fixed(tag));
		return;
	}
	/* another program may have asked for them: then they are not ours to stop */
	t->rtt = !(ops->bpf_sock_ops_cb_flags & MLCC_RTT_CB_FLAG);
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | MLCC_RTT_CB_FLAG);
}

/* Or the SYN would wait behind those that the rest of the connection goes before. */
static __always_inline void mlcc_connects(struct bpf_sock_ops *ops, struct sock *sk)
{
	struct mlcc_tagged *t;
	struct mlcc_tag *tag;
	u64 cgroup = 0;

	tag = mlcc_tag_find(sk, &cgroup);
	if (!tag || !tag->classes || tag->classes >= MLCC_CLASSES_MIN)
		return;
	t = bpf_sk_storage_get(&sockets, (struct tcp_sock *)sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!t)
		return;
	mlcc_save(sk, t);
	mlcc_class_set(ops, sk, t, NULL, mlcc_class_fixed(tag));
}

static __always_inline void mlcc_needs_ecn(struct bpf_sock_ops *ops, struct sock *sk)
{
	struct mlcc_tagger_config *cfg = mlcc_config();
	u64 cgroup;

	if (cfg && cfg->carrier && mlcc_tag_find(sk, &cgroup))
		ops->reply = 1;
}

SEC("sockops")
int mlcc_sockops(struct bpf_sock_ops *ops)
{
	struct bpf_sock *bsk = ops->sk;
	struct tcp_sock *tp;
	u32 op = ops->op;

	if (op != BPF_SOCK_OPS_RTT_CB && op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB && op != BPF_SOCK_OPS_TCP_LISTEN_CB &&
	    op != BPF_SOCK_OPS_TCP_CONNECT_CB && op != BPF_SOCK_OPS_NEEDS_ECN)
		return 1;
	if (!bsk)
		return 1;
	tp = bpf_skc_to_tcp_sock(bsk);
	if (!tp)
		return 1;
	if (op == BPF_SOCK_OPS_RTT_CB)
		mlcc_round_trip(ops, (struct sock *)tp);
	else if (op == BPF_SOCK_OPS_TCP_CONNECT_CB)
		mlcc_connects(ops, (struct sock *)tp);
	else if (op == BPF_SOCK_OPS_NEEDS_ECN)
		mlcc_needs_ecn(ops, (struct sock *)tp);
	else
		mlcc_established(ops, (struct sock *)tp);
	return 1;
}

/* Kernels before 6.13 refuse this: there only new sockets get a DSCP. */
static __always_inline void mlcc_rtt_ask(struct tcp_sock *tp, struct mlcc_tagged *t, bool on)
{
	int flags = tp->bpf_sock_ops_cb_flags;

	if (on == t->rtt || (on && flags & MLCC_RTT_CB_FLAG))
		return;
	flags = on ? flags | MLCC_RTT_CB_FLAG : flags & ~MLCC_RTT_CB_FLAG;
	if (!bpf_setsockopt(tp, IPPROTO_TCP, MLCC_CB_FLAGS, &flags, sizeof(flags)))
		t->rtt = on;
}

static __always_inline void mlcc_sync_sock(struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct mlcc_tagged *t;
	struct mlcc_tag *tag;
	u64 cgroup = 0;

	tag = mlcc_tag_find(sk, &cgroup);
	t = bpf_sk_storage_get(&sockets, tp, 0, 0);
	if (!tag) {
		if (!t)
			return;
		mlcc_rtt_ask(tp, t, false);
		mlcc_untag(tp, tp, t);
		return;
	}
	if (!t || t->job != tag->job || t->cgroup != cgroup)
		t = mlcc_tag_give(tp, sk, cgroup, tag);
	if (!t || mlcc_listens(sk))
		return;
	mlcc_rtt_ask(tp, t, tag->classes >= MLCC_CLASSES_MIN);
	if (tag->classes < MLCC_CLASSES_MIN)
		mlcc_class_set(tp, sk, t, NULL, t->job ? mlcc_class_fixed(tag) : 0);
}

/* What is being connected, or may yet be, meets sockops on its way. */
SEC("iter/tcp")
int mlcc_sync(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;

	if (!skc)
		return 0;
	switch (skc->skc_state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
	case TCP_CLOSE:
		return 0;
	}
	tp = bpf_skc_to_tcp_sock(skc);
	if (tp)
		mlcc_sync_sock(tp);
	return 0;
}
