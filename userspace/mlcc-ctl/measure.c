// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * measure: the experiment on a real job.  Does mlcc help it?
 *
 *	pair	one turn with mlcc and one without; each is a fifth in which the
 *		change settles, then bytes a second, from the start of a phase to
 *		that of another where phases are known
 *	ratio	of these two: a job sends the same in each iteration, so that is
 *		how much more iterations it makes, whatever was slow at that hour
 *
 * Pairs begin when the time of day is a multiple of their length, and its number says which turn
 * comes first: hosts that measure at once do so in step, as their clocks are.
 *
 * Without means that flows do as their base algorithm: mlccd sees to it as long as this program is
 * connected, and no longer.  Bytes are those that the kernel has counted, as for observe.  What has
 * been parted stays so for a while: turns of five seconds of jobs without noise find no difference
 * where turns of ten with noise find 1.10.
 *
 * Ratios are lognormal, or near it: the interval of their mean is Student's.  It is looked at after
 * each pair, so it has 99.5 %: simulated with 6 to 24 pairs and no difference, 3 % of all runs end in
 * a wrong verdict, and with a difference of 3 % and turns that vary by 2 %, all in the right one.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../common/clock.h"
#include "ctl.h"
#include "observe.h"

#define TURN_US		300000000	/* without --alternate */
#define PAIRS_LEAST	6
#define PAIRS_MOST	24
#define SILENT_PAIRS	3		/* in a row: there is nothing to measure */
#define NARROW		0.01		/* half of an interval that says that there is no difference */

/* Student's t at 0.9975, for so many pairs. */
static const double student[PAIRS_MOST + 1] = {
	[6] = 4.773, 4.317, 4.029, 3.833, 3.690, 3.581, 3.497, 3.428, 3.372, 3.326,
	[16] = 3.286, 3.252, 3.222, 3.197, 3.174, 3.153, 3.135, 3.119, 3.104,
};

enum turn { WITH, WITHOUT, TURNS };

/* What a group had sent: until its phase began, and until now. */
struct edge {
	uint64_t start_us, start_bytes, now_us, now_bytes, retrans;
	bool phases;
};

/* Of one group: logarithms of ratios. */
struct ratios {
	double log[PAIRS_MOST];
	unsigned int count;
};

struct interval {
	double mean, low, high;		/* ratios */
};

struct measure {
	struct observe o;
	unsigned int jobs;		/* that are measured: their groups are given */
	const char *job;		/* NULL: all */
	uint64_t turn_us;
	sigset_t end;
	double rates[TURNS][OBSERVE_JOBS];	/* of this pair, bytes a second */
	double retrans[TURNS], megabytes[TURNS];	/* of these jobs, in all */
	struct ratios ratios[OBSERVE_JOBS];
	struct ratios own;		/* of the jobs that are measured: the mean */
	unsigned int pairs, silent;
};

/*** Turns ***/

static void set_neutral(const struct measure *m, bool neutral)
{
	struct json_object *request = new_request("neutral");

	if (m->job)
		put_string(request, "job", m->job);
	put_bool(request, "neutral", neutral);
	json_object_put(ask(request));
}

static struct edge edge_of(const struct observe_group *g)
{
	const struct mlcc_job *t = &g->job.tracker;
	struct edge e = { t->start_us, t->start_acked, now_us(), t->acked, 0, mlcc_confident(t) };

	for (const struct observe_flow *f = g->job.flows; f; f = f->next)
		e.retrans += f->now.tcpi_total_retrans;
	return e;
}

/* Bytes a second. */
static double rate_of(const struct edge *from, const struct edge *to)
{
	if (from->phases && to->phases && to->start_us > from->start_us)
		return 1e6 * (to->start_bytes - from->start_bytes) / (to->start_us - from->start_us);
	return 1e6 * (to->now_bytes - from->now_bytes) / (to->now_us - from->now_us + 1);
}

static bool is_measured(const struct measure *m, unsigned int i)
{
	return m->o.groups[i]->given;
}

static void note_job(struct measure *m, enum turn turn, const struct edge *from,
		     const struct edge *to)
{
	m->megabytes[turn] += (to->now_bytes - from->now_bytes) / 1e6;
	/* less: connections were closed, with what they had counted */
	if (to->retrans > from->retrans)
		m->retrans[turn] += to->retrans - from->retrans;
}

/* False: it is to end. */
static bool take_turn(struct measure *m, enum turn turn, uint64_t begin)
{
	static struct edge from[OBSERVE_JOBS];
	unsigned int count;

	set_neutral(m, turn == WITHOUT);
	if (!observe_until(&m->o, &m->end, begin + m->turn_us / 5))
		return false;
	count = m->o.count;
	for (unsigned int i = 0; i < count; i++)
		from[i] = edge_of(m->o.groups[i]);
	if (!observe_until(&m->o, &m->end, begin + m->turn_us))
		return false;
	memset(m->rates[turn], 0, sizeof(m->rates[turn]));
	for (unsigned int i = 0; i < count; i++) {
		const struct edge to = edge_of(m->o.groups[i]);

		m->rates[turn][i] = rate_of(&from[i], &to);
		if (is_measured(m, i))
			note_job(m, turn, &from[i], &to);
	}
	return true;
}

static void print_pair(const struct measure *m, const double rates[TURNS])
{
	struct json_object *o;

	if (!common.json) {
		printf("pair %u: %sB/s with mlcc, %sB/s without: %.3f\n", m->pairs,
		       human(rates[WITH]), human(rates[WITHOUT]), exp(m->own.log[m->pairs - 1]));
		fflush(stdout);
		return;
	}
	o = json_object_new_object();
	put_u64(o, "pair", m->pairs);
	put_u64(o, "with_bytes_per_second", rates[WITH]);
	put_u64(o, "without_bytes_per_second", rates[WITHOUT]);
	answer(o);
}

/* What has sent in both turns. */
static void note_pair(struct measure *m)
{
	double rates[TURNS] = { }, sum = 0;
	unsigned int count = 0;

	for (unsigned int i = 0; i < m->o.count; i++) {
		double with = m->rates[WITH][i], without = m->rates[WITHOUT][i];
		struct ratios *r = &m->ratios[i];

		if (with < 1 || without < 1 || r->count == PAIRS_MOST)
			continue;
		r->log[r->count++] = log(with / without);
		if (!is_measured(m, i))
			continue;
		sum += r->log[r->count - 1];
		rates[WITH] += with;
		rates[WITHOUT] += without;
		count++;
	}
	if (!count && ++m->silent == SILENT_PAIRS)
		die_answering(EXIT_FAILED, NULL,
			      "cannot tell: nothing is sent over TCP in this network namespace");
	if (!count)
		return;
	m->silent = 0;
	m->own.log[m->own.count++] = sum / count;
	m->pairs++;
	print_pair(m, rates);
}

/* A bit that all hosts find alike, and that knows no rhythm: of splitmix64. */
static bool with_is_second(uint64_t pair)
{
	pair = (pair + 1) * 0x9e3779b97f4a7c15;
	pair = (pair ^ pair >> 30) * 0xbf58476d1ce4e5b9;
	return (pair ^ pair >> 27) * 0x94d049bb133111eb >> 63;
}

static bool take_pair(struct measure *m)
{
	uint64_t length = 2 * m->turn_us, now = wall_us();
	/* the one that has just begun, or the next */
	uint64_t number = (now + length - length / 16) / length;
	uint64_t begin = now_us() + number * length - now;
	bool first = with_is_second(number);

	if (!observe_until(&m->o, &m->end, begin) || !take_turn(m, first, begin) ||
	    !take_turn(m, !first, begin + m->turn_us))
		return false;
	note_pair(m);
	return true;
}

/*** What that says ***/

static struct interval interval_of(const struct ratios *r)
{
	double sum = 0, squares = 0, mean, half;

	if (r->count < PAIRS_LEAST)
		return (struct interval){ NAN, 0, INFINITY };
	for (unsigned int i = 0; i < r->count; i++)
		sum += r->log[i];
	mean = sum / r->count;
	for (unsigned int i = 0; i < r->count; i++)
		squares += (r->log[i] - mean) * (r->log[i] - mean);
	half = student[r->count] * sqrt(squares / (r->count - 1) / r->count);
	return (struct interval){ exp(mean), exp(mean - half), exp(mean + half) };
}

static const char *verdict_of(struct interval i)
{
	return i.low > 1 ? "helps" : i.high < 1 ? "harms" : "cannot tell";
}

static bool is_over(const struct measure *m)
{
	struct interval i = interval_of(&m->own);

	return m->pairs == PAIRS_MOST || i.low > 1 || i.high < 1 ||
	       (i.low > 1 - NARROW && i.high < 1 + NARROW);
}

static double again_per_mb(const struct measure *m, enum turn turn)
{
	return m->megabytes[turn] > 0 ? m->retrans[turn] / m->megabytes[turn] : 0;
}

/* Of too few pairs there is none. */
static struct json_object *interval_json(const char *name, struct interval i)
{
	struct json_object *o = json_object_new_object();

	put_string(o, "name", name);
	if (isfinite(i.high)) {
		put_double(o, "ratio", i.mean);
		put_double(o, "low", i.low);
		put_double(o, "high", i.high);
	}
	put_string(o, "verdict", verdict_of(i));
	return o;
}

/* What has a verdict of its own: the only job that is measured has that of all. */
static bool is_told_apart(const struct measure *m, unsigned int i)
{
	return m->ratios[i].count >= PAIRS_LEAST && !(m->jobs == 1 && is_measured(m, i));
}

static void answer_verdict(const struct measure *m)
{
	struct json_object *o = interval_json(m->job ? m->job : "", interval_of(&m->own));
	struct json_object *others = json_object_new_array();

	put_u64(o, "jobs", m->jobs);
	put_u64(o, "pairs", m->pairs);
	put_double(o, "with_retrans_per_mb", again_per_mb(m, WITH));
	put_double(o, "without_retrans_per_mb", again_per_mb(m, WITHOUT));
	for (unsigned int i = 0; i < m->o.count; i++)
		if (is_told_apart(m, i))
			json_object_array_add(others, interval_json(m->o.groups[i]->path,
								    interval_of(&m->ratios[i])));
	json_object_object_add(o, "others", others);
	answer(o);
}

static void print_interval(const char *name, struct interval i)
{
	if (isfinite(i.high))
		printf("%s: %.3f times as fast with mlcc, %.3f to %.3f: %s\n", name, i.mean, i.low,
		       i.high, verdict_of(i));
	else
		printf("%s: cannot tell yet: %d pairs are the least\n", name, PAIRS_LEAST);
}

static void print_verdict(const struct measure *m)
{
	for (unsigned int i = 0; i < m->o.count; i++)
		if (is_told_apart(m, i))
			print_interval(m->o.groups[i]->name, interval_of(&m->ratios[i]));
	printf("segments sent again, a MB: %.2f with mlcc, %.2f without\n", again_per_mb(m, WITH),
	       again_per_mb(m, WITHOUT));
	print_interval(m->job ? m->job : "all jobs", interval_of(&m->own));
}

/*** The verb ***/

/* By its cgroup it is observed. */
static void add_job(struct measure *m, struct json_object *job)
{
	const char *cgroup = get_string(job, "cgroup");

	if (!*cgroup && m->job)
		die(EXIT_FAILED, "measure: job '%s' has no cgroup, by which its sockets are found",
		    m->job);
	if (!*cgroup || strcmp(get_string(job, "class"), "training") || m->jobs == OBSERVE_JOBS)
		return;
	m->o.cgroup = m->o.cgroup ? m->o.cgroup : cgroup;
	observe_group(&m->o, cgroup)->given = true;
	m->jobs++;
}

static void find_jobs(struct measure *m)
{
	struct json_object *list = m->job ? ask_job(m->job) : all_jobs(), *job;

	json_each(job, list)
		add_job(m, job);
	if (!m->jobs)
		die(EXIT_FAILED, "measure: there is no job of the class training with a cgroup");
}

static void measure_run(struct measure *m)
{
	char error[MLCC_ERROR_LEN];

	if (mlcc_skip_parse(&m->o.skip, OBSERVE_SKIP, error))
		die(EXIT_FAILED, "%s", error);
	set_neutral(m, false);		/* mlccd knows us by our own network namespace */
	observe_begin(&m->o, &m->end);
	while (take_pair(m) && !is_over(m))
		;
	set_neutral(m, false);
	if (common.json)
		answer_verdict(m);
	else
		print_verdict(m);
}

int verb_measure(int argc, char **argv)
{
	static const struct option_of opts[] = {
		{ "all", OPTION_FLAG },
		{ "alternate", OPTION_TIME, .min = 1000000, .max = 86400000000ULL },
		{ }
	};
	static struct measure m = { .o = { .interval_us = OBSERVE_INTERVAL_US, .others = true } };
	struct json_object *own = options_take(argc, argv, "", opts, NULL, NULL);
	bool all = get_bool(own, "all");

	m.turn_us = option_u64(own, "alternate", TURN_US);
	if (optind + !all != argc)
		die(EXIT_USAGE, "measure: give one JOB, by id or name, or --all");
	m.job = all ? NULL : argv[optind];
	find_jobs(&m);
	if (common.dry_run)
		return EXIT_FINE;
	measure_run(&m);
	return interval_of(&m.own).high < 1 ? EXIT_FAILED : EXIT_FINE;
}
