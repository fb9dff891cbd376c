/* SPDX-License-Identifier: GPL-2.0 */
/* What include/mlcc/linux/carrier.h asks of the module. */
#ifndef MLCC_ADAPTER_H
#define MLCC_ADAPTER_H

#include <net/inet_ecn.h>
#include <net/tcp.h>

#include "compat.h"
#include "event.h"
#include "job.h"
#include "mlcc.h"
#include "profile.h"
#include "trace.h"
#include "../include/mlcc/linux/carrier.h"

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

/* cong.c */
void mlcc_trace_gain(const struct sock *sk, const struct mlcc_slot *s);

/* Traces a flow's progress that was @old until now, by sixteenths. */
static __always_inline void mlcc_moved(const struct sock *sk, const struct mlcc_slot *s, u32 old)
{
	u32 p = mlcc_sk(sk)->flow.p;

	if (trace_gain_change_enabled() && old >> (MLCC_SHIFT - 4) != p >> (MLCC_SHIFT - 4))
		mlcc_trace_gain(sk, s);
}

#include "../include/mlcc/linux/tcp.h"

#endif /* MLCC_ADAPTER_H */
