// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* watch: a line of at most 100 columns for each job, again and again. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/clock.h"
#include "ctl.h"

#define UNKNOWN	"unknown"
#define CELL	16
#define JOB_IDS	65536

/* What is shown of a job is of the time from one look to the next. */
static struct before {
	bool known;
	uint64_t at_us, bytes, retrans;
} before[JOB_IDS];

static const char *state(struct json_object *job)
{
	static char progress[CELL];

	if (!given(job, "flows"))
		return UNKNOWN;
	if (!get_u64(job, "flows"))
		return given(job, "rdma") ? "rdma" : "no flows";
	if (strcmp(get_string(job, "class"), "training"))
		return "sends";
	if (!get_u64(job, "d_phase_bytes"))
		return "learning";
	snprintf(progress, sizeof(progress), "%.0f%%", 100 * get_double(job, "progress"));
	return get_bool(job, "neutral") ? "neutral" : progress;
}

static const char *hints(struct json_object *job)
{
	char why[200];

	if (hints_contradict(job, why, sizeof(why)))
		return "false";
	if (get_bool(job, "hinted"))
		return "phases";
	return get_u64(job, "phase_bytes") ? "bytes" : "none";
}

/* One of several buffers, as milliseconds(); no longer than 7. */
static const char *cell(bool known, double v)
{
	static char buf[8][CELL];
	static unsigned int turn;
	char *s = buf[turn++ % 8];

	if (!known)
		return UNKNOWN;
	if (v >= 1e4)
		return human(v);
	snprintf(s, CELL, "%.1f", v);
	return s;
}

static void print_name(const char *name)
{
	bool cut = strlen(name) > 16;

	printf(" %-*.*s%s", cut ? 15 : 16, cut ? 15 : 16, name, cut ? "~" : "");
}

/* A counter that is less than before is another job's. */
static void print_rates(struct json_object *job)
{
	uint64_t id = get_u64(job, "id");
	struct before *b = &before[id % JOB_IDS];
	struct before now = { given(job, "bytes"), now_us(), get_u64(job, "bytes"),
			      get_u64(job, "retrans") };
	bool known = b->known && now.known && now.at_us > b->at_us && now.bytes >= b->bytes &&
		     now.retrans >= b->retrans;
	double mb = (now.bytes - b->bytes) / 1e6;

	printf(" %7s %7s", cell(known, known ? mb * 1e6 / (now.at_us - b->at_us) : 0),
	       cell(known && mb > 0, mb > 0 ? (now.retrans - b->retrans) / mb : 0));
	*b = now;
}

static void print_job(struct json_object *job)
{
	double mean = get_u64(job, "iteration_mean_us") / 1e3;
	double is = get_u64(job, "iteration_us") / 1e3;
	double alone = get_u64(job, "alone_us") / 1e3;

	printf("%5s", get_string(job, "id"));
	print_name(get_string(job, "name"));
	printf(" %-8s %8s %8s %8s %-9s %7s", state(job), cell(is, is), cell(mean, mean),
	       cell(alone, alone), get_string(job, "alone_from"),
	       cell(is && alone, is > alone ? is - alone : 0));
	print_rates(job);
	printf(" %s\n", hints(job));
}

static void watch_print_all(struct json_object *list)
{
	struct json_object *job;

	/* the terminal's own code for: upper left corner, empty the rest */
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	printf("%5s %-16s %-8s %8s %8s %8s %-9s %7s %7s %7s %s\n", "JOB", "NAME", "STATE",
	       "ITER ms", "MEAN 20", "ALONE", "FROM", "LOST ms", "MB/s", "AGAIN", "HINTS");
	json_each(job, list)
		print_job(job);
}

int verb_watch(int argc, char **argv)
{
	static const struct option_of opts[] = {
		{ "interval", OPTION_TIME, .min = 1, .max = UINT32_MAX },
		{ "count", OPTION_WHOLE, .min = 1, .max = UINT32_MAX },
		{ }
	};
	struct json_object *own = options_take(argc, argv, "", opts, NULL, NULL);
	uint64_t interval = option_u64(own, "interval", 1000000);
	uint64_t count = option_u64(own, "count", UINT64_MAX);

	options_end(argc, argv);
	while (count--) {
		struct timespec t = { interval / 1000000, interval % 1000000 * 1000 };
		struct json_object *list = all_jobs();

		if (!common.json)
			watch_print_all(list);
		fflush(stdout);
		answer(list);
		if (count)
			nanosleep(&t, NULL);
	}
	return EXIT_FINE;
}
