/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long ACKs have waited in queues on their way back.
 *
 * Hosts of a ring or of an all-to-all send and receive at once, so ACKs wait behind the data of the
 * other direction.  A round-trip time cannot tell that queue from the one that matters, before the
 * data: a job would take its own traffic for somebody else's.  TCP timestamps can (RFC 7323).  With
 *
 *	x = now - TSval
 *
 * where TSval says when the peer sent the ACK, in the peer's clock, x is what the ACK took, plus
 * how far the clocks are apart, which does not change, plus up to one tick of that clock, for TSval
 * is rounded down.  The least x ever seen ("base") is of an ACK that did not wait, sent as the
 * clock ticked.  So an ACK has waited
 *
 *	x - base - tick		at least,
 *
 * and the most of that over the last ticks is close to the truth.  Linux ticks every millisecond,
 * or every microsecond where both hosts' routes have the feature tcp_usec_ts (Linux 6.7).
 *
 * Of two things the round-trip time is surer: no ACK has waited for longer than that is above the
 * least one seen, which also lets "base" follow clocks that drift apart; and a clock that ticks at
 * another rate than it should moves "base" all the time, and is not believed.
 */
#ifndef MLCC_REVERSE_H
#define MLCC_REVERSE_H

#include "types.h"

#define MLCC_REVERSE_TICKS	4U	/* length of a window; the last two count */
#define MLCC_REVERSE_SHIFT	4	/* times are kept in units of 16 us */
#define MLCC_REVERSE_ODD	4U	/* windows of doubt beyond which a clock is not believed */

/* What an ACK has measured. */
struct mlcc_ack {
	u64 now;		/* us */
	u32 rtt;		/* us */
	u32 min_rtt;		/* us, the least one: the socket's, or the path's */
	u32 tsval;		/* of the ACK */
	u32 tick;		/* us, a unit of tsval; 0: there are no timestamps */
	u32 mss;		/* bytes */
	u32 peer;		/* mlcc_path_peer() */
};

struct mlcc_reverse {
	u32 base;		/* us, 0: none yet */
	u16 last;		/* the longest wait of the last window, 16 us */
	u16 now;		/* of this window */
	u16 window;		/* its number, low bits */
	u8 moved;		/* how far "base" has moved in it, 16 us */
	u8 odd;			/* windows in which it moved too far, less those in which not */
};

/* A silence: what the queues were like before it says nothing. */
static __always_inline void mlcc_reverse_silence(struct mlcc_reverse *r)
{
	r->last = 0;
	r->now = 0;
}

static __always_inline u32 mlcc_reverse_units(u32 us, u32 most)
{
	us >>= MLCC_REVERSE_SHIFT;
	return us < most ? us : most;
}

static __always_inline void mlcc_reverse_move(struct mlcc_reverse *r, u32 base, u32 by)
{
	u32 moved = r->moved + mlcc_reverse_units(by, 0xff);

	r->base = base;
	r->moved = moved < 0xff ? moved : 0xff;
}

/* A new window: in the last one a quarter of it is how far "base" may have moved. */
static __always_inline void mlcc_reverse_turn(struct mlcc_reverse *r, u32 window, u32 tick)
{
	if (r->moved > mlcc_reverse_units(MLCC_REVERSE_TICKS * tick / 4, 0xfe))
		r->odd += r->odd < 0xff;
	else
		r->odd -= r->odd > 0;
	r->moved = 0;
	r->last = r->now;
	r->now = 0;
	r->window = window;
}

/* How long, in us, ACKs have waited of late, at least: from 0 to @a->rtt - @a->min_rtt. */
static __always_inline u32 mlcc_reverse(struct mlcc_reverse *r, const struct mlcc_ack *a)
{
	u32 x = (u32)a->now - a->tsval * a->tick;
	u16 window = a->tsval / MLCC_REVERSE_TICKS;
	u32 most = a->rtt - a->min_rtt;
	u32 wait;
	s32 least;

	if (!a->tick || a->rtt < a->min_rtt)
		return 0;
	if (!r->base)
		r->base = x;
	if (window != r->window || a->tick == 1)
		mlcc_reverse_turn(r, window, a->tick);
	if ((s32)(x - r->base) < 0)
		mlcc_reverse_move(r, x, r->base - x);
	least = (s32)(x - r->base - a->tick);
	if (least > 0 && (u32)least > most) {
		mlcc_reverse_move(r, r->base + (least - most), least - most);
		least = most;
	}
	wait = least > 0 ? mlcc_reverse_units(least, 0xffff) : 0;
	if (wait > r->now)
		r->now = wait;
	if (r->odd >= MLCC_REVERSE_ODD)
		return 0;
	wait = (u32)(r->last > r->now ? r->last : r->now) << MLCC_REVERSE_SHIFT;
	return wait < most ? wait : most;
}

#endif /* MLCC_REVERSE_H */
