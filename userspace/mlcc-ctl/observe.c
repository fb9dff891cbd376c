// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <signal.h>
#include <time.h>

#include "../common/clock.h"
#include "ctl.h"
#include "observe.h"

/*
 * A phase of a training job takes tens of milliseconds or more, and the kernel counts what happens
 * between looks: ten milliseconds tell silences within a phase from those between phases.
 */
#define INTERVAL_US	10000
#define SEARCH_US	1000000
#define SHOW_US		5000000
/* The part of a CPU that each may take; with all else that is 1/200.  Else they are less often. */
#define LOOK_PART	333
#define SEARCH_PART	700

static uint64_t observe_cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

/* Until @at, or one of @set: whether there was one. */
static bool told_to_end(const sigset_t *set, uint64_t at)
{
	uint64_t now = now_us(), us = at > now ? at - now : 0;
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	return sigtimedwait(set, NULL, &t) > 0;
}

static void observe_run(struct observe *o, const sigset_t *end, uint64_t until)
{
	uint64_t now, next, search = 0, show = o->begin_us + SHOW_US / 5, used;
	double cost = 0;	/* of a look */

	do {
		now = now_us();
		used = observe_cpu_us();
		if (now >= search) {
			observe_refresh(o);
			search = (observe_cpu_us() - used) * SEARCH_PART;
			search = now + (search > SEARCH_US ? search : SEARCH_US);
			used = observe_cpu_us();
		}
		observe_all(o);
		used = observe_cpu_us() - used;
		cost += (used - cost) / (cost ? 16 : 1);
		if (now >= show) {
			observe_show(o);
			show = now + SHOW_US;
		}
		next = cost * LOOK_PART;
		next = now + (next > o->interval_us ? next : o->interval_us);
	} while (!told_to_end(end, next < until ? next : until) && now_us() < until);
}

int verb_observe(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "cgroup", required_argument, NULL, 'g' },
		{ "for", required_argument, NULL, 'f' },
		{ "interval", required_argument, NULL, 'i' },
		{ "metrics", required_argument, NULL, 'm' },
		{ "skip", required_argument, NULL, 's' },
		COMMON_OPTIONS
	};
	static struct observe o = { .interval_us = INTERVAL_US };
	const char *skip = "lo,443,988,2049,3260,4420";
	uint64_t length = UINT64_MAX / 2;
	char error[MLCC_ERROR_LEN];
	sigset_t set;
	int c;

	while ((c = getopt_long(argc, argv, COMMON_SHORT, opts, NULL)) != -1) {
		if (c == 'a')
			o.all = true;
		else if (c == 'g')
			o.cgroup = optarg;
		else if (c == 'f')
			length = parse_time_us("--for", optarg, 1000, UINT64_MAX / 4);
		else if (c == 'i')
			o.interval_us = parse_time_us("--interval", optarg, 1000, 1000000);
		else if (c == 'm')
			o.metrics = optarg;
		else if (c == 's')
			skip = optarg;
		else
			common_option(c, "observe");
	}
	if (optind != argc)
		die(EXIT_USAGE, "observe: '%s' is no option", argv[optind]);
	if (mlcc_skip_parse(&o.skip, skip, error))
		die(EXIT_USAGE, "--%s", error);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	observe_cgroups(&o);
	observe_open();
	o.begin_us = now_us();
	observe_run(&o, &set, o.begin_us + length);
	observe_show(&o);
	return EXIT_FINE;
}
