// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <string.h>

#include "../common/clock.h"
#include "keep.h"
#include "overlap.h"

#define WINDOW_US	15000000U	/* no shorter than the time between scrapes */
#define SPACING_US	(WINDOW_US / OVERLAP_SAMPLES)
#define INSTANT_US	4000		/* a job that sends gets ACKs more often */
#define LATE_US		20000		/* from then on it is another instant */
#define ENOUGH		(OVERLAP_SAMPLES * 9 / 10)

/* SplitMix64: the same numbers on all hosts. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void draw_window(struct overlap *o, uint64_t window)
{
	uint64_t state = window;

	o->window = window;
	o->next = 0;
	o->again = false;
	for (unsigned int i = 0; i < OVERLAP_SAMPLES; i++) {
		unsigned int k = draw(&state) % (i + 1);

		o->at_us[i] = i * SPACING_US + draw(&state) % (SPACING_US - 2 * INSTANT_US);
		o->slot[i] = o->slot[k];
		o->slot[k] = i / OVERLAP_IN_SLOT;
	}
}

static void end_window(struct overlap *o, uint64_t window)
{
	struct job *j;

	LIST_FOREACH(j, &o->jobs->list, all) {
		struct job_sends *s = &j->sends;

		if (s->looks >= ENOUGH && window == o->window + 1) {
			memcpy(s->told, s->sent, sizeof(s->told));
			s->window = o->window;
		}
		s->looks = 0;
		memset(s->sent, 0, sizeof(s->sent));
	}
	draw_window(o, window);
}

/* Who has sent more than at the first of the two looks was sending. */
static void overlap_look(struct overlap *o)
{
	struct mlcc_job_progress now[KEEP_LIST];
	struct job *j, *jobs[KEEP_LIST];
	uint32_t ids[KEEP_LIST], n = 0;

	LIST_FOREACH(j, &o->jobs->list, all) {
		if (!j->conf.name[0] || n == KEEP_LIST)
			continue;
		jobs[n] = j;
		ids[n++] = j->conf.id;
	}
	if (!n || carrier_progress(o->jobs->carrier, ids, n, now))
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct job_sends *s = &jobs[i]->sends;

		if (o->again) {
			s->looks++;
			s->sent[o->slot[o->next]] += now[i].phases != s->first.phases ||
						     now[i].d_sent != s->first.d_sent;
		}
		s->first = now[i];
	}
}

/* When to wake up next. */
static uint64_t overlap_step(struct overlap *o, uint64_t now)
{
	uint64_t begin = o->window * WINDOW_US, next = begin + WINDOW_US;

	if (now < begin || now >= next) {
		end_window(o, now / WINDOW_US);
		begin = o->window * WINDOW_US;
		next = begin + WINDOW_US;
	}
	if (o->again) {
		overlap_look(o);
		o->again = false;
		o->next++;
	}
	while (o->next < OVERLAP_SAMPLES && begin + o->at_us[o->next] + LATE_US < now)
		o->next++;
	if (o->next == OVERLAP_SAMPLES || begin + o->at_us[o->next] > now)
		return o->next == OVERLAP_SAMPLES ? next : begin + o->at_us[o->next];
	overlap_look(o);
	o->again = true;
	return now + INSTANT_US;
}

static int overlap_due(sd_event_source *s, uint64_t at, void *arg)
{
	sd_event_source_set_time(s, overlap_step(arg, wall_us()));
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

int overlap_start(struct overlap *o, sd_event *events)
{
	int err = sd_event_add_time(events, &o->due, CLOCK_REALTIME, 0, 1, overlap_due, o);

	return err < 0 ? err : overlap_configured(o);
}

int overlap_configured(struct overlap *o)
{
	bool shared = o->jobs->config->link[0];

	o->again &= shared;
	return sd_event_source_set_enabled(o->due, shared ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

uint64_t overlap_told_s(const struct overlap *o, const struct job_sends *s)
{
	uint64_t end = (s->window + 1) * WINDOW_US;

	if (!s->window || !o->jobs->config->link[0] || wall_us() - end >= WINDOW_US)
		return 0;
	return end / 1000000;
}
