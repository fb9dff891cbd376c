/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DCQCN with the rule as firmware of a programmable NIC.
 *
 * NVIDIA's DOCA PCC (BlueField-3, ConnectX-8 and -9) calls a program on the NIC's RISC-V cores for
 * each congestion event of a flow, with 48 bytes of context, and takes a rate from it.  What it
 * says of an event, and what it wants back, is written down here in our own words; doca.c
 * translates.  Nothing here has run on silicon: it is built for rv64, run under QEMU, and compared
 * with the host's build bit by bit (Documentation/rdma.md).
 *
 *	         event                 context: whose record was it?
 *	NIC ----------------> mlcc_pcc_event() --> struct mlcc_pcc_flow, a queue pair (R_C, R_T,
 *	    <---------------- rate, probe          alpha, progress) --> struct mlcc_pcc_job, tracker
 *	host ---------------> mlcc_pcc_command()   job N has so many bytes; this queue pair is its
 *
 * A flow is a queue pair, by the function it belongs to and its number.  On BlueField-3 only TX
 * events tell the number, CNPs and probes do not, and several queue pairs take turns in one
 * context: so the context keeps no more than which record was used last, and that is whose an event
 * without a number is.  Records are found by their number in a table of MLCC_PCC_FLOWS; one that
 * nobody has used for ten seconds may be taken for another queue pair.  Who finds none has a record
 * in common with all others of that kind, and no job.
 *
 * A flow of no job is plain DCQCN.  D_sent of a job is what the TX events of its flows report; as
 * their counter of bytes has an end, longer bursts are estimated from their packets.
 *
 * What tells of congestion is a CNP; or, with "rtt_over", a probe that took so much longer than the
 * flow's fastest one, and CNPs count for nothing.  All else is the same.
 *
 * The NIC's stamps are 32 bits of nanoseconds.  The tracker's clock is put together from them, so a
 * silence of all flows of 4.3 s or more is taken for what it is beyond that.
 */
#ifndef MLCC_PCC_H
#define MLCC_PCC_H

#include <stddef.h>

#include "../../include/mlcc/phase.h"
#include "../dcqcn/job.h"
#include "mailbox.h"

/* Rates that the NIC sees are in 2^-20 of its port's, inside they have 8 more bits. */
#define MLCC_PCC_RATE_SHIFT	20
#define MLCC_PCC_RATE_ONE	0x100000U
#define MLCC_PCC_LINE_SHIFT	28
#define MLCC_PCC_LINE		0x10000000U
#define MLCC_PCC_MORE_SHIFT	(MLCC_PCC_LINE_SHIFT - MLCC_PCC_RATE_SHIFT)

/* The tracker's microsecond is 1024 ns here: it compares times with each other only. */
#define MLCC_PCC_US_SHIFT	10

#define MLCC_PCC_PORTS		4U
#define MLCC_PCC_SLOTS		8U	/* sets of parameters of a port */
#define MLCC_PCC_FLOWS		4096U	/* a power of two */
#define MLCC_PCC_WAYS		8U	/* records that a queue pair may have */
#define MLCC_PCC_IDLE_MS	10000U	/* ... of 1.05 ms */

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
	u32 port, slot;		/* whose parameters count; those of 0 if there is none such */
	u32 vhca, qpn;		/* the queue pair; qpn 0: the event does not tell */
	u32 units;		/* TX: 32 bytes each, sent since the last such event; 16 bits */
	u32 packets;		/* TX: likewise */
	u32 probed;		/* RTT: stamp of when the probe left */
};

#define MLCC_PCC_UNIT_SHIFT	5
#define MLCC_PCC_UNITS_MAX	0xffffU	/* the counter's end: so many, or more */

struct mlcc_pcc_result {
	u32 rate;		/* 2^-20 of the port's rate, 1 .. 2^20 */
	u32 probe;		/* whether to send a probe */
};

/* A queue pair's record.  All zero: it is free. */
struct mlcc_pcc_flow {
	u64 key;		/* mlcc_pcc_key() */
	struct dcqcn rp;	/* R_C 0: the flow is new */
	u32 p;			/* progress at the last TX event, or MLCC_NEUTRAL */
	u32 min_rtt;		/* ns, ~0: none yet */
	u32 probed;		/* stamp of the last request for a probe */
	u32 seen;		/* ms, of the last TX event */
	u8 mean;		/* units of a packet in a long burst, 0: not known */
	u8 job;			/* 0: none */
};

static_assert(sizeof(struct mlcc_pcc_flow) == 64, "a record is a cache line");

/* What is kept in the NIC's context of a flow.  May begin as anything. */
struct mlcc_pcc_context {
	u64 key;		/* of the record that was used last */
	u32 flow;		/* and where it is */
};

static_assert(sizeof(struct mlcc_pcc_context) <= 48, "the NIC keeps 48 bytes a flow");

/* What the host may set of each port and slot, a u32 each; mlcc_pcc_params[] has the limits. */
enum mlcc_pcc_param {
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
	MLCC_PCC_STAGES,	/* enum dcqcn_stages */
	MLCC_PCC_FLAGS,		/* enum dcqcn_flags */
	MLCC_PCC_PROBE_TIME,	/* least time between two probes, 0: none */
	MLCC_PCC_RTT_OVER,	/* over the least RTT: congestion; 0: CNPs tell */
	MLCC_PCC_PARAMS,
};

struct mlcc_pcc_limits {
	const char *name;
	u32 value, min, max;	/* default and limits */
};

extern const struct mlcc_pcc_limits mlcc_pcc_params[MLCC_PCC_PARAMS];

/* What the parameters come to. */
struct mlcc_pcc_config {
	struct dcqcn_param rp;
	u32 probe_ns;
	u32 rtt_over;
};

struct mlcc_pcc_slot {
	const struct mlcc_pcc_config *active;	/* that of the two that flows read */
	struct mlcc_pcc_config config[2];
};

struct mlcc_pcc_job {
	struct mlcc_job job;
	u32 profile;		/* enum mlcc_profile_id */
	u32 flows;		/* records that are the job's; of job 0 it says nothing */
};

struct mlcc_pcc_nic {
	u64 clock;		/* ns, of the latest TX event, put together from stamps */
	u32 taking;		/* lock of a record's change of hands */
	struct mlcc_pcc_slot slot[MLCC_PCC_PORTS][MLCC_PCC_SLOTS];
	struct mlcc_pcc_job job[MLCC_PCC_JOBS];		/* [0]: no job */
	struct mlcc_pcc_flow flow[MLCC_PCC_FLOWS + 1];	/* the last one: all that have no other */
};

/* No flows, no jobs, default parameters. */
void mlcc_pcc_init(struct mlcc_pcc_nic *nic);

/*
 * Sets all parameters of a slot, from @values[MLCC_PCC_PARAMS].  Returns false, and changes
 * nothing, if there is no such slot, one of them is out of its limits, or they contradict each
 * other.  One caller at a time; events go on.
 */
bool mlcc_pcc_set(struct mlcc_pcc_nic *nic, u32 port, u32 slot, const u32 *values);

/* Never 0. */
static __always_inline u64 mlcc_pcc_key(u32 vhca, u32 qpn)
{
	return (u64)1 << 63 | (u64)vhca << 32 | qpn;
}

/*
 * The record of @key, which becomes its own if it has none yet and there is room; else NULL.
 * @now: ms, as mlcc_pcc_flow.seen.
 */
struct mlcc_pcc_flow *mlcc_pcc_find(struct mlcc_pcc_nic *nic, u64 key, u32 now);

/*
 * What the host wants (mailbox.h).  A command is done as a whole, or refused and changes nothing.
 * One caller at a time; events go on.
 */
enum mlcc_pcc_status mlcc_pcc_command(struct mlcc_pcc_nic *nic,
				      const struct mlcc_pcc_command *command);

/* An event of a flow.  Any number of cores, each with another context. */
void mlcc_pcc_event(struct mlcc_pcc_nic *nic, struct mlcc_pcc_context *context,
		    const struct mlcc_pcc_event *event, struct mlcc_pcc_result *result);

/* The time of the latest TX event, in mlcc_pcc_flow.seen's unit. */
static __always_inline u32 mlcc_pcc_ms(u64 clock)
{
	return clock >> (2 * MLCC_PCC_US_SHIFT);
}

#endif /* MLCC_PCC_H */
