// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Jobs above each other, their last iterations as bars: as wide as long, coloured by cause. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "observe.h"

#define ITERATIONS	20		/* of the slowest job are drawn */
#define WITHOUT_US	10000000	/* is drawn where no job has any */
#define LEFT		200
#define WIDTH		1000
#define TOP		50
#define ROW		28

/*
 * All that is counted of a job is counted when a phase is over, or a silence: what is added is the
 * time until then, in an order that is nobody's but that of the picture.
 */
void observe_span(struct observe_group *g)
{
	const struct observe_job *j = &g->job;
	bool back = false, over = j->phase.since_us;
	struct observe_span *s;

	if (!memcmp(g->spanned_us, j->total_us, sizeof(g->spanned_us)))
		return;
	if (!g->spans)
		g->spans = calloc(OBSERVE_SPANS, sizeof(*g->spans));
	if (!g->spans)
		die(EXIT_FAILED, "no memory");
	s = &g->spans[g->span_count % OBSERVE_SPANS];
	s->end_us = over ? j->from_us : j->to_us;
	for (int i = 0; i < OBSERVE_CAUSES; i++) {
		s->us[i] = j->total_us[i] - g->spanned_us[i];
		back |= j->total_us[i] < g->spanned_us[i];
		g->spanned_us[i] = j->total_us[i];
	}
	/* before phases are known, where they are is not */
	g->span_count += !back && (j->learnt || !over);
}

static uint64_t first_us(const struct observe *o)
{
	uint64_t longest = 0, from;

	for (unsigned int i = 0; i < o->count; i++)
		if (observe_is_told(o, i) && o->groups[i]->job.tracker.period_us > longest)
			longest = o->groups[i]->job.tracker.period_us;
	longest = longest ? longest * ITERATIONS : WITHOUT_US;
	from = o->now_us - o->begin_us > longest ? o->now_us - longest : o->begin_us;
	/* since when all are complete */
	for (unsigned int i = 0; i < o->count; i++) {
		const struct observe_group *g = o->groups[i];

		if (g->span_count > OBSERVE_SPANS && observe_is_told(o, i) &&
		    g->spans[g->span_count % OBSERVE_SPANS].end_us > from)
			from = g->spans[g->span_count % OBSERVE_SPANS].end_us;
	}
	return from;
}

static void draw_span(FILE *f, const struct observe_span *s, double from, double scale, int y)
{
	static const enum observe_cause order[] = { OBSERVE_NETWORK, OBSERVE_LOSS, OBSERVE_RECEIVER,
		OBSERVE_SENDER, OBSERVE_PEER, OBSERVE_POLICER, OBSERVE_PATH, OBSERVE_UNKNOWN,
		OBSERVE_STORAGE, OBSERVE_COMPUTE };
	double at = s->end_us - from;

	for (int i = 0; i < OBSERVE_CAUSES; i++)
		at -= s->us[i];
	for (int i = 0; i < OBSERVE_CAUSES; i++) {
		double x = at > 0 ? at : 0, end = at += s->us[order[i]];

		if ((end - x) * scale > 0.05)
			fprintf(f, "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>\n",
				observe_words[order[i]].key, LEFT + x * scale, y, (end - x) * scale, ROW - 8);
	}
}

static void draw_frame(FILE *f, double seconds, int bottom)
{
	fputs("<style>text{font:12px sans-serif}", f);
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		fprintf(f, ".%s{fill:%s}", observe_words[i].key, observe_words[i].colour);
	fputs("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", f);
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		fprintf(f, "<circle class=\"%s\" cx=\"%d\" cy=\"20\" r=\"6\"/><text x=\"%d\" y=\"24\">%s</text>\n",
			observe_words[i].key, LEFT + 100 * i, LEFT + 10 + 100 * i, observe_words[i].key);
	for (int i = 0; i <= 5; i++)
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.3g s</text>\n",
			LEFT + WIDTH * i / 5, bottom, seconds * (i - 5) / 5);
}

void observe_plot(const struct observe *o)
{
	FILE *f = observe_new_file("--plot", o->plot);
	uint64_t from = first_us(o), length = o->now_us - from + 1;
	int y = TOP, rows = 0;

	for (unsigned int i = 0; i < o->count; i++)
		rows += observe_is_told(o, i);
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n",
		LEFT + WIDTH + 40, TOP + rows * ROW + 30);
	draw_frame(f, length / 1e6, TOP + rows * ROW + 12);
	for (unsigned int i = 0; i < o->count; i++) {
		const struct observe_group *g = o->groups[i];
		unsigned long k = g->span_count > OBSERVE_SPANS ? g->span_count - OBSERVE_SPANS : 0;

		if (!observe_is_told(o, i))
			continue;
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 8, y + 15,
			observe_short_name(g));
		for (; k < g->span_count; k++)
			draw_span(f, &g->spans[k % OBSERVE_SPANS], from, (double)WIDTH / length, y);
		y += ROW;
	}
	fputs("</svg>\n", f);
	observe_end_file(f, "--plot", o->plot);
}
