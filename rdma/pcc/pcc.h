/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DCQCN with the rule as firmware of a programmable NIC.
 *
 * NVIDIA's DOCA PCC (BlueField-3, ConnectX-8 and -9) calls a program on the NIC's RISC-V cores for
 * each congestion event of a flow, with 48 bytes of context a flow, and takes a rate from it.  What
 * it says of an event, and what it wants back, is written down here in our own words; doca.c
 * translates.  Nothing here has run on silicon: it is built for rv64, run under QEMU, and compared
 * with the host's build bit by bit (Documentation/rdma.md).
 *
 *	         event                    +-- struct mlcc_pcc_slot, a job ---+
 *	NIC ----------------> mlcc_pcc_event()   parameters, phase tracker   |
 *	    <---------------- rate        +----------------------------------+
 *	                      flow: struct mlcc_pcc_flow (R_C, R_T, alpha, progress)
 *
 * An algorithm slot is a job: its flows are those that the NIC steers to the slot, and D_phase is
 * one of its parameters, which the host sets while it runs (0: the tracker learns it).  What counts
 * as D_sent is what TX events report.
 *
 * The NIC's stamps are 32 bits of nanoseconds.  The tracker's clock is put together from them, so a
 * compute time of 4.3 s or more in which no event comes is taken for what it is beyond that.
 */
#ifndef MLCC_PCC_H
#define MLCC_PCC_H

#include "../../include/mlcc/phase.h"
#include "../dcqcn/rp.h"

/* Rates that the NIC sees are in 2^-20 of its port's, inside they have 8 more bits. */
#define MLCC_PCC_RATE_SHIFT	20
#define MLCC_PCC_RATE_ONE	0x100000U
#define MLCC_PCC_LINE_SHIFT	28
#define MLCC_PCC_LINE		0x10000000U
#define MLCC_PCC_MORE_SHIFT	(MLCC_PCC_LINE_SHIFT - MLCC_PCC_RATE_SHIFT)

/* The tracker's microsecond is 1024 ns here: it compares times with each other only. */
#define MLCC_PCC_US_SHIFT	10

enum mlcc_pcc_event_type {
	MLCC_PCC_CNP,
	MLCC_PCC_TX,		/* a burst has been sent */
	MLCC_PCC_RTT,		/* a probe has come back */
	MLCC_PCC_OTHER,		/* an ACK, a NACK: time goes on */
	MLCC_PCC_EVENTS,
};

struct mlcc_pcc_event {
	u32 type;		/* enum mlcc_pcc_event_type */
	u32 stamp;		/* ns, wraps */
	u32 bytes;		/* TX: how many were sent since the last such event */
	u32 probed;		/* RTT: stamp of when the probe left */
};

struct mlcc_pcc_result {
	u32 rate;		/* 2^-20 of the port's rate, 1 .. 2^20 */
	u32 probe;		/* whether to send a probe */
};

/* All zero: the flow is new. */
struct mlcc_pcc_flow {
	struct mlcc_rp rp;
	u32 p;			/* progress at the last TX event, or MLCC_NEUTRAL */
	u32 min_rtt;		/* ns, ~0: none yet */
	u32 probed;		/* stamp of the last request for a probe */
};

static_assert(sizeof(struct mlcc_pcc_flow) == 48, "the NIC keeps 48 bytes a flow");

/* What the host may set, a u32 each; mlcc_pcc_params[] has defaults and limits. */
enum mlcc_pcc_param {
	MLCC_PCC_D_PHASE,	/* 256 bytes; 0: learnt */
	MLCC_PCC_PROFILE,	/* enum mlcc_profile_id */
	MLCC_PCC_AI,		/* R_AI, 2^-20 of the port's rate, as all rates */
	MLCC_PCC_HAI,
	MLCC_PCC_MIN_RATE,
	MLCC_PCC_FIRST_RATE,
	MLCC_PCC_TIME,		/* T, ns, as all times */
	MLCC_PCC_BYTES,		/* B, 0: no byte counter */
	MLCC_PCC_ALPHA_TIME,	/* K */
	MLCC_PCC_DECREASE_TIME,
	MLCC_PCC_G,		/* Q16 */
	MLCC_PCC_ALPHA_INIT,	/* Q16 */
	MLCC_PCC_DECREASE_MAX,	/* Q16 */
	MLCC_PCC_THRESHOLD,	/* F */
	MLCC_PCC_STAGES,	/* enum mlcc_rp_stages */
	MLCC_PCC_FLAGS,		/* enum mlcc_rp_flags */
	MLCC_PCC_PROBE_TIME,	/* least time between two probes, 0: none */
	MLCC_PCC_PARAMS,
};

#define MLCC_PCC_D_PHASE_SHIFT	8

struct mlcc_pcc_limits {
	const char *name;
	u32 value, min, max;	/* default and limits */
};

extern const struct mlcc_pcc_limits mlcc_pcc_params[MLCC_PCC_PARAMS];

/* What the parameters come to. */
struct mlcc_pcc_config {
	struct mlcc_rp_param rp;
	struct mlcc_profile profile;
	u32 probe_ns;
};

/* One job at one port. */
struct mlcc_pcc_slot {
	struct mlcc_job job;
	u64 clock;			/* ns, of the latest event, put together from stamps */
	struct mlcc_pcc_config config[2];
	u32 active;			/* which of them flows read */
};

/* An empty slot with the default parameters. */
void mlcc_pcc_init(struct mlcc_pcc_slot *slot);

/*
 * Sets all parameters, from @values[MLCC_PCC_PARAMS].  Returns false, and changes nothing, if one
 * of them is out of its limits or they contradict each other.  One caller at a time; events go on.
 */
bool mlcc_pcc_set(struct mlcc_pcc_slot *slot, const u32 *values);

/* An event of a flow.  Any number of cores, each with another flow. */
void mlcc_pcc_event(struct mlcc_pcc_slot *slot, struct mlcc_pcc_flow *flow,
		    const struct mlcc_pcc_event *event, struct mlcc_pcc_result *result);

#endif /* MLCC_PCC_H */
