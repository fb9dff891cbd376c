/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a carrier defines before it includes tcp.h.  Included first, this has the compiler check it.
 * Of the kernel's it declares tcp_sk(), inet_csk(), tcp_slow_start(), tcp_is_cwnd_limited() and
 * tcp_min_rtt(), and of its own
 *
 *	struct mlcc_sk		a flow's private state, with the members flow, dctcp, cubic, ce,
 *				retrans, ecn, cubic_base, class
 *	struct mlcc_slot	a job with flows, with the members job and paths
 *	struct mlcc_phase_was	what it wants to know of a phase when the next one has begun
 */
#ifndef MLCC_LINUX_CARRIER_H
#define MLCC_LINUX_CARRIER_H

struct mlcc_phase_was;
struct mlcc_profile;
struct mlcc_sk;
struct mlcc_slot;
struct sock;
struct tcp_sock;

/* The state in icsk_ca_priv. */
static __always_inline struct mlcc_sk *mlcc_sk(const struct sock *sk);

/* The flow's job, or NULL. */
static __always_inline struct mlcc_slot *mlcc_slot_of(const struct sock *sk);
static __always_inline bool mlcc_slot_gone(const struct mlcc_slot *s);	/* it was deleted */
static __always_inline u8 mlcc_slot_class(const struct mlcc_slot *s);	/* enum mlcc_class */
/* Takes over what userspace has set or announced of it. */
static __always_inline void mlcc_slot_refreshed(struct sock *sk, struct mlcc_slot *s);
static __always_inline void mlcc_slot_count(struct mlcc_slot *s, u32 retrans, u32 ce);
/* Copies its profile; false: there is none. */
static __always_inline bool mlcc_profile_of(const struct mlcc_slot *s, struct mlcc_profile *to);

/* The phase that was, and that there is another one now. */
static __always_inline void mlcc_phase_was(const struct mlcc_slot *s, struct mlcc_phase_was *was);
static __always_inline void mlcc_rolled_over(struct sock *sk, const struct mlcc_slot *s,
					     const struct mlcc_phase_was *was);
/* The flow's progress was @old before. */
static __always_inline void mlcc_moved(const struct sock *sk, const struct mlcc_slot *s, u32 old);

/* The last 32 bits of the local address; mlcc_path_peer() of both. */
static __always_inline u32 mlcc_local(const struct sock *sk);
static __always_inline u32 mlcc_peer(const struct sock *sk);
/* A unit of the peer's timestamps, us; 0: it sends none. */
static __always_inline u32 mlcc_tick(const struct tcp_sock *tp);
static __always_inline void mlcc_send_ack(struct sock *sk, u32 rcv_nxt);

#endif /* MLCC_LINUX_CARRIER_H */
