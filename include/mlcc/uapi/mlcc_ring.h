/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ring over which a process tells mlccd of its phases: a sealed memfd that both map.
 *
 * One producer, one consumer (mlccd).  @head and @tail count records since the ring was made and
 * never wrap in practice; record n lies in slot n & (slots - 1).  The producer writes a record,
 * then @head with release, then 1 to the eventfd.  Where head - tail is slots already, it does not
 * write, and counts in @dropped: a hint that comes late is worth nothing, so nobody waits.
 *
 * The other way, mlccd writes the time-shift of the job that the ring was opened for: a process
 * that delays phases (include/mlcc/shift.h) needs no system call to see whether there is one.  It
 * reads @shift_seq, the three values, then @shift_seq again, and takes what it has read if both
 * were the same even number.  What it makes of the shift it may say in @shift_said, for "show".
 *
 * mlccd believes nothing in here: it copies each record out before it looks at it, and drops and
 * counts what is not as described.  Documentation/mlccd-protocol.md says how a ring is handed over.
 */
#ifndef MLCC_UAPI_RING_H
#define MLCC_UAPI_RING_H

#include <linux/types.h>

#define MLCC_RING_MAGIC		0x6d6c6363U
#define MLCC_RING_VERSION	1
#define MLCC_RING_SLOTS_MIN	8U
#define MLCC_RING_SLOTS_MAX	16384U		/* a power of two */

enum mlcc_ring_type {
	MLCC_RING_PHASE_START = 1,	/* a phase of @bytes begins; 0: as many as the last one */
	MLCC_RING_PHASE_END = 2,	/* it is over; @bytes is 0 */
};

struct mlcc_ring_record {
	__u16 version;		/* MLCC_RING_VERSION */
	__u16 type;		/* enum mlcc_ring_type */
	__u32 job;		/* its id */
	__u64 bytes;		/* to 2^48 - 1 */
	__u64 time_ns;		/* CLOCK_MONOTONIC, of any time namespace; 0: not told */
	__u64 seq;		/* the record's number: what @head was before it */
	__u64 zero[4];
};

/* What a process says of its job's shift: any word may be newer than the others. */
struct mlcc_ring_said {
	__u32 state;		/* enum mlcc_shift_state */
	__u32 waits;		/* phases that have waited, ever */
	__s64 error_ns;		/* of the last phase against its slot, before it waited */
	__u64 period_ns;	/* the job's own; 0: not known yet */
};

struct mlcc_ring {
	__u32 magic;		/* these four are as they were when the ring was handed over */
	__u32 version;
	__u32 slots;
	__u32 record_size;	/* sizeof(struct mlcc_ring_record) */
	__u64 spare0[6];
	__u64 head;		/* the producer's, on a cache line of its own */
	__u64 dropped;
	struct mlcc_ring_said shift_said;
	__u64 sent_bytes;	/* handed to the network, ever; 0: not told */
	__u64 start_bytes;	/* of these, before the last phase that began */
	__u64 spare1;
	__u64 tail;		/* mlccd's, and so is what follows */
	__u64 shift_seq;	/* odd while the next three are being written */
	__u64 shift_period_ns;	/* 0: the job has no shift */
	__u64 shift_offset_ns;	/* phases begin when CLOCK_REALTIME modulo the period is this */
	__u64 shift_lead_ns;	/* so long before its phase an iteration begins */
	__u64 spare2[3];
	struct mlcc_ring_record records[];
};

/*
 * The memfd has exactly this size, and the seals F_SEAL_SHRINK and F_SEAL_GROW.  mlccd adds
 * F_SEAL_FUTURE_WRITE, so map it before, and bring the next mlccd another one.
 */
#define MLCC_RING_SIZE(slots) \
	(sizeof(struct mlcc_ring) + (slots) * sizeof(struct mlcc_ring_record))

#endif /* MLCC_UAPI_RING_H */
