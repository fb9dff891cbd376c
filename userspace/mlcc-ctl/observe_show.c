// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "ctl.h"
#include "observe.h"

#define SHOWN_BYTES	1000000	/* what has sent less is no job */
#define SHOWN_PAIR_US	10000	/* what has sent beside another for less is an accident */
#define NAME_WIDTH	27

/* Colours are Okabe and Ito's: told apart by colour-blind readers, too. */
const struct observe_word observe_words[OBSERVE_CAUSES] = {
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

bool observe_is_told(const struct observe *o, unsigned int i)
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
	} while (o->overlap[*a][*b].us < SHOWN_PAIR_US || !observe_is_told(o, *a) || !observe_is_told(o, *b));
	return true;
}

static double per_hour(const struct observe *o, uint64_t us)
{
	return 3600.0 * us / (o->now_us - o->begin_us + 1);
}

/* The end of a name says more than its beginning. */
const char *observe_short_name(const struct observe_group *g)
{
	size_t len = strlen(g->name);

	return g->name + (len > NAME_WIDTH ? len - NAME_WIDTH : 0);
}

static void print_group(const struct observe_group *g)
{
	printf("%-*s ", NAME_WIDTH, observe_short_name(g));
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
		puts(observe_words[first].says);
}

static void print_all(const struct observe *o)
{
	unsigned int a = 0, b = 0;

	printf("%-*s %7s %6s %6s", NAME_WIDTH, "JOB: % OF TIME", "ITER ms", "COMM", "BEST");
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		printf(" %4s", observe_words[i].head);
	putchar('\n');
	for (unsigned int i = 0; i < o->count; i++)
		if (observe_is_told(o, i))
			print_causes(o->groups[i]);
	for (unsigned int i = 0; i < o->count; i++)
		if (observe_is_told(o, i))
			print_first(o, o->groups[i]);
	while (next_pair(o, &a, &b))
		printf("%s and %s send at once through %s: %.0f s an hour\n", o->groups[a]->name,
		       o->groups[b]->name, observe_device_name(o->overlap[a][b].devices),
		       per_hour(o, o->overlap[a][b].us));
	fflush(stdout);
}

static struct json_object *told_json(const struct observe_group *g)
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
	put_string(o, "first", observe_words[observe_first(&g->job, &all)].key);
	for (int i = 0; i < OBSERVE_CAUSES; i++)
		put_double(s, observe_words[i].key, g->job.total_us[i] / 1e6);
	json_object_object_add(o, "seconds", s);
	put_double(o, "lost_seconds", g->job.lost_us / 1e6);
	return o;
}

static struct json_object *all_json(const struct observe *o)
{
	struct json_object *all = json_object_new_object(), *jobs = json_object_new_array();
	struct json_object *pairs = json_object_new_array();
	unsigned int a = 0, b = 0;

	for (unsigned int i = 0; i < o->count; i++)
		if (observe_is_told(o, i))
			json_object_array_add(jobs, told_json(o->groups[i]));
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

FILE *observe_new_file(const char *option, const char *name)
{
	FILE *f;

	snprintf(new_name, sizeof(new_name), "%s.new", name);
	f = fopen(new_name, "we");
	if (!f)
		die(EXIT_FAILED, "%s: %s: %s", option, name, strerror(errno));
	return f;
}

void observe_end_file(FILE *f, const char *option, const char *name)
{
	if (fclose(f) || rename(new_name, name))
		die(EXIT_FAILED, "%s: %s: %s", option, name, strerror(errno));
}

static void write_metrics(const struct observe *o)
{
	FILE *f = observe_new_file("--metrics", o->metrics);

	fputs("# TYPE mlcc_observe_seconds counter\n# UNIT mlcc_observe_seconds seconds\n"
	      "# HELP mlcc_observe_seconds What the time of a cgroup goes to.\n", f);
	for (unsigned int a = 0; a < o->count; a++)
		for (int i = 0; observe_is_told(o, a) && i < OBSERVE_CAUSES; i++)
			fprintf(f, "mlcc_observe_seconds_total{cgroup=\"%s\",cause=\"%s\"} %.6f\n",
				o->groups[a]->path, observe_words[i].key,
				o->groups[a]->job.total_us[i] / 1e6);
	fputs("# TYPE mlcc_observe_lost_seconds counter\n# UNIT mlcc_observe_lost_seconds seconds\n"
	      "# HELP mlcc_observe_lost_seconds By which the network made phases longer.\n", f);
	for (unsigned int a = 0; a < o->count; a++)
		if (observe_is_told(o, a))
			fprintf(f, "mlcc_observe_lost_seconds_total{cgroup=\"%s\"} %.6f\n",
				o->groups[a]->path, o->groups[a]->job.lost_us / 1e6);
	print_overlaps(o, f);
	fputs("# EOF\n", f);
	observe_end_file(f, "--metrics", o->metrics);
}

void observe_show(const struct observe *o)
{
	if (common.json)
		answer(all_json(o));
	else
		print_all(o);
	if (o->metrics)
		write_metrics(o);
	if (o->plot)
		observe_plot(o);
}
