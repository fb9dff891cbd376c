// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <signal.h>
#include <time.h>

#include "../common/clock.h"
#include "ctl.h"
#include "observe.h"

#define SEARCH_US	1000000
#define SHOW_US		5000000
/*
 * The part of a CPU that each may take; with all else that is 1/200.  Else they are less often.
 * Looks that are written cost twice as much, and should be as many.
 */
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

bool observe_until(struct observe *o, const sigset_t *end, uint64_t until)
{
	uint64_t now, next, used;

	do {
		now = now_us();
		used = observe_cpu_us();
		if (now >= o->search_us) {
			observe_refresh(o);
			next = (observe_cpu_us() - used) * SEARCH_PART;
			o->search_us = now + (next > SEARCH_US ? next : SEARCH_US);
			used = observe_cpu_us();
		}
		observe_all(o);
		used = observe_cpu_us() - used;
		o->look_cost += (used - o->look_cost) / (o->look_cost ? 16 : 1);
		next = o->look_cost * LOOK_PART / (o->record ? 2 : 1);
		next = now + (next > o->interval_us ? next : o->interval_us);
		if (told_to_end(end, next < until ? next : until))
			return false;
	} while (now_us() < until);
	return true;
}

void observe_begin(struct observe *o, sigset_t *end)
{
	sigemptyset(end);
	sigaddset(end, SIGINT);
	sigaddset(end, SIGTERM);
	sigprocmask(SIG_BLOCK, end, NULL);
	observe_cgroups(o);
	if (o->cgroup)
		observe_enter(o->cgroup);
	observe_open();
}

/* For @length us, or until it is told to end. */
static void observe_sockets(struct observe *o, uint64_t length)
{
	uint64_t begin, show, until;
	sigset_t set;

	observe_begin(o, &set);
	begin = now_us();
	until = begin + length;
	for (show = begin + SHOW_US / 5; show < until && observe_until(o, &set, show); show += SHOW_US)
		observe_show(o);
	if (show >= until)
		observe_until(o, &set, until);
}

int verb_observe(int argc, char **argv)
{
	static const struct option_of opts[] = {
		{ "all", OPTION_FLAG },
		{ "cgroup", OPTION_TEXT },
		{ "for", OPTION_TIME, .min = 1000, .max = UINT64_MAX / 4 },
		{ "from", OPTION_TEXT },
		{ "interval", OPTION_TIME, .min = 1000, .max = 1000000 },
		{ "metrics", OPTION_TEXT },
		{ "plot", OPTION_TEXT },
		{ "record", OPTION_TEXT },
		{ "skip", OPTION_TEXT },
		{ }
	};
	static struct observe o = { .interval_us = OBSERVE_INTERVAL_US };
	struct json_object *own = options_take(argc, argv, "", opts, NULL, NULL);
	bool lasts = given(own, "for"), often = given(own, "interval");
	const char *skip = option_text(own, "skip"), *from = option_text(own, "from");
	char error[MLCC_ERROR_LEN];

	options_end(argc, argv);
	o.all = get_bool(own, "all");
	o.cgroup = option_text(own, "cgroup");
	o.metrics = option_text(own, "metrics");
	o.plot = option_text(own, "plot");
	o.record = option_text(own, "record");
	if (often)
		o.interval_us = get_u64(own, "interval");
	if (mlcc_skip_parse(&o.skip, skip ? skip : OBSERVE_SKIP, error))
		die(EXIT_USAGE, "--%s", error);
	if (from && (o.cgroup || o.record || lasts || often))
		die(EXIT_USAGE, "observe: --from goes with none of --cgroup, --for, --interval, --record");
	if (from)
		observe_from(&o, from);
	else
		observe_sockets(&o, lasts ? get_u64(own, "for") : UINT64_MAX / 2);
	observe_show(&o);
	return EXIT_FINE;
}
