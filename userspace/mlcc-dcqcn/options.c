// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The verb follow: its options. */
#include <stdio.h>
#include <string.h>

#include "../../include/mlcc/profiles.h"
#include "../common/clock.h"
#include "follow.h"

#define CADENCE_US	10000		/* without --cadence */
#define SILENCE_US	20000		/* at least: what is shorter is none */

enum { FROM_JOB, FROM_PORT, FROM_COUNT };

static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
static const char *const profile_names[] = MLCC_PROFILE_NAMES;
static const char *const weights[] = { [WEIGHT_MIN] = "min", [WEIGHT_MEAN] = "mean" };
static const char *const sources[FROM_COUNT] = { "job", "port" };

static const struct option_of opts[] = {
	{ "drive", OPTION_TEXT },
	{ "cadence", OPTION_TIME, .min = 1000, .max = 1000000 },
	{ "base", OPTION_WHOLE, .min = 1, .max = UINT32_MAX },
	{ "cap", OPTION_FRACTION, .min = 1, .max = 16 },
	{ "hysteresis", OPTION_FRACTION, .max = 1 },
	{ "budget", OPTION_WHOLE, .min = 1, .max = 1000 },
	{ "profile", OPTION_WORD, .words = profile_names, .count = COUNT(profile_names) },
	{ "weight", OPTION_WORD, .words = weights + WEIGHT_MIN, .count = 2 },
	{ "alone", OPTION_FLAG },
	{ "wait", OPTION_FLAG },
	{ "progress", OPTION_WORD, .words = sources, .count = FROM_COUNT },
	{ "phase-bytes", OPTION_BYTES, .max = MLCC_PHASE_BYTES_LIMIT },
	{ }
};

/* Which of @names an option says; @otherwise: it is not given. */
static unsigned int option_word(struct json_object *own, const char *key, const char *const *names,
				unsigned int otherwise)
{
	unsigned int i = 0;

	if (!given(own, key))
		return otherwise;
	while (!names[i] || strcmp(names[i], get_string(own, key)))
		i++;
	return i;
}

static uint32_t q16_of(struct json_object *own, const char *key, double otherwise)
{
	return (given(own, key) ? get_double(own, key) : otherwise) * MLCC_ONE + 0.5;
}

/* What goes with what. */
static void check_options(struct follow *f, int words, char **word)
{
	if (words < 1 || words > 2)
		die(EXIT_USAGE, "follow: a device, or several with commas, and a job are wanted");
	f->devices = word[0];
	f->progress.job = words > 1 ? word[1] : NULL;
	if (!f->progress.job && !(f->progress.port && f->progress.alone))
		die(EXIT_USAGE, "follow: a job is wanted, by id or name; without one, --progress port and --alone");
	if (f->progress.port && strchr(f->devices, ','))
		die(EXIT_USAGE, "--progress port is for one device");
	if (f->progress.weight && f->progress.port)
		die(EXIT_USAGE, "--weight needs each job's progress: --progress job");
	if (f->progress.weight && f->progress.alone)
		die(EXIT_USAGE, "--weight is for several jobs, --alone for one: give one");
	if (f->progress.phase_bytes && !f->progress.port)
		die(EXIT_USAGE, "--phase-bytes goes with --progress port; mlcc-ctl sets a job's");
}

static void options_parse(struct follow *f, int argc, char **argv)
{
	struct json_object *own = options_take(argc, argv, "", opts, NULL, NULL);
	struct progress *p = &f->progress;

	f->knob_name = option_text(own, "drive");
	f->cadence_us = option_u64(own, "cadence", CADENCE_US);
	f->base = get_u64(own, "base");
	f->rate = get_u64(own, "budget");
	f->drive.cap = q16_of(own, "cap", 2);
	f->drive.hysteresis = q16_of(own, "hysteresis", 0.25);
	p->profile = profiles[option_word(own, "profile", profile_names, MLCC_PROFILE_HOTNETS22)];
	p->weight = option_word(own, "weight", weights, WEIGHT_NONE);
	p->port = option_word(own, "progress", sources, FROM_JOB) == FROM_PORT;
	p->alone = get_bool(own, "alone");
	p->wait = get_bool(own, "wait");
	p->phase_bytes = get_u64(own, "phase-bytes");
	p->idle_us = 4 * f->cadence_us < SILENCE_US ? SILENCE_US : 4 * f->cadence_us;
	common_end();
	check_options(f, argc - optind, argv + optind);
}

int verb_follow(int argc, char **argv)
{
	static struct follow f;
	struct err e;
	int err;

	options_parse(&f, argc, argv);
	err = follow_prepare(&f, now_us(), &e);
	if (!err && common.dry_run)
		for (unsigned int i = 0; i < f.count; i++)
			event_plan(&f, &f.rails[i]);
	if (!err && !common.dry_run)
		err = follow_run(&f, &e);
	progress_close(&f.progress);
	if (err)
		die_of(err, &e);
	return EXIT_FINE;
}
