// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
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

bool observe_until(struct observe *o, const sigset_t *end, uint64_t until)
{
	uint64_t now, next, used;

	do {
		now = now_us();
		used = clock_us(CLOCK_THREAD_CPUTIME_ID);
		if (now >= o->search_us) {
			observe_refresh(o);
			next = (clock_us(CLOCK_THREAD_CPUTIME_ID) - used) * SEARCH_PART;
			o->search_us = now + (next > SEARCH_US ? next : SEARCH_US);
			used = clock_us(CLOCK_THREAD_CPUTIME_ID);
		}
		observe_all(o);
		used = clock_us(CLOCK_THREAD_CPUTIME_ID) - used;
		o->look_cost += (used - o->look_cost) / (o->look_cost ? 16 : 1);
		next = o->look_cost * LOOK_PART / (o->record ? 2 : 1);
		next = now + (next > o->interval_us ? next : o->interval_us);
		if (wait_signal(end, next < until ? next : until))
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
	o->since_1970_us = wall_us() - now_us();
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
	static struct observe o;
	struct json_object *own = options_take(argc, argv, "", opts, NULL, NULL);
	const char *skip = option_text(own, "skip"), *from = option_text(own, "from");
	char error[MLCC_ERROR_LEN];

	options_end(argc, argv);
	o.all = get_bool(own, "all");
	o.cgroup = option_text(own, "cgroup");
	o.metrics = option_text(own, "metrics");
	o.plot = option_text(own, "plot");
	o.record = option_text(own, "record");
	o.interval_us = option_u64(own, "interval", OBSERVE_INTERVAL_US);
	if (mlcc_skip_parse(&o.skip, skip ? skip : OBSERVE_SKIP, error))
		die(EXIT_USAGE, "--%s", error);
	if (from && (o.cgroup || o.record || given(own, "for") || given(own, "interval")))
		die(EXIT_USAGE, "observe: --from goes with none of --cgroup, --for, --interval, --record");
	if (from)
		observe_from(&o, from);
	else
		observe_sockets(&o, option_u64(own, "for", UINT64_MAX / 2));
	observe_show(&o);
	return EXIT_FINE;
}
