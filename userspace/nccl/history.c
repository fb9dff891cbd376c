// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <stddef.h>

#include "history.h"

static const struct past_phase *past(const struct history *h, uint64_t back)
{
	return &h->phases[(h->count - back) & (HISTORY_PHASES - 1)];
}

static uint64_t kept(const struct history *h)
{
	return h->count < HISTORY_PHASES ? h->count : HISTORY_PHASES;
}

static bool history_like(const struct past_phase *a, const struct past_phase *b)
{
	return a->sum == b->sum && a->ops == b->ops;
}

static bool repeats(const struct history *h, uint32_t lag)
{
	for (uint32_t back = 1; back <= lag; back++)
		if (!history_like(past(h, back), past(h, back + lag)))
			return false;
	return true;
}

static uint32_t find_lag(const struct history *h)
{
	for (uint32_t lag = 1; lag <= HISTORY_LAG_MAX && 2 * lag <= h->count; lag++)
		if (repeats(h, lag))
			return lag;
	return 0;
}

void history_add(struct history *h, const struct past_phase *p)
{
	h->phases[h->count & (HISTORY_PHASES - 1)] = *p;
	h->count++;
	if (!h->lag || !history_like(past(h, 1), past(h, 1 + h->lag)))
		h->lag = find_lag(h);
}

const struct past_phase *history_find(const struct history *h, uint64_t first)
{
	if (h->lag && past(h, h->lag)->first == first)
		return past(h, h->lag);
	for (uint64_t back = 1; back <= kept(h); back++)
		if (past(h, back)->first == first)
			return past(h, back);
	return NULL;
}

uint64_t history_period(const struct history *h, uint64_t now)
{
	return h->lag ? now - past(h, h->lag)->start_ns : 0;
}
