/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels, by what probe.sh found.  Nothing else in this folder asks. */
#ifndef MLCC_COMPAT_H
#define MLCC_COMPAT_H

#include <linux/bpf_local_storage.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/tcp.h>

#include "config.h"

#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp) kzalloc(sizeof(obj), gfp)
#endif

/* Groups were kept from others by the commands' flag before. */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN GENL_UNS_ADMIN_PERM
#endif

/* Header fields of netlink requests that are reserved must be 0 from this command on. */
#ifdef MLCC_HAVE_RESV_START_OP
#define MLCC_RESV_START_OP(cmd) .resv_start_op = cmd,
#else
#define MLCC_RESV_START_OP(cmd)
#endif

static inline bool mlcc_ecn_negotiated(const struct tcp_sock *tp)
{
#ifdef MLCC_HAVE_ECN_MODE
	return tcp_ecn_mode_any(tp);
#else
	return tp->ecn_flags & TCP_ECN_OK;
#endif
}

/* A unit of the peer's timestamps, us; 0: it sends none. */
static __always_inline u32 mlcc_tick(const struct tcp_sock *tp)
{
	if (!tp->rx_opt.saw_tstamp)
		return 0;
#ifdef MLCC_HAVE_USEC_TS
	if (tp->tcp_usec_ts)
		return 1;
#endif
	return USEC_PER_SEC / TCP_TS_HZ;
}

/*
 * What BPF programs keep with the socket in a map of this name, whose values have @size bytes; the
 * caller is in an RCU read section.
 */
static inline const void *mlcc_sk_storage(const struct sock *sk, const char *name, u32 size)
{
#ifdef MLCC_HAVE_SK_STORAGE
	struct bpf_local_storage *all = rcu_dereference(sk->sk_bpf_storage);
	const struct bpf_local_storage_map *map;
	struct bpf_local_storage_elem *e;

	if (!all)
		return NULL;
	hlist_for_each_entry_rcu(e, &all->list, snode) {
		map = rcu_dereference(SDATA(e)->smap);
		if (map && map->map.value_size == size && !strcmp(map->map.name, name))
			return SDATA(e)->data;
	}
#endif
	return NULL;
}

static __always_inline void mlcc_send_ack(struct sock *sk, u32 rcv_nxt)
{
#ifdef MLCC_HAVE_SEND_ACK_FLAGS
	__tcp_send_ack(sk, rcv_nxt, 0);
#else
	__tcp_send_ack(sk, rcv_nxt);
#endif
}

#endif /* MLCC_COMPAT_H */
