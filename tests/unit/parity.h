/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parity test: a seeded list of calls to the shared headers, the same for every build.
 *
 * A build (native, BPF; later rv64 and the module) runs parity_step() for each call and hands back
 * what it returned and, at the end, struct parity_state.  All bits have to agree.
 * Freestanding: a build brings no more than a place for the state.
 */
#ifndef MLCC_PARITY_H
#define MLCC_PARITY_H

#include "../../include/mlcc/profiles.h"
#include "../../include/mlcc/dctcp.h"
#include "../../include/mlcc/background.h"
#include "random.h"

enum parity_kind {
	PARITY_PROFILE,		/* another profile from here on */
	PARITY_RULE,
	PARITY_TX_START,
	PARITY_ACKED,
	PARITY_HINT,
	PARITY_BACKGROUND,
	PARITY_WINDOW_ENTER,
	PARITY_WINDOW_LOOK,
	PARITY_WINDOW_CUT,
	PARITY_WINDOW_FLOWS,
	PARITY_PATH_FIND,
	PARITY_KINDS,
};

struct parity_call {
	u64 a, b, c;
	u64 result;
	u32 kind;
	u32 spare;
};

struct parity_state {
	struct mlcc_profile profile;
	struct mlcc_job job;
	struct mlcc_flow flow;
	struct mlcc_dctcp dctcp;
	struct mlcc_flow background;
	struct mlcc_path path;	/* of the background flow */
	struct mlcc_win win;
	struct mlcc_path paths[MLCC_PATHS];	/* of the job, the first one with its window */
};

static __always_inline void parity_profile(struct mlcc_profile *pr, u64 a, u64 b)
{
	pr->floor = MLCC_GROW_MIN + (u32)a % (MLCC_GROW_MAX / 2);
	pr->slope = (u32)(a >> 32) % (MLCC_GROW_MAX / 2);
	pr->hold = (u32)b % (MLCC_HOLD_MAX + 1);
	pr->shape = 1 + (b >> 32) % MLCC_SHAPE_MAX;
}

/* What has no state but DCTCP's alpha. */
static __always_inline u64 parity_rule(struct parity_state *s, const struct parity_call *c)
{
	u32 p = c->a % (MLCC_ONE + 1), yield = mlcc_yield(&s->profile, p);
	u64 all = mlcc_recip(c->a) ^ (u64)mlcc_progress(c->a, c->b, mlcc_recip(c->b)) << 40;

	mlcc_dctcp_window(&s->dctcp, (u32)c->a, (u32)c->b);
	all ^= s->dctcp.alpha ^ (u64)mlcc_grow(&s->profile, p) << 8 ^ (u64)yield << 24;
	all ^= mlcc_increase(&s->flow, (u32)c->a | 1, (u32)c->b & 0xffff, (u32)c->c);
	return all ^ (u64)mlcc_decrease((u32)c->a, c->b % (MLCC_ONE + 1), yield) << 32;
}

static __always_inline u64 parity_acked(struct parity_state *s, u64 bytes, u64 now)
{
	struct mlcc_flow *f = &s->flow;

	f->acked += bytes;
	f->p = mlcc_job_acked(&s->job, bytes, now);
	return f->p;
}

static __always_inline u64 parity_tx_start(struct parity_state *s, u64 now, u32 min_rtt)
{
	bool turn = mlcc_job_tx_start(&s->job, now, min_rtt);

	if (turn)
		s->flow.sent = 0;
	return turn;
}

/* Windows stay below 2^20. */
static __always_inline u64 parity_background(struct parity_state *s, const struct parity_call *c)
{
	struct mlcc_ack a = {
		.now = c->a, .rtt = c->b >> 20 | 1, .srtt = c->b >> 21 | 1, .min_rtt = c->c >> 40 | 1,
		.tsval = c->a >> 10, .tick = 1000, .mss = 1448, .peer = 1,
	};

	s->win.open = c->c & 7;
	mlcc_background_rtt(&s->background, &s->job, &s->path, &a, &s->win);
	s->win.cwnd += mlcc_background_increase(&s->background, &s->win, c->c & 0xff);
	s->win.cwnd &= 0xfffff;
	return (u64)s->win.cwnd << 32 | s->background.least;
}

/* A phase of the job's over its first path: one in four has no progress. */
static __always_inline u64 parity_window_enter(struct parity_state *s, const struct parity_call *c)
{
	struct mlcc_path *p = &s->paths[0];

	if (!p->min_rtt)
		p->min_rtt = 1 + (c->b & 0xff);
	mlcc_window_enter(p, &s->job, p->seq + 1, c->a, c->c & 3);
	return (u64)p->state << 32 | p->window;
}

/* An ACK that has measured something, of a flow that is limited by its window more often than not. */
static __always_inline u64 parity_window_look(struct parity_state *s, const struct parity_call *c)
{
	struct mlcc_path *p = &s->paths[0];

	mlcc_window_acked(p, c->a, (u32)c->b & 0xfffff, c->c & 7);
	mlcc_window_look(p, c->a, p->min_rtt + ((c->b >> 20) & 0xfff), 1448,
			 mlcc_grow(&s->profile, c->c % (MLCC_ONE + 1)),
			 c->b & 1 << 19);
	return (u64)p->target << 32 | p->window;
}

static __always_inline u64 parity_window_cut(struct parity_state *s, const struct parity_call *c)
{
	struct mlcc_path *p = &s->paths[0];

	mlcc_window_cut(p, c->a % (MLCC_ONE + 1), 1448, c->b & 1);
	if (!(c->b & 3))
		mlcc_window_undo(p);
	return (u64)p->ssthresh << 32 | p->window;
}

static __always_inline u64 parity_window_flows(struct parity_state *s, const struct parity_call *c)
{
	struct mlcc_path *p = &s->paths[0];

	if (c->a & 1)
		mlcc_window_join(p);
	else
		mlcc_window_leave(p);
	return (u64)p->flows << 32 | mlcc_window_share(p, 1448);
}

/* Peers come and go; the first place is kept, for it has the window. */
static __always_inline u64 parity_path_find(struct parity_state *s, const struct parity_call *c)
{
	u32 seq = s->job.seq;
	u8 to;

	s->paths[0].peer = 1;
	mlcc_path_find(s->paths, mlcc_path_peer(c->a, c->b & 15), s->paths[0].seq + (seq & 1), &to);
	return to;
}

static __always_inline u64 parity_step(struct parity_state *s, const struct parity_call *c)
{
	switch (c->kind) {
	case PARITY_PROFILE:
		parity_profile(&s->profile, c->a, c->b);
		return s->profile.floor;
	case PARITY_RULE:
		return parity_rule(s, c);
	case PARITY_TX_START:
		return parity_tx_start(s, c->a, c->b);
	case PARITY_ACKED:
		return parity_acked(s, (u32)c->b, c->a);
	case PARITY_HINT:
		mlcc_job_hint(&s->job, c->a);
		return 0;
	case PARITY_BACKGROUND:
		return parity_background(s, c);
	case PARITY_WINDOW_ENTER:
		return parity_window_enter(s, c);
	case PARITY_WINDOW_LOOK:
		return parity_window_look(s, c);
	case PARITY_WINDOW_CUT:
		return parity_window_cut(s, c);
	case PARITY_WINDOW_FLOWS:
		return parity_window_flows(s, c);
	case PARITY_PATH_FIND:
		return parity_path_find(s, c);
	}
	return ~0ULL;
}

/* Whether a call of @kind has a time. */
static __always_inline bool parity_is_timed(u32 kind)
{
	return kind == PARITY_ACKED || kind == PARITY_TX_START || kind == PARITY_WINDOW_ENTER ||
	       kind == PARITY_WINDOW_LOOK;
}

/*
 * Call number @i.  @clock: us.  A job whose phases take 64 calls and agree more often than not, so
 * that the tracker gets to learn and to doubt, with nonsense of every magnitude strewn in.
 */
static __always_inline void parity_next(struct parity_call *c, u32 i, u64 *seed, u64 *clock)
{
	u64 r = random_u64(seed);
	bool start = i % 64 == 0, sane = (r & 0xff00) != 0;

	c->a = random_magnitude(seed);
	c->b = random_magnitude(seed);
	c->c = random_magnitude(seed);
	c->result = 0;
	c->spare = 0;
	c->kind = start ? PARITY_TX_START : r & 3 ? PARITY_ACKED : (r >> 2 & 63) % PARITY_KINDS;
	*clock += start ? 20000 + (r >> 32 & 8191) : r >> 32 & 127;
	if (c->kind == PARITY_HINT && sane)
		c->a &= 0x1fffff;
	if (!parity_is_timed(c->kind))
		return;
	/* a clock may jump, but one that has gone to the end of time would end the test */
	c->a = sane ? *clock : *clock + (c->a >> 44) - (c->b >> 44);
	if (sane && c->kind == PARITY_ACKED)
		c->b = r >> 40 & 0xffff;
	if (c->kind == PARITY_TX_START)
		c->b &= 0x3ff;
}

#endif /* MLCC_PARITY_H */
