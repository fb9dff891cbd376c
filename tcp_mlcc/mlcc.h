/* SPDX-License-Identifier: GPL-2.0 */
/* The shared headers with the kernel's own primitives under them, and a flow's private state. */
#ifndef MLCC_MODULE_H
#define MLCC_MODULE_H

#include <net/tcp.h>

#include "../include/mlcc/linux/primitives.h"
#include "../include/mlcc/types.h"
#include "../include/mlcc/class.h"
#include "../include/mlcc/rule.h"
#include "../include/mlcc/phase.h"
#include "../include/mlcc/lead.h"
#include "../include/mlcc/flow.h"
#include "../include/mlcc/dctcp.h"
#include "../include/mlcc/cubic.h"
#include "../include/mlcc/profiles.h"

/* Q16 for printing as %u.%03u */
#define MLCC_WHOLE(x)	((x) >> MLCC_SHIFT)
#define MLCC_MILLI(x)	((((x) & (MLCC_ONE - 1)) * 1000) >> MLCC_SHIFT)

struct mlcc_slot;

/* A flow's private state, in icsk_ca_priv. */
struct mlcc_sk {
	struct mlcc_flow flow;
	union {
		struct mlcc_dctcp dctcp;	/* if ecn */
		struct mlcc_cubic cubic;	/* if cubic_base */
	};
	struct mlcc_slot *slot;		/* job, with a reference; NULL: none */
	const struct sock *owner;	/* whose state this is, see mlcc_slot_of() */
	u32 ce;				/* tp->delivered_ce that the job knows of */
	u16 retrans;			/* low bits of tp->total_retrans, likewise */
	u8 profile;			/* of the job, for mlcc_get_info() */
	u8 ecn:1,			/* base is DCTCP */
	   cubic_base:1,		/* base is CUBIC; neither bit: Reno */
	   class:2;			/* enum mlcc_class that it goes by */
};

/* bpf/tagger.bpf.c of any release reads the progress here, with both carriers. */
static_assert(offsetof(struct mlcc_sk, flow.p) == 24);

static __always_inline struct mlcc_sk *mlcc_sk(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* info.c */
size_t mlcc_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);

#endif /* MLCC_MODULE_H */
