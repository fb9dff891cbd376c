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
 * The round-trip time bounds it: no ACK has waited for longer than that is above the least one
 * seen, which also lets "base" follow clocks that drift apart.  A clock that ticks at another rate
 * than it should moves "base" by a quarter of all windows, and is not believed.
 */
#ifndef MLCC_REVERSE_H
#define MLCC_REVERSE_H

#include "types.h"

#define MLCC_REVERSE_TICKS	4U	/* length of a window; the last two count */
#define MLCC_REVERSE_ODD	4U	/* windows of doubt beyond which a clock is not believed */
#define MLCC_REVERSE_SHIFT	4	/* times are kept in units of 16 us */

/* What an ACK has measured. */
struct mlcc_ack {
	u64 now;		/* us */
	u32 rtt;		/* us */
	u32 srtt;		/* us, TCP's average */
	u32 min_rtt;		/* us, the least one: the socket's, or the path's */
	u32 tsval;		/* of the ACK */
	u32 tick;		/* us, a unit of tsval; 0: there are no timestamps */
	u32 mss;		/* bytes */
	u32 peer;		/* mlcc_path_peer() */
	bool ecn;		/* its queue has marked; that ends have agreed on it says nothing */
};

struct mlcc_reverse {
	u32 base;		/* us, 0: none yet */
	u16 last;		/* the longest wait of the last window, 16 us */
	u16 now;		/* of this window */
	u16 window;		/* its number, low bits */
	u8 moved;		/* how far "base" has come up in it, 16 us */
	u8 odd;			/* windows in which that was too far, less those in which not */
};

/* A silence: what the queues were like before it says nothing. */
static __always_inline void mlcc_reverse_silence(struct mlcc_reverse *r)
{
	r->last = 0;
	r->now = 0;
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
	if (!r->base || (s32)(x - r->base) < 0)
		r->base = x;
	if (window != r->window || a->tick == 1) {
		r->window = window;
		r->last = r->now;
		r->now = 0;
		if (r->moved > a->tick >> MLCC_REVERSE_SHIFT)
			r->odd += r->odd < 0xff;
		else
			r->odd -= r->odd > 0;
		r->moved = 0;
	}
	least = (s32)(x - r->base - a->tick);
	if (least > 0 && (u32)least > most) {
		wait = r->moved + ((least - most) >> MLCC_REVERSE_SHIFT);
		r->moved = wait < 0xff ? wait : 0xff;
		r->base += least - most;
		least = most;
	}
	wait = least > 0 ? (u32)least >> MLCC_REVERSE_SHIFT : 0;
	if (wait > r->now)
		r->now = wait < 0xffff ? wait : 0xffff;
	if (r->odd >= MLCC_REVERSE_ODD)
		return 0;
	wait = (u32)(r->last > r->now ? r->last : r->now) << MLCC_REVERSE_SHIFT;
	return wait < most ? wait : most;
}

#endif /* MLCC_REVERSE_H */
