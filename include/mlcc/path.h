/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The least round-trip time of the paths that a job sends over, by which a queue is told from none.
 *
 * A socket's own least RTT will not do.  A flow that is opened behind a standing queue has never
 * seen less than that queue; what TCP keeps expires after five minutes, and beside a long transfer
 * becomes the queue's, too.  So the job keeps it, for each peer, from one connection to the next,
 * and it comes up again only with a reason:
 *
 *	down	at once, with any shorter round trip; over a long path, where packets may overtake
 *		each other, as far as TCP's average comes down
 *	up	after MLCC_PATH_PHASES phases in a row in which no round trip came near it and
 *		nothing was lost: the path has become longer.  A queue of others that is never
 *		empty overflows now and then.
 *
 * A place that no flow has used for a phase may be taken by another peer.  A job with more peers
 * than there are places does as its base does over the rest.  Times are microseconds.
 */
#ifndef MLCC_PATH_H
#define MLCC_PATH_H

#include "reverse.h"
#include "types.h"

#define MLCC_PATHS		8U	/* peers of a job on this host, a power of two */
#define MLCC_PATH_PHASES	16U	/* phases without a short round trip and without a loss */
#define MLCC_PATH_UNUSED	2U	/* phases after which a place may be taken */
#define MLCC_PATH_LONG_US	1000U	/* from this round trip on window.h takes too long */

struct mlcc_path {
	u32 peer;		/* mlcc_path_peer(), 0: none yet */
	u32 min_rtt;
	u32 least;		/* the least one of the phases that are counted */
	u16 seq;		/* the phase that was counted last, low bits of the job's */
	u16 phases;		/* how many there are */

	/* the job's window, window.h */
	u32 busy;		/* try-lock of what is below, but for "acked" and "flows" */
	u32 state;		/* enum mlcc_window_state */
	u32 window;		/* bytes */
	u32 ssthresh;		/* bytes; 0: never set */
	u32 target;		/* bytes that the window doubles up to, if ssthresh allows */
	u32 last;		/* bytes, at the end of the last phase that did not wait */
	u32 flows;		/* that have something in flight, or are paced */
	u32 flows_most;		/* at one time, in this phase */
	u32 limited;		/* the last round in which the window was a flow's limit */
	u32 round;		/* number of this round trip */
	u32 round_us;		/* when it began */
	u32 round_least;	/* its least round trip so far */
	u32 round_most;		/* and its longest */
	u32 cut;		/* round of the last decrease */
	u32 before;		/* bytes, the window before it */
	u32 before_ssthresh;	/* and ssthresh */
	u32 undo;		/* it may be undone */
	u32 lost;		/* how often this phase has lost something, or seen a mark */
	u32 cost;		/* us that a byte takes the link at best, Q28; 0: not known */
	u32 noise;		/* us that the job's hosts add to a round trip at full rate */
	u32 noise_now;		/* seen in this phase: they are, if the job turns out to be alone */
	u32 behind;		/* us, others' longest queue in the last phase that waited */
	u32 has_us;		/* since when the job has the link, or takes it */
	u32 began_us;		/* when this phase began */
	u32 patience_us;	/* how long it waits */
	u32 timeouts;		/* phases in a row whose wait did not end by itself */
	u64 acked;		/* bytes of the job over this path, ever */
	u32 last_us;		/* when the last of them were acknowledged */
	u64 start_acked;	/* when the phase began */
	u64 has_acked;		/* since "has_us" */
};

/*
 * What a path is known by: a hash of the last 32 bits of both addresses, not 0.  A host that has
 * several ways out has several paths.
 */
static __always_inline u32 mlcc_path_peer(u32 saddr, u32 daddr)
{
	u32 h = daddr ^ saddr * 0x9e3779b1U;

	h = (h ^ h >> 16) * 0x9e3779b1U;
	h ^= h >> 15;
	return h ? h : 1;
}

/* Whether place @i is that of @peer, or becomes it in phase @seq: @free, or not used any more. */
static __always_inline bool mlcc_path_fits(struct mlcc_path *p, u32 peer, u32 seq, bool is_free)
{
	u32 old = MLCC_READ(p->peer);

	if (is_free ? old != 0 : !old || (u16)(seq - MLCC_READ(p->seq)) < MLCC_PATH_UNUSED)
		return false;
	if (MLCC_CAS32(&p->peer, old, peer) != old)
		return false;
	__builtin_memset(&p->min_rtt, 0,
			 sizeof(*p) - __builtin_offsetof(struct mlcc_path, min_rtt));
	MLCC_WRITE(p->seq, seq - 1);
	return true;
}

/*
 * The place of @peer in a table of MLCC_PATHS, in phase @seq, becomes @to; MLCC_PATHS: there is no
 * room.  It is kept in memory, for in a register the BPF verifier would follow each value.
 */
static __always_inline void mlcc_path_find(struct mlcc_path *table, u32 peer, u32 seq, u8 *to)
{
	MLCC_WRITE(*to, MLCC_PATHS);
	for (u32 i = 0; i < MLCC_PATHS; i++)
		if (MLCC_READ(table[i].peer) == peer)
			MLCC_WRITE(*to, i);
	for (u32 i = 0; i < MLCC_PATHS; i++)
		if (MLCC_READ(*to) == MLCC_PATHS && mlcc_path_fits(&table[i], peer, seq, true))
			MLCC_WRITE(*to, i);
	for (u32 i = 0; i < MLCC_PATHS; i++)
		if (MLCC_READ(*to) == MLCC_PATHS && mlcc_path_fits(&table[i], peer, seq, false))
			MLCC_WRITE(*to, i);
}

/* The path is as short as it was, or says nothing: counting begins anew. */
static __always_inline void mlcc_path_anew(struct mlcc_path *p)
{
	if (!MLCC_READ(p->phases))
		return;
	MLCC_WRITE(p->phases, 0);
	MLCC_WRITE(p->least, ~0U);
}

/* An ACK of the peer whose place is @p has measured a round trip.  Returns the path's least. */
static __always_inline u32 mlcc_path_rtt(struct mlcc_path *p, const struct mlcc_ack *a)
{
	u32 rtt = a->rtt;

	if (!MLCC_READ(p->min_rtt)) {
		MLCC_WRITE(p->min_rtt, mlcc_min(a->min_rtt, rtt));
		MLCC_WRITE(p->least, ~0U);
	}
	if (MLCC_READ(p->min_rtt) >= MLCC_PATH_LONG_US)
		rtt = mlcc_max(rtt, a->srtt);
	if (rtt < MLCC_READ(p->min_rtt))
		MLCC_WRITE(p->min_rtt, rtt);
	if (rtt < MLCC_READ(p->least))
		MLCC_WRITE(p->least, rtt);
	return MLCC_READ(p->min_rtt);
}

/* A flow over @p has entered phase @seq. */
static __always_inline void mlcc_path_phase(struct mlcc_path *p, u32 seq)
{
	if (MLCC_READ(p->seq) == (u16)seq)
		return;
	MLCC_WRITE(p->seq, seq);
	MLCC_WRITE(p->phases, p->phases + 1);
	if (p->phases <= MLCC_PATH_PHASES)
		return;
	if (MLCC_READ(p->least) != ~0U)
		MLCC_WRITE(p->min_rtt, p->least);
	mlcc_path_anew(p);
}

#endif /* MLCC_PATH_H */
