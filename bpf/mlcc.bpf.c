// SPDX-License-Identifier: GPL-2.0
/*
 * mlcc as struct_ops, for hosts that may not load modules: the twin of tcp_mlcc/cong.c, which has the
 * model, the parameters and the sources.  Rule, tracker and window are the same headers.
 *
 *	socket --mark, as the flow begins--> slot of (namespace, job) --> profile
 *	                                       ^ rules: what was set or announced, from the next phase on
 *
 * What differs, for the verifier or the cost of a call:
 *
 *	- a flow without ECN goes over to "mlcc_plain", whose one call an ACK is cong_avoid(): what
 *	  happens in a fast recovery is counted at its end.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "mlcc_bpf.h"
#include "sockets_map.h"
#include "../include/mlcc/hint.h"
#include "../include/mlcc/linux/carrier.h"
#include "../include/mlcc/dctcp.h"
#include "../include/mlcc/cubic.h"

char _license[] SEC("license") = "GPL";

/* from the kernel's net/tcp.h and inet_connection_sock.h; macros are not in BTF */
#define TCP_ECN_DEMAND_CWR	4
#define TCP_CONG_NEEDS_ECN	2
#define MLCC_USER_LEVELS	32	/* of user namespaces in each other; the kernel has no more */
#define MLCC_TRIES		8	/* to take a slot, while others of its group are taken */
#define TCP_TS_HZ		1000
#define SK_PACING_NONE		0
#define SK_PACING_NEEDED	1
#define USEC_PER_SEC		1000000
#define ENOENT			2
#define EAGAIN			11
#define EINVAL			22

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct mlcc_config);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MLCC_PROFILES_MAX);
	__type(key, u32);
	__type(value, struct mlcc_profile);
} profiles SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MLCC_SLOTS);
	__type(key, u32);
	__type(value, struct mlcc_setting);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MLCC_SLOTS);
	__type(key, u32);
	__type(value, struct mlcc_slot);
} slots SEC(".maps");

/* Of a group of slots. */
struct mlcc_group_lock {
	struct bpf_spin_lock lock;	/* whose the slots are, and how many flows use them */
	u32 taken;			/* how many times one was given to a job of the host's */
	u32 others;			/* likewise, to others' */
	u32 none;			/* 0; from one that it knows the verifier follows each count */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MLCC_SLOTS / MLCC_GROUP);
	__type(key, u32);
	__type(value, struct mlcc_group_lock);
} groups SEC(".maps");

/* a flow's private state, in icsk_ca_priv */
struct mlcc_sk {
	struct mlcc_flow flow;
	union {
		struct mlcc_dctcp dctcp;	/* if ecn */
		struct mlcc_cubic cubic;	/* if cubic_base */
	};
	u32 slot;		/* index in slots + 1, 0: no job */
	u32 retrans;		/* tp->total_retrans that the job knows of */
	u32 ce;			/* tp->delivered_ce, likewise */
	u8 ecn;
	u8 cubic_base;
	u8 ready;		/* init() has run */
	u8 class;		/* enum mlcc_class that it goes by */
};

_Static_assert(sizeof(struct mlcc_sk) <= 104, "icsk_ca_priv has 104 bytes");
_Static_assert(__builtin_offsetof(struct mlcc_sk, flow.p) == 24, "the tagger reads it there");

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;

static __always_inline struct mlcc_sk *mlcc_sk(const struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct mlcc_slot *mlcc_slot_of(const struct sock *sk)
{
	u32 slot = mlcc_sk(sk)->slot, i = slot - 1;

	return slot ? bpf_map_lookup_elem(&slots, &i) : NULL;
}

static __always_inline struct mlcc_config *mlcc_config(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&settings, &zero);
}

/*
 * A rule whose hint is new to the slot.  A job that comes back, or a slot that joins in, begins in the
 * phase that was announced.
 */
static __always_inline void mlcc_slot_apply(struct mlcc_slot *s, const struct mlcc_setting *r)
{
	if (s->deleted || !s->gen) {
		if (s->deleted)
			__builtin_memset(&s->job, 0, sizeof(s->job));
		s->job.hint_state = r->hint_state;
	}
	mlcc_job_hint_take(&s->job, &s->gen, r->gen, r->announced ? r->announced : r->phase_bytes);
	MLCC_WRITE(s->deleted, 0);
}

/* Takes over what userspace has set or announced of the job since the last phase. */
static __always_inline void mlcc_slot_refresh(struct mlcc_slot *s)
{
	struct mlcc_config *cfg = mlcc_config();
	u32 id = s->id, profile, class;
	struct mlcc_setting *r = NULL;

	if (!cfg)
		return;
	if (s->whose != MLCC_OF_USER)
		r = bpf_map_lookup_elem(&rules, &id);
	profile = r ? r->profile : MLCC_PROFILE_NONE;
	if (profile == MLCC_PROFILE_NONE)
		profile = cfg->profile;
	if (s->profile != profile)
		s->profile = profile;
	class = r ? r->class : MLCC_CLASS_TRAINING;
	if (s->class != class)
		MLCC_WRITE(s->class, class);
	if (r && r->gen != s->gen)
		mlcc_slot_apply(s, r);
}

/*
 * Who looks for the slot of a job, and what there is.  A job has one in a namespace, and in one that
 * is a user's another for flows that the tagger does not know:
 *
 *	- whose a slot is, and its number of users, changes under the lock of the group only;
 *	- who finds none of his own takes one only if none of the group was taken since he began to
 *	  look: so no other flow of the job can have taken one meanwhile.
 */
struct mlcc_seek {
	u64 net_cookie;
	u32 netns;
	u32 id;
	u32 initial;		/* the namespace is */
	u32 whose;		/* enum mlcc_whose */
	u32 owner;
	u32 first;		/* slot of the group to look at, after whose end come those before it */
	u32 end;		/* of those that the flow may have */
	u32 taken;		/* of the group, before the look */
	u32 busy;		/* slots with flows, */
	u32 held;		/* with and without, of the namespace, or of who is charged; */
	u32 used;		/* with, of these */
	/* index + 1; 0: there is none */
	u32 slot;		/* has been claimed */
	u32 own;
	u32 again;		/* own, without flows, where that is charged for */
	u32 free;
	u32 idle;		/* any without flows; */
	u32 idle_held;		/* one of those that are held */
};

/* Of the group that slot @i is in. */
static __always_inline struct mlcc_group_lock *mlcc_group_lock(u32 i)
{
	u32 group = i / MLCC_GROUP;

	return bpf_map_lookup_elem(&groups, &group);
}

static __always_inline bool mlcc_slot_is(const struct mlcc_slot *s, const struct mlcc_seek *k)
{
	return s->id == k->id && s->net_cookie == k->net_cookie && s->whose == k->whose;
}

/* Whether the slot is one of those whose number is limited for @k. */
static __always_inline bool mlcc_slot_held(const struct mlcc_slot *s, const struct mlcc_seek *k)
{
	if (k->whose == MLCC_OF_HOST)
		return MLCC_READ(s->net_cookie) == k->net_cookie;
	return MLCC_READ(s->whose) == k->whose && MLCC_READ(s->owner) == k->owner;
}

/* Counts what @k must not overlook. */
static __always_inline u32 *mlcc_group_taken(struct mlcc_group_lock *g, const struct mlcc_seek *k)
{
	return k->whose == MLCC_OF_HOST ? &g->taken : &g->others;
}

static __always_inline void mlcc_slot_clear(struct mlcc_slot *s, const struct mlcc_seek *k)
{
	__builtin_memset(&s->job, 0, sizeof(s->job));
	for (u32 i = 0; i < MLCC_PATHS; i++)	/* who takes a place clears it */
		MLCC_WRITE(s->paths[i].peer, 0);
	s->net_cookie = k->net_cookie;
	s->netns = k->netns;
	s->whose = k->whose;
	s->owner = k->owner;
	s->id = k->id;
	s->gen = 0;
	s->retrans = 0;
	s->ce = 0;
	s->deleted = 0;
}

/*
 * Makes the flow a user of @s: of its own, or, as above, of one that has no users.  Where slots with
 * flows are charged for, its own is one more, too, if it has none.
 * A deleted job whose last flow has gone begins anew with the next one.
 */
static __always_inline bool mlcc_slot_claim(struct mlcc_slot *s, struct mlcc_group_lock *g,
					    const struct mlcc_seek *k)
{
	u32 *taken = mlcc_group_taken(g, k);
	bool own, joins, ours;

	bpf_spin_lock(&g->lock);
	own = mlcc_slot_is(s, k);
	joins = own && (s->users || k->whose == MLCC_OF_HOST);
	ours = joins || (!s->users && *taken == k->taken);
	if (ours) {
		if (!own || (!s->users && s->deleted))
			mlcc_slot_clear(s, k);
		*taken += !joins;
		s->users++;
	}
	bpf_spin_unlock(&g->lock);
	return ours;
}

/* One without flows. */
static __always_inline void mlcc_look_idle(struct mlcc_seek *k, const struct mlcc_slot *s, u32 slot,
					   bool held)
{
	if (mlcc_slot_is(s, k))
		k->again = slot;
	if (held)
		k->idle_held = slot;
	if (!k->free && !MLCC_READ(s->id))
		k->free = slot;
	k->idle = slot;
}

/* For bpf_loop(): looks at one slot of the group, without the lock; the claim looks again. */
static long mlcc_look(u32 n, void *arg)
{
	struct mlcc_seek *k = arg;
	struct mlcc_slot *s;
	bool held, used;
	u32 i;

	i = mlcc_group(k->id) + (k->first + n) % k->end;
	s = bpf_map_lookup_elem(&slots, &i);
	if (!s)
		return 0;
	used = MLCC_READ(s->users);
	if (mlcc_slot_is(s, k) && (used || k->whose == MLCC_OF_HOST)) {
		k->own = i + 1;
		return 1;
	}
	held = mlcc_slot_held(s, k);
	k->held += held;
	k->busy += used;
	k->used += used && held;
	if (!used)
		mlcc_look_idle(k, s, i + 1, held);
	return 0;
}

/*
 * Index + 1 of the slot for a flow that somebody is charged for: he may have as many with flows as he
 * leaves to others.
 */
static __always_inline u32 mlcc_seek_charged(const struct mlcc_seek *k)
{
	if (!mlcc_share_has_room(MLCC_GROUP_USERS, k->busy, k->used))
		return 0;
	if (k->again)
		return k->again;
	if (k->free)
		return k->free;
	return k->idle_held ? k->idle_held : k->idle;
}

/* Index + 1 of the slot that is the best choice.  Idle ones come last: their job may come back. */
static __always_inline u32 mlcc_seek(struct mlcc_seek *k, struct mlcc_group_lock *g)
{
	u32 *taken = mlcc_group_taken(g, k);

	bpf_spin_lock(&g->lock);
	k->taken = *taken;
	bpf_spin_unlock(&g->lock);
	k->busy = g->none;
	k->held = g->none;
	k->used = g->none;
	k->own = 0;
	k->again = 0;
	k->free = 0;
	k->idle = 0;
	k->idle_held = 0;
	bpf_loop(k->end, mlcc_look, k, 0);
	if (k->own)
		return k->own;
	if (k->whose != MLCC_OF_HOST)
		return mlcc_seek_charged(k);
	if (!k->initial && k->held >= MLCC_GROUP_NETNS)
		return k->idle_held;
	return k->free ? k->free : k->idle;
}

/* For bpf_loop(): looks and claims; again if other slots of the group were taken meanwhile. */
static long mlcc_try(u32 n, void *arg)
{
	struct mlcc_seek *k = arg;
	struct mlcc_group_lock *g;
	struct mlcc_slot *s;
	u32 slot, i;

	g = mlcc_group_lock(mlcc_group(k->id));
	if (!g)
		return 1;
	slot = mlcc_seek(k, g);
	i = slot - 1;
	s = slot ? bpf_map_lookup_elem(&slots, &i) : NULL;
	if (!s)
		return 1;
	if (!mlcc_slot_claim(s, g, k))
		return 0;
	k->slot = slot;
	return 1;
}

static __always_inline void mlcc_slot_put(struct mlcc_slot *s, u32 i)
{
	struct mlcc_group_lock *g = mlcc_group_lock(i);

	if (!g)
		return;
	bpf_spin_lock(&g->lock);
	s->users--;
	bpf_spin_unlock(&g->lock);
}

/* Whether the tagger has given the socket job @id: nobody but root writes what is kept with it. */
static __always_inline bool mlcc_is_tagged(struct sock *sk, u32 id)
{
	struct mlcc_tagged *t = bpf_sk_storage_get(&sockets, sk, NULL, 0);

	return t && t->job == id;
}

/* Who has made @ns, or the one that it is in: in one's own one makes others for any of one's ids. */
static __always_inline u32 mlcc_user_of(const struct user_namespace *ns)
{
	for (int i = 0; i < MLCC_USER_LEVELS && ns->level > 1; i++)
		ns = ns->parent;
	return ns->owner.val;
}

/* Who has some that are kept for it begins with these; users are spread over what is anybody's. */
static __always_inline void mlcc_seek_from(struct mlcc_seek *k)
{
	if (k->initial) {
		k->first = MLCC_GROUP_OTHERS;
		k->end = MLCC_GROUP;
	} else if (k->whose == MLCC_OF_HOST) {
		k->first = MLCC_GROUP_USERS;
		k->end = MLCC_GROUP_OTHERS;
	} else {
		k->first = k->net_cookie % MLCC_GROUP_USERS;
		k->end = MLCC_GROUP_USERS;
	}
}

/* @k has the id. */
static __always_inline void mlcc_seek_in(struct mlcc_seek *k, struct sock *sk)
{
	const struct net *net = sk->__sk_common.skc_net.net;

	k->net_cookie = net->net_cookie;
	k->netns = net->ns.inum;
	/* it is the one that nobody is charged for */
	k->initial = !net->ucounts;
	if (!net->user_ns->level) {
		k->whose = MLCC_OF_HOST;
	} else if (mlcc_is_tagged(sk, k->id)) {
		k->whose = MLCC_OF_JOB;
		k->owner = k->id;
	} else {
		k->whose = MLCC_OF_USER;
		k->owner = mlcc_user_of(net->user_ns);
	}
	mlcc_seek_from(k);
}

/* Returns the index of the job's slot + 1, with the flow among its users; 0: there is no room. */
static __always_inline u32 mlcc_slot_find(struct sock *sk)
{
	struct mlcc_config *cfg = mlcc_config();
	struct mlcc_seek k = { };

	if (!cfg)
		return 0;
	k.id = (sk->sk_mark & cfg->mark_mask) >> (cfg->mark_shift & 31);
	if (!k.id)
		return 0;
	mlcc_seek_in(&k, sk);
	bpf_loop(MLCC_TRIES, mlcc_try, &k, 0);
	return k.slot;
}

/*** What include/mlcc/linux/carrier.h asks for ***/

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

static __always_inline bool tcp_is_cwnd_limited(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

static __always_inline bool mlcc_slot_gone(const struct mlcc_slot *s)
{
	return MLCC_READ(s->deleted);
}

static __always_inline u8 mlcc_slot_class(const struct mlcc_slot *s)
{
	return MLCC_READ(s->class);
}

static __always_inline void mlcc_slot_refreshed(struct sock *sk, struct mlcc_slot *s)
{
	mlcc_slot_refresh(s);
}

static __always_inline void mlcc_slot_count(struct mlcc_slot *s, u32 retrans, u32 ce)
{
	__sync_fetch_and_add(&s->retrans, retrans);
	__sync_fetch_and_add(&s->ce, ce);
}

static __always_inline bool mlcc_profile_of(const struct mlcc_slot *s, struct mlcc_profile *to)
{
	u32 i = s->profile;
	const struct mlcc_profile *pr = bpf_map_lookup_elem(&profiles, &i);

	if (!pr)
		return false;
	*to = *pr;
	return true;
}

static __always_inline u32 mlcc_local(const struct sock *sk)
{
	const struct sock_common *c = &sk->__sk_common;

	return c->skc_family == AF_INET6 ? c->skc_v6_rcv_saddr.in6_u.u6_addr32[3] :
					   c->skc_rcv_saddr;
}

static __always_inline u32 mlcc_peer(const struct sock *sk)
{
	const struct sock_common *c = &sk->__sk_common;

	return mlcc_path_peer(mlcc_local(sk),
			      c->skc_family == AF_INET6 ? c->skc_v6_daddr.in6_u.u6_addr32[3] :
							  c->skc_daddr);
}

/* A unit of the peer's timestamps, us; 0: it sends none. */
static __always_inline u32 mlcc_tick(const struct tcp_sock *tp)
{
	if (!BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp))
		return 0;
	if (bpf_core_field_exists(tp->tcp_usec_ts) && BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts))
		return 1;
	return USEC_PER_SEC / TCP_TS_HZ;
}

static __always_inline void mlcc_send_ack(struct sock *sk, u32 rcv_nxt)
{
	bpf_tcp_send_ack(tcp_sk(sk), rcv_nxt);
}

/* Nobody is told. */
struct mlcc_phase_was {
};

static __always_inline void mlcc_phase_was(const struct mlcc_slot *s, struct mlcc_phase_was *was)
{
}

static __always_inline void mlcc_rolled_over(struct sock *sk, const struct mlcc_slot *s,
					     const struct mlcc_phase_was *was)
{
}

static __always_inline void mlcc_moved(const struct sock *sk, const struct mlcc_slot *s, u32 old)
{
}

#include "../include/mlcc/linux/tcp.h"

/*** The congestion control ***/

/* The base of a flow without ECN: as its job's profile has it, or the default one. */
static __always_inline bool mlcc_base_is_cubic(const struct mlcc_slot *s)
{
	const struct mlcc_config *cfg = mlcc_config();
	const struct mlcc_profile *pr;
	u32 i = s ? s->profile : cfg ? cfg->profile : 0;

	pr = bpf_map_lookup_elem(&profiles, &i);
	return pr && pr->base == MLCC_BASE_CUBIC;
}

static __always_inline bool mlcc_sk_is_plain(struct sock *sk)
{
	const struct tcp_congestion_ops___kernel *ops = inet_csk(sk)->icsk_ca_ops;

	return !(ops->flags & TCP_CONG_NEEDS_ECN);
}

static __always_inline void mlcc_sk_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mlcc_sk *ca = mlcc_sk(sk);
	struct mlcc_slot *s;

	__builtin_memset(ca, 0, sizeof(*ca));
	ca->ready = 1;
	mlcc_flow_init(&ca->flow, tp->bytes_acked);
	ca->retrans = tp->total_retrans;
	ca->ce = tp->delivered_ce;
	ca->slot = mlcc_slot_find(sk);
	s = mlcc_slot_of(sk);
	if (s)
		mlcc_slot_refresh(s);
	ca->ecn = !mlcc_sk_is_plain(sk) && tp->ecn_flags & MLCC_ECN_MODE;
	if (ca->ecn)
		mlcc_dctcp_start(&ca->dctcp, tp);
	else
		ca->cubic_base = mlcc_base_is_cubic(s);
}

SEC("struct_ops/mlcc_init_plain")
void BPF_PROG(mlcc_init_plain, struct sock *sk)
{
	mlcc_sk_init(sk);
}

/*
 * With ECN every packet is to be ECN-capable (TCP_CONG_NEEDS_ECN), without it none.  The flag is in
 * the operations, so there are two sets of them, and a flow without ECN goes over to the other.
 * Returns 0, or that it could not.
 */
static __always_inline long mlcc_go_over(struct sock *sk)
{
	char plain[] = "mlcc_plain";

	return bpf_setsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, plain, sizeof(plain));
}

SEC("struct_ops/mlcc_init")
void BPF_PROG(mlcc_init, struct sock *sk)
{
	bool ecn = tcp_sk(sk)->ecn_flags & MLCC_ECN_MODE;

	/* going over releases the flow first: of no job */
	mlcc_sk(sk)->slot = 0;
	if (!ecn && !mlcc_go_over(sk))
		return;
	mlcc_sk_init(sk);
}

SEC("struct_ops/mlcc_release")
void BPF_PROG(mlcc_release, struct sock *sk)
{
	struct mlcc_slot *s = mlcc_slot_of(sk);

	mlcc_pace_end(sk);
	if (!s)
		return;
	mlcc_count(sk, s);
	mlcc_leave(sk, s);
	mlcc_slot_put(s, mlcc_sk(sk)->slot - 1);
}

SEC("struct_ops/mlcc_pkts_acked")
void BPF_PROG(mlcc_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct mlcc_slot *s = mlcc_slot_of(sk);

	if (s)
		mlcc_acked(sk, s, sample->rtt_us);
	mlcc_acked_ce(sk);
}

SEC("struct_ops/mlcc_cong_avoid")
void BPF_PROG(mlcc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	mlcc_raise(sk, mlcc_slot_of(sk), acked);
}

/*
 * Without ECN this is the only call for an ACK: one more costs some hundred instructions before it
 * does anything.  So nothing is counted during a fast recovery; what it was follows at its end.
 */
SEC("struct_ops/mlcc_cong_avoid_plain")
void BPF_PROG(mlcc_cong_avoid_plain, struct sock *sk, u32 ack, u32 acked)
{
	struct mlcc_slot *s = mlcc_slot_of(sk);

	if (s)
		mlcc_acked(sk, s, tcp_sk(sk)->rack.rtt_us);
	mlcc_raise(sk, s, acked);
}

SEC("struct_ops/mlcc_min_tso_segs")
u32 BPF_PROG(mlcc_min_tso_segs, struct sock *sk)
{
	const struct net *net = sk->__sk_common.skc_net.net;

	mlcc_pace(sk);
	return net->ipv4.sysctl_tcp_min_tso_segs;
}

SEC("struct_ops/mlcc_ssthresh")
u32 BPF_PROG(mlcc_ssthresh, struct sock *sk)
{
	return mlcc_reduced(sk, mlcc_slot_of(sk));
}

SEC("struct_ops/mlcc_set_state")
void BPF_PROG(mlcc_set_state, struct sock *sk, u8 state)
{
	mlcc_state(sk, mlcc_slot_of(sk), state);
}

SEC("struct_ops/mlcc_undo_cwnd")
u32 BPF_PROG(mlcc_undo_cwnd, struct sock *sk)
{
	return mlcc_undo(sk, mlcc_slot_of(sk));
}

/*
 * The flow's state is made up for here if the kernel has not run init(), though it believes so: some
 * skip a program now and then (Documentation/testing.md, at the end).  Before init() the kernel
 * sends at most a SYN, with data.
 */
static __always_inline void mlcc_sk_ready(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (!mlcc_sk(sk)->ready && BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized))
		mlcc_sk_init(sk);
}

static __always_inline void mlcc_tx_start(struct sock *sk)
{
	struct mlcc_slot *s;

	mlcc_sk_ready(sk);
	/*
	 * init() cannot go over while some program chooses "mlcc", by bpf_setsockopt().  Here it
	 * can: before the first packet with data is ECN-capable.
	 */
	if (!mlcc_sk(sk)->ecn && !mlcc_sk_is_plain(sk))
		mlcc_go_over(sk);
	s = mlcc_slot_of(sk);
	if (mlcc_starts(sk) && s)
		mlcc_start_job(sk, s);
}

SEC("struct_ops/mlcc_cwnd_event")
void BPF_PROG(mlcc_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		mlcc_tx_start(sk);
	else if (event == CA_EVENT_LOSS)
		mlcc_timeout(sk);
	else if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		mlcc_ce_state(sk, event == CA_EVENT_ECN_IS_CE);
}

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
#ifdef MLCC_TX_START_OP
	void (*cwnd_event_tx_start)(struct sock *sk);
#endif
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 flags;
	char name[16];
};

/* since Linux 7.1, where CA_EVENT_TX_START is no longer said by cwnd_event(): a second object */
#ifdef MLCC_TX_START_OP
SEC("struct_ops/mlcc_cwnd_event_tx_start")
void BPF_PROG(mlcc_cwnd_event_tx_start, struct sock *sk)
{
	mlcc_tx_start(sk);
}
#define MLCC_TX_START .cwnd_event_tx_start = (void *)mlcc_cwnd_event_tx_start,
#else
#define MLCC_TX_START
#endif

/* For bpf_loop(): one slot of the group is told what "ctl" says. */
struct mlcc_tell {
	struct mlcc_ctl ctl;
	u64 now;		/* us */
	u32 busy;		/* a slot could not be told; a count has too many values to verify */
};

/* Global, so that it is verified by itself, and once: it has many paths. */
__weak int mlcc_tell_start(struct mlcc_job *j, u64 bytes, u64 now)
{
	return j && mlcc_job_hint_start(j, bytes, now);
}

static __always_inline bool mlcc_tell_slot(struct mlcc_slot *s, const struct mlcc_tell *t)
{
	switch (t->ctl.op) {
	case MLCC_CTL_DEL:
		MLCC_WRITE(s->deleted, 1);
		return true;
	case MLCC_CTL_START:
		return s->deleted || mlcc_tell_start(&s->job, t->ctl.bytes, t->now);
	case MLCC_CTL_END:
		return s->deleted || mlcc_job_hint_end(&s->job);
	}
	mlcc_slot_refresh(s);
	return true;
}

static long mlcc_tell(u32 n, void *arg)
{
	struct mlcc_tell *t = arg;
	u64 bit = 1ULL << (n & (MLCC_GROUP - 1));
	u32 i = mlcc_group(t->ctl.id) + n;
	struct mlcc_slot *s;

	s = bpf_map_lookup_elem(&slots, &i);
	if (!s || s->id != t->ctl.id || s->whose == MLCC_OF_USER || t->ctl.done & bit)
		return 0;
	if (mlcc_tell_slot(s, t))
		t->ctl.done |= bit;
	else
		t->busy = 1;
	return 0;
}

static __always_inline long mlcc_rule_set(struct mlcc_ctl *ctl)
{
	struct mlcc_config *cfg = mlcc_config();
	struct mlcc_setting *old;
	u32 id = ctl->id;

	if (!cfg)
		return -EINVAL;
	old = bpf_map_lookup_elem(&rules, &id);
	ctl->rule.announced = 0;
	ctl->rule.hint_state = MLCC_HINT_NONE;
	ctl->rule.gen = mlcc_job_hint_gen(old ? old->gen : 0, old ? old->phase_bytes : 0,
					  ctl->rule.phase_bytes, &cfg->gen);
	if (old && old->gen == ctl->rule.gen) {
		ctl->rule.announced = old->announced;
		ctl->rule.hint_state = old->hint_state;
	}
	return bpf_map_update_elem(&rules, &id, &ctl->rule,
				   ctl->op == MLCC_CTL_NEW ? BPF_NOEXIST : BPF_ANY);
}

/* Notes an announcement for slots that come later; those that are there are told by mlcc_tell(). */
static __always_inline long mlcc_rule_told(const struct mlcc_ctl *ctl)
{
	struct mlcc_setting *r;
	u32 id = ctl->id;

	r = bpf_map_lookup_elem(&rules, &id);
	if (!r)
		return -ENOENT;
	if (ctl->op == MLCC_CTL_START && ctl->bytes)
		r->announced = ctl->bytes;
	if (ctl->op == MLCC_CTL_START)
		r->hint_state = MLCC_HINT_RUNNING;
	else if (r->hint_state == MLCC_HINT_RUNNING)
		r->hint_state = MLCC_HINT_OVER;
	return 0;
}

/* Jobs that name no profile follow with their next phase. */
static __always_inline long mlcc_default_set(u32 profile)
{
	struct mlcc_config *cfg = mlcc_config();

	if (!cfg || profile >= MLCC_PROFILES_MAX)
		return -EINVAL;
	MLCC_WRITE(cfg->profile, profile);
	return 0;
}

static __always_inline long mlcc_rule_change(struct mlcc_ctl *ctl)
{
	u32 id = ctl->id;

	switch (ctl->op) {
	case MLCC_CTL_NEW:
	case MLCC_CTL_SET:
		return mlcc_rule_set(ctl);
	case MLCC_CTL_DEL:
		return bpf_map_delete_elem(&rules, &id);
	case MLCC_CTL_START:
	case MLCC_CTL_END:
		return mlcc_rule_told(ctl);
	case MLCC_CTL_DEFAULT:
		return mlcc_default_set(ctl->rule.profile);
	}
	return -EINVAL;
}

/*
 * The one way to change jobs: run by bpf_prog_test_run_opts(), it ends what it has begun whatever
 * becomes of the caller.  -EAGAIN: a flow was just beginning a phase of a slot; call again with
 * the same "done", which says which slots know.
 */
SEC("syscall")
int mlcc_control(struct mlcc_ctl *ctl)
{
	struct mlcc_tell t = { .ctl = *ctl, .now = bpf_ktime_get_ns() / 1000 };
	struct mlcc_config *cfg = mlcc_config();
	long err = 0;

	if (!t.ctl.id || !cfg)
		return -EINVAL;
	if (!t.ctl.done)
		err = mlcc_rule_change(&t.ctl);
	if (err)
		return err;
	bpf_loop(MLCC_GROUP, mlcc_tell, &t, 0);
	ctl->done = t.ctl.done;
	if (t.busy)
		return -EAGAIN;
	/* a barrier, too: who replaces it writes this, then reads the rules */
	return !!MLCC_FETCH_ADD32(&cfg->replaced, 0);
}

#define MLCC_OPS						\
	.release	= (void *)mlcc_release,			\
	.ssthresh	= (void *)mlcc_ssthresh,		\
	.set_state	= (void *)mlcc_set_state,		\
	.cwnd_event	= (void *)mlcc_cwnd_event,		\
	MLCC_TX_START						\
	.min_tso_segs	= (void *)mlcc_min_tso_segs,		\
	.undo_cwnd	= (void *)mlcc_undo_cwnd

SEC(".struct_ops")
struct tcp_congestion_ops mlcc_plain = {
	.init		= (void *)mlcc_init_plain,
	.cong_avoid	= (void *)mlcc_cong_avoid_plain,
	MLCC_OPS,
	.name		= "mlcc_plain",
};

SEC(".struct_ops")
struct tcp_congestion_ops mlcc = {
	.init		= (void *)mlcc_init,
	.cong_avoid	= (void *)mlcc_cong_avoid,
	.pkts_acked	= (void *)mlcc_pkts_acked,
	MLCC_OPS,
	.flags		= TCP_CONG_NEEDS_ECN,
	.name		= "mlcc",
};
