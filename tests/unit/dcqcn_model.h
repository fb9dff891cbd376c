/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DCQCN's reaction point once more: in floating point, with timers that expire one by one, written
 * from the descriptions of the algorithm and not from rdma/dcqcn/rp.h.  Time is in nanoseconds and
 * does not wrap.
 */
#ifndef MLCC_DCQCN_MODEL_H
#define MLCC_DCQCN_MODEL_H

#include <math.h>

#include "../../rdma/dcqcn/params.h"

struct model {
	const struct dcqcn_param *c;
	double rc, rt, alpha;
	double next_time, next_alpha, next_byte;	/* ns, ns, bytes */
	double now, sent, last_decrease;
	double grow, yield;				/* what the rule scales */
	double step, least;				/* of R_T and R_C; 0: DCQCN's */
	double line;					/* the flow's */
	unsigned int by_time, by_bytes;
};

static inline void model_init(struct model *m, const struct dcqcn_param *c, double now)
{
	*m = (struct model) {
		.c = c, .rc = c->line, .rt = c->line, .now = now, .last_decrease = -INFINITY,
		.alpha = c->alpha_init / 65536.0, .next_time = now + c->time_ns,
		.next_alpha = now + c->alpha_ns, .next_byte = c->bytes ? c->bytes : INFINITY,
		.grow = 1, .yield = 1, .line = c->line,
	};
}

/* What an increase adds to R_T. */
static inline double model_target(const struct model *m)
{
	double f = m->c->threshold, t = m->by_time, b = m->by_bytes;
	double most = fmax(t, b), least = fmin(t, b), steps;

	if (most < f)
		return 0;
	if (m->c->stages == DCQCN_STAGES_PAPER)
		steps = least - f;
	else
		steps = least - f + 1;
	if (m->step && most > f)
		return m->step;
	if (steps <= 0)
		return m->c->ai * m->grow;
	return m->c->hai * steps;
}

/* @stage: of the counter that has expired */
static inline void model_increase(struct model *m, unsigned int *stage)
{
	double add = model_target(m);

	*stage = *stage < 255 ? *stage + 1 : 255;
	if (m->c->flags & DCQCN_SHRINK && m->by_time + m->by_bytes == 1 && m->rt > 10 * m->rc)
		m->rt /= 8;
	m->rt = fmin(m->rt + add, m->line);
	m->rc = (m->rc + m->rt) / 2;
}

static inline void model_advance(struct model *m, double now)
{
	m->rt = fmin(m->rt, m->line);
	m->rc = fmin(m->rc, m->line);
	while (fmin(m->next_time, m->next_alpha) <= now) {
		if (m->next_alpha <= m->next_time) {
			m->alpha *= 1 - m->c->g / 65536.0;
			m->next_alpha += m->c->alpha_ns;
		} else {
			model_increase(m, &m->by_time);
			m->next_time += m->c->time_ns;
		}
	}
	m->now = now;
}

static inline void model_sent(struct model *m, double now, double bytes)
{
	model_advance(m, now);
	m->sent += bytes;
	while (m->next_byte <= m->sent) {
		model_increase(m, &m->by_bytes);
		m->next_byte += m->c->bytes;
	}
}

static inline void model_count_cnp(struct model *m)
{
	double g = m->c->g / 65536.0;

	m->alpha = (1 - g) * m->alpha + g;
}

/* Halves never get there: a NIC's registers do when the last bit is rounded. */
static inline int model_free(const struct model *m)
{
	return m->rc > m->line - 1.0 && m->rt > m->line - 1.0;
}

static inline void model_decrease(struct model *m)
{
	int was_free = model_free(m), flags = m->c->flags;

	if (was_free && flags & DCQCN_ALPHA_ANEW)
		m->alpha = m->c->alpha_init / 65536.0;
	if (flags & DCQCN_ALPHA_FIRST)
		model_count_cnp(m);
	if (flags & DCQCN_CLAMP || m->by_bytes || (flags & DCQCN_CLAMP_TIME && m->by_time))
		m->rt = m->rc;
	if (was_free && m->c->first_rate)
		m->rc = fmin(m->c->first_rate, m->line);
	else
		m->rc *= 1 - fmin(m->alpha / 2 * m->yield, m->c->decrease_max / 65536.0);
	m->rc = fmax(m->rc, fmax(m->c->min_rate, m->least));
	if (!(flags & DCQCN_ALPHA_FIRST))
		model_count_cnp(m);
	m->by_time = 0;
	m->by_bytes = 0;
	m->next_time = m->now + m->c->time_ns;
	m->next_byte = m->c->bytes ? m->sent + m->c->bytes : INFINITY;
}

static inline int model_cnp(struct model *m, double now)
{
	model_advance(m, now);
	m->next_alpha = now + m->c->alpha_ns;
	if (now - m->last_decrease < m->c->decrease_ns) {
		if (m->c->flags & DCQCN_ALPHA_EVERY)
			model_count_cnp(m);
		return 0;
	}
	m->last_decrease = now;
	model_decrease(m);
	return 1;
}

#endif /* MLCC_DCQCN_MODEL_H */
