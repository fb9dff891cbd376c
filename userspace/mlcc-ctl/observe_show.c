// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What observe has seen, as a table, JSON, metrics, and a picture: jobs above each other, their last
 * iterations as bars, as wide as long, coloured by cause.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "observe.h"

#define SHOWN_BYTES	1000000	/* what has sent less is no job */
#define SHOWN_PAIR_US	10000	/* what has sent beside another for less is an accident */
#define NAME_WIDTH	27

/* The picture */
#define ITERATIONS	20		/* of the slowest job are drawn */
#define WITHOUT_US	10000000	/* is drawn where no job has any */
#define LEFT		200
#define WIDTH		1000
#define TOP		50
#define ROW		28

/* Colours are Okabe and Ito's: told apart by colour-blind readers, too. */
static const struct {
	const char *key, *head, *says, *colour;
} words[OBSERVE_CAUSES] = {
	[OBSERVE_COMPUTE] = { "compute", "COMP", "waits for nothing to speak of", "#eeeeee" },
	[OBSERVE_NETWORK] = { "network", "NET", "waits for the network", "#d55e00" },
	[OBSERVE_LOSS] = { "loss", "LOSS", "waits for what was lost to be sent again", "#000000" },
	[OBSERVE_RECEIVER] = { "receiver", "RECV", "waits for receivers that do not read", "#0072b2" },
	[OBSERVE_SENDER] = { "sender", "SEND", "waits for its own program, or send buffers", "#56b4e9" },
	[OBSERVE_PEER] = { "peer", "PEER", "waits for what its peers send", "#cc79a7" },
	[OBSERVE_POLICER] = { "policer", "POLI", "is held to a rate by a policer", "#e69f00" },
	[OBSERVE_PATH] = { "path", "PATH", "waits for connections on slower paths", "#f0e442" },
	[OBSERVE_STORAGE] = { "storage", "STOR", "waits for storage", "#009e73" },
	[OBSERVE_UNKNOWN] = { "unknown", "?", "waits, or its phases are not known: no evidence",
			      "#999999" },
};

static bool is_told(const struct observe *o, unsigned int i)
{
	return o->all || o->groups[i]->job.tracker.acked >= SHOWN_BYTES;
}

/* Whether there is a pair after @a and @b, which begin at 0 and 0. */
static bool next_pair(const struct observe *o, unsigned int *a, unsigned int *b)
{
	do {
		if (++*b >= o->count) {
			++*a;
			*b = *a + 1;
		}
		if (*b >= o->count)
			return false;
	} while (o->overlap[*a][*b].us < SHOWN_PAIR_US || !is_told(o, *a) || !is_told(o, *b));
	return true;
}

static double per_hour(const struct observe *o, uint64_t us)
{
	return 3600.0 * us / (o->now_us - o->begin_us + 1);
}

/* The end of a name says more than its beginning. */
static const char *short_name(const struct observe_group *g)
{
	size_t len = strlen(g->name);

	return g->name + (len > NAME_WIDTH ? len - NAME_WIDTH : 0);
}

static void print_group(const struct observe_group *g)
{
	printf("%-*s ", NAME_WIDTH, short_name(g));
}

static void print_causes(const struct observe_group *g)
{
	const struct mlcc_job *t = &g->job.tracker;
	bool learnt = mlcc_confident(t);
	uint64_t all;

	observe_first(&g->job, &all);
	print_group(g);
	printf("%7s %6s %6s", milliseconds(learnt ? t->period_us : 0),
	       milliseconds(learnt ? t->comm_us : 0), milliseconds(learnt ? t->best_us : 0));
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		printf(" %4.0f", all ? 100.0 * g->job.total_us[i] / all : 0);
	putchar('\n');
}

static void print_first(const struct observe *o, const struct observe_group *g)
{
	uint64_t all, apart = (o->now_us - o->begin_us) / o->looks;
	enum observe_cause first = observe_first(&g->job, &all);

	print_group(g);
	if (first == OBSERVE_UNKNOWN && apart > OBSERVE_COARSE_US)
		printf("cannot tell: looks are %s ms apart, not 10\n", milliseconds(apart));
	else
		puts(words[first].says);
}

static void print_all(const struct observe *o)
{
	unsigned int a = 0, b = 0;

	printf("%-*s %7s %6s %6s", NAME_WIDTH, "JOB: % OF TIME", "ITER ms", "COMM", "BEST");
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		printf(" %4s", words[i].head);
	putchar('\n');
	for (unsigned int i = 0; i < o->count; i++)
		if (is_told(o, i))
			print_causes(o->groups[i]);
	for (unsigned int i = 0; i < o->count; i++)
		if (is_told(o, i))
			print_first(o, o->groups[i]);
	while (next_pair(o, &a, &b))
		printf("%s and %s send at once through %s: %.0f s an hour\n", o->groups[a]->name,
		       o->groups[b]->name, observe_device_name(o->overlap[a][b].devices),
		       per_hour(o, o->overlap[a][b].us));
	fflush(stdout);
}

/* The oldest first; times are of the clock of day, which hosts share. */
static struct json_object *iterations_json(const struct observe *o, const struct observe_job *j)
{
	uint64_t n = j->iteration_count, i = n > OBSERVE_ITERATIONS ? n - OBSERVE_ITERATIONS : 0;
	struct json_object *all = json_object_new_array();

	for (; i < n; i++) {
		const struct observe_iteration *this = &j->iterations[i % OBSERVE_ITERATIONS];
		struct json_object *s = json_object_new_object();

		put_u64(s, "start_us", o->since_1970_us + this->start_us);
		put_u64(s, "comm_us", this->comm_us);
		put_u64(s, "bytes", this->bytes);
		json_object_array_add(all, s);
	}
	return all;
}

static struct json_object *told_json(const struct observe *seen, const struct observe_group *g)
{
	struct json_object *o = json_object_new_object(), *s = json_object_new_object();
	const struct mlcc_job *t = &g->job.tracker;
	uint64_t all;

	put_string(o, "name", g->name);
	put_string(o, "cgroup", g->path);
	put_u64(o, "bytes", t->acked);
	put_bool(o, "learnt", mlcc_confident(t));
	put_u64(o, "d_learnt_bytes", t->d_learnt);
	put_u64(o, "iteration_us", t->period_us);
	put_u64(o, "comm_us", t->comm_us);
	put_u64(o, "best_us", t->best_us);
	put_string(o, "first", words[observe_first(&g->job, &all)].key);
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		put_double(s, words[i].key, g->job.total_us[i] / 1e6);
	json_object_object_add(o, "seconds", s);
	put_double(o, "lost_seconds", g->job.lost_us / 1e6);
	json_object_object_add(o, "iterations", iterations_json(seen, &g->job));
	return o;
}

static struct json_object *all_json(const struct observe *o)
{
	struct json_object *all = json_object_new_object(), *jobs = json_object_new_array();
	struct json_object *pairs = json_object_new_array();
	unsigned int a = 0, b = 0;

	for (unsigned int i = 0; i < o->count; i++)
		if (is_told(o, i))
			json_object_array_add(jobs, told_json(o, o->groups[i]));
	while (next_pair(o, &a, &b)) {
		struct json_object *p = json_object_new_object();

		put_string(p, "job", o->groups[a]->name);
		put_string(p, "with", o->groups[b]->name);
		put_string(p, "device", observe_device_name(o->overlap[a][b].devices));
		put_double(p, "seconds", o->overlap[a][b].us / 1e6);
		put_double(p, "seconds_per_hour", per_hour(o, o->overlap[a][b].us));
		json_object_array_add(pairs, p);
	}
	put_double(all, "seconds", (o->now_us - o->begin_us) / 1e6);
	put_u64(all, "looks", o->looks);
	json_object_object_add(all, "jobs", jobs);
	json_object_object_add(all, "overlaps", pairs);
	return all;
}

static void print_overlaps(const struct observe *o, FILE *f)
{
	unsigned int a = 0, b = 0;

	fputs("# TYPE mlcc_observe_overlap_seconds counter\n# UNIT mlcc_observe_overlap_seconds seconds\n"
	      "# HELP mlcc_observe_overlap_seconds Two cgroups have sent at once through a device.\n", f);
	while (next_pair(o, &a, &b))
		fprintf(f, "mlcc_observe_overlap_seconds_total{cgroup=\"%s\",with=\"%s\",device=\"%s\"} %.6f\n",
			o->groups[a]->path, o->groups[b]->path,
			observe_device_name(o->overlap[a][b].devices), o->overlap[a][b].us / 1e6);
}

static char new_name[PATH_MAX];

static FILE *new_file(const char *option, const char *name)
{
	FILE *f;

	snprintf(new_name, sizeof(new_name), "%s.new", name);
	f = fopen(new_name, "we");
	if (!f)
		die(EXIT_FAILED, "%s: %s: %s", option, name, strerror(errno));
	return f;
}

static void end_file(FILE *f, const char *option, const char *name)
{
	if (fclose(f) || rename(new_name, name))
		die(EXIT_FAILED, "%s: %s: %s", option, name, strerror(errno));
}

static void write_metrics(const struct observe *o)
{
	FILE *f = new_file("--metrics", o->metrics);

	fputs("# TYPE mlcc_observe_seconds counter\n# UNIT mlcc_observe_seconds seconds\n"
	      "# HELP mlcc_observe_seconds What the time of a cgroup goes to.\n", f);
	for (unsigned int a = 0; a < o->count; a++)
		for (int i = 0; is_told(o, a) && i < OBSERVE_CAUSES; i++)
			fprintf(f, "mlcc_observe_seconds_total{cgroup=\"%s\",cause=\"%s\"} %.6f\n",
				o->groups[a]->path, words[i].key,
				o->groups[a]->job.total_us[i] / 1e6);
	fputs("# TYPE mlcc_observe_lost_seconds counter\n# UNIT mlcc_observe_lost_seconds seconds\n"
	      "# HELP mlcc_observe_lost_seconds By which the network made phases longer.\n", f);
	for (unsigned int a = 0; a < o->count; a++)
		if (is_told(o, a))
			fprintf(f, "mlcc_observe_lost_seconds_total{cgroup=\"%s\"} %.6f\n",
				o->groups[a]->path, o->groups[a]->job.lost_us / 1e6);
	print_overlaps(o, f);
	fputs("# EOF\n", f);
	end_file(f, "--metrics", o->metrics);
}

/*** The picture ***/

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
		if (is_told(o, i) && o->groups[i]->job.tracker.period_us > longest)
			longest = o->groups[i]->job.tracker.period_us;
	longest = longest ? longest * ITERATIONS : WITHOUT_US;
	from = o->now_us - o->begin_us > longest ? o->now_us - longest : o->begin_us;
	/* since when all are complete */
	for (unsigned int i = 0; i < o->count; i++) {
		const struct observe_group *g = o->groups[i];

		if (g->span_count > OBSERVE_SPANS && is_told(o, i) &&
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
				words[order[i]].key, LEFT + x * scale, y, (end - x) * scale, ROW - 8);
	}
}

static void draw_frame(FILE *f, double seconds, int bottom)
{
	fputs("<style>text{font:12px sans-serif}", f);
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		fprintf(f, ".%s{fill:%s}", words[i].key, words[i].colour);
	fputs("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", f);
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		fprintf(f, "<circle class=\"%s\" cx=\"%d\" cy=\"20\" r=\"6\"/><text x=\"%d\" y=\"24\">%s</text>\n",
			words[i].key, LEFT + 100 * i, LEFT + 10 + 100 * i, words[i].key);
	for (int i = 0; i <= 5; i++)
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.3g s</text>\n",
			LEFT + WIDTH * i / 5, bottom, seconds * (i - 5) / 5);
}

static void draw_all(const struct observe *o)
{
	FILE *f = new_file("--plot", o->plot);
	uint64_t from = first_us(o), length = o->now_us - from + 1;
	int y = TOP, rows = 0;

	for (unsigned int i = 0; i < o->count; i++)
		rows += is_told(o, i);
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n",
		LEFT + WIDTH + 40, TOP + rows * ROW + 30);
	draw_frame(f, length / 1e6, TOP + rows * ROW + 12);
	for (unsigned int i = 0; i < o->count; i++) {
		const struct observe_group *g = o->groups[i];
		unsigned long k = g->span_count > OBSERVE_SPANS ? g->span_count - OBSERVE_SPANS : 0;

		if (!is_told(o, i))
			continue;
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 8, y + 15,
			short_name(g));
		for (; k < g->span_count; k++)
			draw_span(f, &g->spans[k % OBSERVE_SPANS], from, (double)WIDTH / length, y);
		y += ROW;
	}
	fputs("</svg>\n", f);
	end_file(f, "--plot", o->plot);
}

/*** All of it ***/

void observe_show(const struct observe *o)
{
	if (common.json)
		answer(all_json(o));
	else
		print_all(o);
	if (o->metrics)
		write_metrics(o);
	if (o->plot)
		draw_all(o);
}
