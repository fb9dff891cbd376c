// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "drive.h"

#define WRITE		1000000ULL	/* a write, in the budget's unit */
#define MARGIN_US	10000	/* a phase was seen that late, and another job may be early */
#define MARGIN_PART	32	/* of a period, likewise */
#define PERIOD_MAX_US	60000000

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

/* A step is the hysteresis, or what a whole number makes of it. */
uint32_t drive_due_us(const struct drive *d, uint32_t written, uint32_t before, uint32_t now,
		      uint64_t us)
{
	uint32_t step = MLCC_ONE / (d->base ? d->base : 1), moved = gone(d, before, now), so_far;
	uint64_t due;

	step = step > d->hysteresis ? step : d->hysteresis;
	so_far = gone(d, written, now);
	if (!moved)
		return UINT32_MAX;
	if (so_far >= step)
		return 0;
	due = (step - so_far) * us / moved;
	return due < UINT32_MAX ? due : UINT32_MAX;
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

void idle_note(struct idle *r, bool sends, uint64_t now_us)
{
	if (sends && !r->sends) {
		uint64_t us = now_us - r->begun_us;

		/* after so long it is not the same job, or it does something else */
		if (!r->begun_us || us > PERIOD_MAX_US)
			*r = (struct idle){ 0 };
		else
			r->period_us[r->next++ % IDLE_PERIODS] = us;
		r->begun_us = now_us;
	}
	r->sends = sends;
}

static uint32_t period(const struct idle *r)
{
	uint32_t least = r->period_us[0];

	for (unsigned int i = 1; i < IDLE_PERIODS; i++)
		if (r->period_us[i] < least)
			least = r->period_us[i];
	return least;
}

uint32_t idle_us(const struct idle *r, uint64_t now_us)
{
	uint32_t us = period(r), most = us / 3 < IDLE_MAX_US ? us / 3 : IDLE_MAX_US;
	uint64_t gone = now_us - r->begun_us + MARGIN_US + us / MARGIN_PART;

	if (r->sends || gone >= us)
		return 0;
	return us - gone < most ? us - gone : most;
}
