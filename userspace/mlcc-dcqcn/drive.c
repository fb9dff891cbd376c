// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "drive.h"

#define WRITE		1000000ULL	/* a write, in the budget's unit */

uint32_t drive_value(const struct drive *d, uint32_t gain)
{
	uint64_t v;

	if (gain > d->cap)
		gain = d->cap;
	/* rounded to the nearest */
	if (d->divide)
		v = (((uint64_t)d->base << MLCC_SHIFT) + gain / 2) / gain;
	else
		v = ((uint64_t)d->base * gain + MLCC_ONE / 2) >> MLCC_SHIFT;
	if (v < d->min)
		return d->min;
	return v > d->max ? d->max : v;
}

/* How far the gain has gone since it was last written. */
static uint32_t gone(const struct drive *d, uint32_t written, uint32_t gain)
{
	uint32_t is = gain < d->cap ? gain : d->cap, was = written < d->cap ? written : d->cap;

	return is > was ? is - was : was - is;
}

bool drive_moves(const struct drive *d, uint32_t is, uint32_t written, uint32_t gain,
		 const uint32_t ends[2])
{
	uint32_t want = drive_value(d, gain);

	if (want == is)
		return false;
	return gone(d, written, gain) >= d->hysteresis || want == d->base || want == ends[0] ||
	       want == ends[1];
}

static void cover(uint32_t v, uint32_t *low, uint32_t *high)
{
	if (v < *low)
		*low = v;
	if (v > *high)
		*high = v;
}

/* The gain rises with progress, so its ends are those of progress. */
void drive_range(const struct drive *d, const struct mlcc_profile *pr, uint32_t *low,
		 uint32_t *high)
{
	*low = d->base;
	*high = d->base;
	cover(drive_value(d, mlcc_grow(pr, 0)), low, high);
	cover(drive_value(d, mlcc_grow(pr, MLCC_ONE)), low, high);
}

static uint64_t room(const struct budget *b)
{
	uint64_t tenth = b->rate * WRITE / 10;

	return tenth < 2 * WRITE ? 2 * WRITE : tenth;
}

void budget_init(struct budget *b, uint32_t rate, uint64_t now_us)
{
	*b = (struct budget){ .rate = rate, .at_us = now_us };
	b->level = room(b);
}

bool budget_take(struct budget *b, uint64_t now_us)
{
	uint64_t us = now_us - b->at_us;

	/* a longer time fills it anyway */
	b->level += b->rate * (us < WRITE ? us : WRITE);
	b->at_us = now_us;
	if (b->level > room(b))
		b->level = room(b);
	if (b->level < WRITE)
		return false;
	b->level -= WRITE;
	return true;
}
