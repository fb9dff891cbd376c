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
 * Two peers with one place in the table take it from each other; each then begins with what its
 * socket knows.  Times are microseconds.
 */
#ifndef MLCC_PATH_H
#define MLCC_PATH_H

#include "reverse.h"
#include "types.h"

#define MLCC_PATHS		8U	/* peers of a job on this host, a power of two */
#define MLCC_PATH_PHASES	16U	/* phases without a short round trip and without a loss */
#define MLCC_PATH_LONG_US	1000U	/* from this round trip on a path is long */

struct mlcc_path {
	u32 peer;		/* mlcc_path_peer(), 0: none yet */
	u32 min_rtt;
	u32 least;		/* the least one of the phases that are counted */
	u16 seq;		/* the phase that was counted last, low bits of the job's */
	u16 phases;		/* how many there are */
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

/* Where the path to @peer is kept, in a table of MLCC_PATHS. */
static __always_inline struct mlcc_path *mlcc_path_to(struct mlcc_path *table, u32 peer)
{
	return &table[peer & (MLCC_PATHS - 1)];
}

/*
 * Whether the path to @peer, whose place is @p, is a long one.  On such a path TCP paces until the
 * flow has met somebody: a window of many segments that leaves at once, at the start of a phase or
 * as ACKs come in batches, overflows a buffer that is shorter than the path.
 */
static __always_inline bool mlcc_path_is_long(const struct mlcc_path *p, u32 peer)
{
	return MLCC_READ(p->peer) == peer && MLCC_READ(p->min_rtt) >= MLCC_PATH_LONG_US;
}

/* The path is as short as it was, or says nothing: counting begins anew. */
static __always_inline void mlcc_path_anew(struct mlcc_path *p)
{
	MLCC_WRITE(p->phases, 0);
	MLCC_WRITE(p->least, ~0U);
}

/*
 * An ACK of the peer whose place is @p, in phase @seq of the job, has measured a round trip.
 * Returns the path's least.
 */
static __always_inline u32 mlcc_path_rtt(struct mlcc_path *p, const struct mlcc_ack *a, u32 seq)
{
	u32 rtt = a->rtt;

	if (MLCC_READ(p->peer) != a->peer) {
		MLCC_WRITE(p->peer, a->peer);
		MLCC_WRITE(p->min_rtt, a->min_rtt < rtt ? a->min_rtt : rtt);
		MLCC_WRITE(p->seq, seq);
		mlcc_path_anew(p);
	}
	if (MLCC_READ(p->min_rtt) >= MLCC_PATH_LONG_US && rtt < a->srtt)
		rtt = a->srtt;
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
