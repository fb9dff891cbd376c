// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "idle.h"

#define MARGIN_US	10000	/* a phase was seen that late, and another job may be early */
#define MARGIN_PART	32	/* of a period, likewise */
#define PERIOD_MAX_US	60000000

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
