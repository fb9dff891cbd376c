// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The verb follow: its options. */
#include <stdio.h>
#include <string.h>

#include "../../include/mlcc/profiles.h"
#include "../common/clock.h"
#include "follow.h"

static void parse_profile(struct follow *f, const char *name)
{
	static const struct mlcc_profile table[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = MLCC_PROFILE_NAMES;

	for (unsigned int i = 0; i < COUNT(names); i++)
		if (!strcmp(names[i], name)) {
			f->progress.profile = table[i];
			return;
		}
	die(EXIT_USAGE, "--profile '%s': interleave, hotnets22 or mltcp", name);
}

static void parse_weight(struct follow *f, const char *name)
{
	if (!strcmp(name, "min"))
		f->progress.weight = WEIGHT_MIN;
	else if (!strcmp(name, "mean"))
		f->progress.weight = WEIGHT_MEAN;
	else
		die(EXIT_USAGE, "--weight '%s': min or mean", name);
}

static void parse_progress(struct follow *f, const char *name)
{
	f->progress.port = !strcmp(name, "port");
	if (!f->progress.port && strcmp(name, "job"))
		die(EXIT_USAGE, "--progress '%s': job or port", name);
}

static uint32_t parse_q16(const char *what, const char *s, double min, double max)
{
	return parse_fraction(what, s, min, max) * 65536 + 0.5;
}

static bool follow_option(struct follow *f, int c)
{
	switch (c) {
	case 'd':
		f->knob_name = optarg;
		break;
	case 'c':
		f->cadence_us = parse_time_us("--cadence", optarg, 1000, 1000000);
		break;
	case 'b':
		f->base = parse_number("--base", optarg, 1, UINT32_MAX);
		break;
	case 'C':
		f->drive.cap = parse_q16("--cap", optarg, 1, 16);
		break;
	case 'y':
		f->drive.hysteresis = parse_q16("--hysteresis", optarg, 0, 1);
		break;
	case 'w':
		f->rate = parse_number("--budget", optarg, 1, 1000);
		break;
	case 'p':
		parse_profile(f, optarg);
		break;
	case 'W':
		parse_weight(f, optarg);
		break;
	case 'a':
		f->progress.alone = true;
		break;
	case 't':
		f->progress.wait = true;
		break;
	case 'P':
		parse_progress(f, optarg);
		break;
	case 'B':
		f->progress.phase_bytes = parse_bytes("--phase-bytes", optarg,
						      MLCC_PHASE_BYTES_LIMIT);
		break;
	default:
		return false;
	}
	return true;
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
	static const struct option opts[] = {
		{ "drive", required_argument, NULL, 'd' },
		{ "cadence", required_argument, NULL, 'c' },
		{ "base", required_argument, NULL, 'b' },
		{ "cap", required_argument, NULL, 'C' },
		{ "hysteresis", required_argument, NULL, 'y' },
		{ "budget", required_argument, NULL, 'w' },
		{ "profile", required_argument, NULL, 'p' },
		{ "weight", required_argument, NULL, 'W' },
		{ "alone", no_argument, NULL, 'a' },
		{ "wait", no_argument, NULL, 't' },
		{ "progress", required_argument, NULL, 'P' },
		{ "phase-bytes", required_argument, NULL, 'B' },
		COMMON_OPTIONS
	};
	int c;

	f->cadence_us = 10000;
	f->drive.cap = 2 * MLCC_ONE;
	f->drive.hysteresis = MLCC_ONE / 4;
	parse_profile(f, "hotnets22");
	while ((c = getopt_long(argc, argv, COMMON_SHORT, opts, NULL)) != -1)
		if (!follow_option(f, c))
			common_option(c, "follow");
	common_end();
	check_options(f, argc - optind, argv + optind);
	f->progress.idle_us = 4 * f->cadence_us < 20000 ? 20000 : 4 * f->cadence_us;
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
