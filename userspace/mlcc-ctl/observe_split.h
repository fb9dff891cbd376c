/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a job's time goes to, by what the kernel counts of its sockets.  No input, no output.
 *
 *	    busy: something is in flight     within      between phases
 *	   ______________________________     ____     __________________
 *	  |  network, loss, receiver ... |   |    |   |
 *	__|                              |___|    |___| compute, storage
 *	                                peer, sender
 *
 * The causes of a phase add up to its length; they are judged and count when it ends.  Which
 * silence is within one and which is between two the tracker of phase.h knows; what was before it
 * did is forgotten.  A job without phases has none of the causes of silences, but "unknown", as has
 * all for which there is no evidence.
 *
 * Times are microseconds of one monotonic clock.
 */
#ifndef MLCC_CTL_OBSERVE_SPLIT_H
#define MLCC_CTL_OBSERVE_SPLIT_H

#include <linux/tcp.h>

#include "../../include/mlcc/phase.h"
#include "../common/least.h"

/* Looks further apart than that, on average: some causes cannot be told, and are unknown. */
#define OBSERVE_COARSE_US	30000

#define OBSERVE_ITERATIONS	256U	/* the last, that are kept */

enum observe_cause {
	OBSERVE_COMPUTE,	/* silence between phases */
	OBSERVE_NETWORK,	/* a full window behind a queue, or marks, or a link that is full */
	OBSERVE_LOSS,		/* time-outs, or retransmissions without a queue */
	OBSERVE_RECEIVER,	/* the receiver's window is full */
	OBSERVE_SENDER,		/* the send buffer is too small, or silence within a phase */
	OBSERVE_PEER,		/* silence within a phase, until something is received */
	OBSERVE_POLICER,	/* a token bucket: a burst, then losses at a rate, without a queue;
				   or the network, while an instance's allowance is exceeded */
	OBSERVE_PATH,		/* only connections that are slower in each phase still send */
	OBSERVE_STORAGE,	/* silence between phases, in which storage sends or receives */
	OBSERVE_UNKNOWN,
	OBSERVE_CAUSES,
	/* yet to be judged */
	OBSERVE_DRY = OBSERVE_CAUSES,	/* a full window without a queue */
	OBSERVE_STALLED,		/* nothing is acknowledged */
	OBSERVE_PARTS
};

struct observe_flow {
	struct observe_flow *next;
	struct tcp_info now, last;	/* counters are since the socket was made */
	bool fresh, known;		/* these were written */
	bool storage;			/* no part of the phases */
	bool exceeds;			/* its device holds packets up: more than the allowance */
	u8 slow;			/* phases in a row in which it was */
	u64 bytes, tail_bytes, busy_us;	/* of this phase */
};

struct observe_phase {
	u64 us[OBSERVE_PARTS];
	/* with something in flight: until some connections had no more to send, and then */
	u64 busy_us, tail_busy_us;
	u64 tail_network_us;		/* of these: the network */
	u64 since_us, received;
	u64 looks, looked_us;		/* with something in flight, and the time between them */
	u64 shared_us;			/* others of this host sent, too: the caller knows */
	u64 peak;			/* until the first loss: kB/s */
	u64 later_kb, later_us;		/* after it, until a time-out */
	bool lost, timed_out, exceeded;
};

struct observe_iteration {
	u64 start_us, comm_us, bytes;
};

struct observe_job {
	struct observe_flow *flows;
	struct mlcc_job tracker;
	struct observe_iteration iterations[OBSERVE_ITERATIONS];
	u64 iteration_count;		/* since phases were known */
	struct observe_phase phase;
	u64 total_us[OBSERVE_CAUSES];	/* of phases that are over */
	u64 lost_us;			/* by which the network made them longer than the shortest */
	struct least least;
	u64 network_us;			/* of the totals, when this phase began */
	u64 seen_us;			/* the last look, 0: none */
	u64 from_us, to_us;		/* it has sent in the last look, 0: not */
	u64 quiet_us;			/* silent since then */
	u64 storage_us;			/* of this silence, while storage moved */
	u64 storage_silent_us, storage_busy_us;	/* ever */
	u64 rate;			/* after losses, the mean of phases; kB/s */
	u8 steady, bursts;		/* phases in a row with that rate, and that began above it */
	bool busy, came;		/* at the last look: in flight, received */
	bool learnt, in_tail;
};

/* Takes "now" of the flows that are fresh, at time @now. */
void observe_look(struct observe_job *j, u64 now);
/*
 * The cause, other than compute, with the most time; OBSERVE_COMPUTE: it has below 1/10 of @all;
 * OBSERVE_UNKNOWN, too, if that is 0.
 */
enum observe_cause observe_first(const struct observe_job *j, u64 *all);

#endif /* MLCC_CTL_OBSERVE_SPLIT_H */
