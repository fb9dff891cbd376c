// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../libmlcc/libmlcc.h"
#include "history.h"

#define MEAN_SHIFT	3	/* an iteration alone moves the mean by an eighth */
#define SAME_SHIFT	3	/* phases whose bytes differ by up to an eighth are alike */

const uint32_t history_bounds[HISTORY_BOUNDS] = {
	10000, 25000, 50000, 100000, 250000, 500000,
	1000000, 2500000, 5000000, 10000000, 30000000, 60000000
};

static void spread_add(struct spread *s, uint32_t us)
{
	int i = 0;

	while (i < HISTORY_BOUNDS && us > history_bounds[i])
		i++;
	s->count[i]++;
	s->sum_us += us;
}

static bool history_alike(uint64_t a, uint64_t b)
{
	return a && (a > b ? a - b : b - a) <= a >> SAME_SHIFT;
}

/* The last iteration has met nobody, as far as this host can tell. */
static void learn_alone(struct history *h, const struct mlcc_job_info *info)
{
	if (!info->d_phase)
		return;
	if (!h->alone_us || !history_alike(h->alone_d_phase, info->d_phase))
		h->alone_us = info->iteration_us;
	h->alone_us += ((int64_t)info->iteration_us - h->alone_us) / (1 << MEAN_SHIFT);
	h->alone_d_phase = info->d_phase;
}

static void see(struct history *h, const struct mlcc_job_info *info)
{
	if (info->comm_us)
		spread_add(&h->communication, info->comm_us);
	if (!info->iteration_us)
		return;
	spread_add(&h->iteration, info->iteration_us);
	h->last_us[h->seen++ % HISTORY_LAST] = info->iteration_us;
	if (info->d_phase && info->comm_us)
		h->waited_us += least_beyond(&h->least, info->d_phase, info->comm_us, info->best_us);
	/* it was whole if it began after the first phase of that time */
	if (h->alone && info->phases >= h->alone_since + 2)
		learn_alone(h, info);
}

void history_look(struct history *h, const struct mlcc_job_info *info, uint32_t *senders)
{
	bool alone;

	*senders += !!info->flows - h->sends;
	h->sends = info->flows;
	/* what was lost may have been lost to hosts that nobody sees from here */
	alone = info->flows && *senders == 1 && !info->retrans && !info->ce;
	if (!alone || !h->alone)
		h->alone_since = info->phases;
	h->alone = alone;
	if (info->phases != h->phases)
		see(h, info);
	h->phases = info->phases;
}

uint32_t history_mean_us(const struct history *h)
{
	uint32_t count = h->seen < HISTORY_LAST ? h->seen : HISTORY_LAST;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += h->last_us[i];
	return count ? sum / count : 0;
}

uint32_t history_alone_us(const struct history *h, const struct mlcc_job_info *info,
			  uint32_t announced_us, const char **from)
{
	*from = "announced";
	if (announced_us)
		return announced_us;
	*from = "measured";
	return history_alike(h->alone_d_phase, info->d_phase) ? h->alone_us : 0;
}
