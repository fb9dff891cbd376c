// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* mlcc-bpf: loads, upgrades, configures and unloads the BPF carrier. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../../bpf/mlcc_bpf.h"
#include "../common/exit.h"
#include "../common/number.h"
#include "../common/standard.h"
#include "../libmlcc/libmlcc.h"
#include "../libmlcc/loader.h"
#include "../libmlcc/pins.h"
#include "../../include/mlcc/profiles.h"
#include "../../include/mlcc/uapi/mlcc_netlink.h"

static const char usage[] =
	"usage: mlcc-bpf COMMAND\n"
	"\n"
	"  load [OPTION...]      registers the congestion control \"mlcc\"\n"
	"  upgrade [OPTION...]   puts this version in the place of the one that is loaded, under flows\n"
	"                        that run: they keep what they have, new ones get this version. Jobs\n"
	"                        and settings stay, but for those given\n"
	"  unload                takes it away; flows keep it to their end\n"
	"  job set ID [--profile NAME] [--phase-bytes BYTES] [--class CLASS]\n"
	"  job del ID\n"
	"  show                  what is known of each job, as JSON\n"
	"  --help, --version\n"
	"\n"
	"  --profile NAME        of jobs that name none: interleave, hotnets22 or mltcp\n"
	"  --mark-mask MASK      bits of the socket mark that hold the job's id; 0xff\n"
	"  --set KEY=VALUE       changes the profile: floor, slope, hold, shape, restart or base\n"
	"\n"
	"Pins are in /sys/fs/bpf/mlcc, or where MLCC_PIN_DIR says.\n"
	"Exit status: 0 done, 1 failed or refused, 2 usage.\n";

static const char *const profile_names[] = MLCC_PROFILE_NAMES;
static const char *const class_names[] = MLCC_CLASS_NAMES;
static const char *const whose_names[] = { "host", "job", "user" };

__attribute__((__noreturn__, __format__(__printf__, 2, 3)))
static void main_stop(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("mlcc-bpf: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(code);
}

static unsigned int profile_by_name(const char *name)
{
	for (unsigned int i = 0; i < MLCC_PROFILE_COUNT; i++)
		if (!strcmp(name, profile_names[i]))
			return i;
	main_stop(EXIT_USAGE, "no profile '%s': interleave, hotnets22 or mltcp", name);
}

static unsigned long long main_number(const char *what, const char *s, unsigned long long min,
				      unsigned long long max)
{
	struct err e;
	uint64_t v;

	if (number_whole(what, s, min, max, &v, &e))
		main_stop(EXIT_USAGE, "%s", e.text);
	return v;
}

/* A decimal fraction as Q16. */
static unsigned int fraction(const char *what, const char *s, unsigned int min, unsigned int max)
{
	struct err e;
	double v;

	if (number_fraction(what, s, (double)min / MLCC_ONE, (double)max / MLCC_ONE, &v, &e))
		main_stop(EXIT_USAGE, "%s", e.text);
	return v * MLCC_ONE + 0.5;
}

/* 0: learnt */
static unsigned long long main_phase_bytes(const char *s)
{
	struct err e;
	uint64_t v = 0;

	if (strcmp(s, "0") && number_bytes("--phase-bytes", s, MLCC_PHASE_BYTES_LIMIT, &v, &e))
		main_stop(EXIT_USAGE, "%s", e.text);
	return v;
}

/* One KEY=VALUE of --set into @p. */
static void main_profile_set(struct mlcc_profile *p, char *arg)
{
	char *value = strchr(arg, '=');

	if (!value)
		main_stop(EXIT_USAGE, "--set '%s': KEY=VALUE is wanted", arg);
	*value++ = '\0';
	if (!strcmp(arg, "floor"))
		p->floor = fraction(arg, value, MLCC_GROW_MIN, MLCC_FLOOR_MAX);
	else if (!strcmp(arg, "slope"))
		p->slope = fraction(arg, value, 0, MLCC_SLOPE_MAX);
	else if (!strcmp(arg, "hold"))
		p->hold = fraction(arg, value, 0, MLCC_HOLD_MAX);
	else if (!strcmp(arg, "shape"))
		p->shape = main_number(arg, value, 1, MLCC_SHAPE_MAX);
	else if (!strcmp(arg, "restart"))
		p->restart = main_number(arg, value, 0, MLCC_RESTART_QUEUE);
	else if (!strcmp(arg, "base"))
		p->base = main_number(arg, value, 0, MLCC_BASE_CUBIC);
	else
		main_stop(EXIT_USAGE, "--set: no key '%s': floor, slope, hold, shape", arg);
	value[-1] = '=';
}

struct words {
	int argc;
	char **argv;
};

/* What the options of load and upgrade say. */
static void settings_change(struct mlcc_config *cfg, struct mlcc_profile *table, void *arg)
{
	static const struct option opts[] = {
		{ "profile", required_argument, NULL, 'p' },
		{ "mark-mask", required_argument, NULL, 'm' },
		{ "set", required_argument, NULL, 's' },
		{ },
	};
	struct words *w = arg;
	int c;

	optind = 0;	/* from the beginning, whoever has read them before */
	while ((c = getopt_long(w->argc, w->argv, "", opts, NULL)) != -1) {
		if (c == 'p')
			cfg->profile = profile_by_name(optarg);
		else if (c == 'm')
			cfg->mark_mask = main_number("--mark-mask", optarg, 1, UINT_MAX);
		else if (c == 's')
			main_profile_set(&table[cfg->profile % MLCC_PROFILES_MAX], optarg);
		else
			exit(EXIT_USAGE);
	}
	cfg->mark_shift = __builtin_ctz(cfg->mark_mask);
}

/* What is wrong with the options is said before anything is done: an upgrade reads them twice. */
static int cmd_load(int argc, char **argv)
{
	struct mlcc_profile table[MLCC_PROFILES_MAX] = MLCC_PROFILE_TABLE;
	struct mlcc_config cfg = { .mark_mask = MLCC_MARK_MASK, .layout = MLCC_LAYOUT };
	struct words words = { argc, argv };
	bool upgrade = !strcmp(argv[0], "upgrade");
	char error[MLCC_ERROR_LEN];

	settings_change(&cfg, table, &words);
	if (upgrade ? carrier_upgrade(settings_change, &words, error) :
		      carrier_load(&cfg, table, error))
		main_stop(EXIT_FAILED, "%s", error);
	return EXIT_FINE;
}

static struct mlcc *main_carrier_open(void)
{
	struct mlcc *m;

	if (mlcc_open(&m, MLCC_CARRIER_BPF))
		main_stop(EXIT_FAILED, "%s", mlcc_error(m));
	return m;
}

/* What is not given stays as it was. */
static int cmd_job_set(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "profile", required_argument, NULL, 'p' },
		{ "phase-bytes", required_argument, NULL, 'b' },
		{ "class", required_argument, NULL, 'c' },
		{ },
	};
	const char *profile = NULL, *bytes = NULL, *class = NULL;
	struct mlcc_job_info info = { };
	struct mlcc_job_conf *conf = &info.conf;
	struct mlcc *m;
	uint32_t id;
	int c, err;

	if (argc < 2)
		main_stop(EXIT_USAGE, "job set: the job's id is missing");
	id = main_number("job id", argv[1], 1, MLCC_JOB_ID_MAX);
	while ((c = getopt_long(argc - 1, argv + 1, "", opts, NULL)) != -1) {
		if (c == 'p')
			profile = profile_names[profile_by_name(optarg)];
		else if (c == 'b')
			bytes = optarg;
		else if (c == 'c')
			class = optarg;
		else
			return EXIT_USAGE;
	}
	m = main_carrier_open();
	/* what cannot be read is not to be written over */
	err = mlcc_job_get(m, id, &info);
	if (err && err != -ENOENT)
		main_stop(EXIT_FAILED, "%s", mlcc_error(m));
	conf->id = id;
	if (profile)
		strcpy(conf->profile, profile);
	if (bytes)
		conf->phase_bytes = main_phase_bytes(bytes);
	if (class && (size_t)snprintf(conf->job_class, sizeof(conf->job_class), "%s", class) >=
		     sizeof(conf->job_class))
		main_stop(EXIT_USAGE, "--class: " MLCC_CLASS_ALLOWED);
	if (mlcc_job_set(m, conf, false))
		main_stop(EXIT_FAILED, "%s", mlcc_error(m));
	mlcc_close(m);
	return EXIT_FINE;
}

static int cmd_job_del(int argc, char **argv)
{
	struct mlcc *m;
	uint32_t id;

	if (argc != 2)
		main_stop(EXIT_USAGE, "job del: the job's id is wanted");
	id = main_number("job id", argv[1], 1, MLCC_JOB_ID_MAX);
	m = main_carrier_open();
	if (mlcc_job_del(m, id))
		main_stop(EXIT_FAILED, "%s", mlcc_error(m));
	mlcc_close(m);
	return EXIT_FINE;
}

static int cmd_job(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "set"))
		return cmd_job_set(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "del"))
		return cmd_job_del(argc - 1, argv + 1);
	main_stop(EXIT_USAGE, "job: 'set ID' or 'del ID'");
}

/* @old: it is of flows that an older version has. */
static void slot_print(const struct mlcc_slot *s, bool old)
{
	const struct mlcc_job *j = &s->job;
	unsigned long long sent = j->acked - j->start_acked;
	unsigned int timeouts = 0, patience = 0;

	/* of the path where it is worst */
	for (unsigned int i = 0; i < MLCC_PATHS; i++) {
		if (s->paths[i].timeouts < timeouts)
			continue;
		timeouts = s->paths[i].timeouts;
		patience = s->paths[i].patience_us;
	}
	printf("{\"id\":%u,\"netns\":%u,\"profile\":\"%s\",\"class\":\"%s\",\"flows\":%u,\"phase\":%u,"
	       "\"d_sent\":%llu,\"d_phase\":%llu,\"d_learnt\":%llu,\"d_hint\":%llu,"
	       "\"hits\":%u,\"gap_us\":%u,\"iteration_us\":%u,\"comm_us\":%u,"
	       "\"best_us\":%u,\"timeouts\":%u,\"patience_us\":%u,\"bytes\":%llu,"
	       "\"retrans\":%llu,\"ce\":%llu,\"hint_state\":%u,\"deleted\":%u,\"old\":%u,"
	       "\"whose\":\"%s\"}",
	       s->id, s->netns, profile_names[s->profile], class_names[s->class], s->users, j->seq,
	       sent, (unsigned long long)j->d_phase, (unsigned long long)j->d_learnt,
	       (unsigned long long)j->d_hint, j->hits, j->gap_us, j->period_us,
	       j->comm_us, j->best_us, timeouts, patience,
	       (unsigned long long)j->acked, (unsigned long long)s->retrans,
	       (unsigned long long)s->ce, j->hint_state, s->deleted, old,
	       whose_names[s->whose]);
}

/* That of the maps beside the pin @settings; 0: there are none. */
static unsigned int main_layout_of(const char *settings)
{
	char ignored[MLCC_ERROR_LEN];
	AUTO_CLOSE int fd = carrier_pin_open(settings, ignored);
	struct mlcc_config cfg;

	return mlcc_settings_read(fd, &cfg, sizeof(cfg)) ? 0 : cfg.layout;
}

static void slots_print(int fd, bool old)
{
	static const char *sep = "";

	for (unsigned int i = 0; i < MLCC_SLOTS; i++) {
		struct mlcc_slot s;

		if (bpf_map_lookup_elem(fd, &i, &s) || !s.id)
			continue;
		printf("%s", sep);
		slot_print(&s, old);
		sep = ",\n";
	}
}

/* The slots of the @n-th older version, if they are as the present one's; negative: not. */
static int old_slots(unsigned int n)
{
	char name[MLCC_OLD_NAME + 16], ignored[MLCC_ERROR_LEN], old[MLCC_OLD_NAME];

	snprintf(name, sizeof(name), "%s/settings", mlcc_old_name(old, n));
	if (main_layout_of(name) != MLCC_LAYOUT)
		return -1;
	snprintf(name, sizeof(name), "%s/slots", old);
	return carrier_pin_open(name, ignored);
}

static int cmd_show(int argc, char **argv)
{
	char error[MLCC_ERROR_LEN];
	int fd = carrier_pin_open("slots", error);
	unsigned int layout;

	if (fd < 0)
		main_stop(EXIT_FAILED, "%s", error);
	layout = main_layout_of("settings");
	if (layout != MLCC_LAYOUT)
		main_stop(EXIT_FAILED,
			  "the carrier has map layout %u, wanted %u: 'mlcc-bpf' of its version",
			  layout, MLCC_LAYOUT);
	printf("[");
	slots_print(fd, false);
	for (unsigned int n = 0; n < MLCC_OLD_MAX; n++) {
		fd = old_slots(n);
		if (fd >= 0)
			slots_print(fd, true);
	}
	printf("]\n");
	return EXIT_FINE;
}

static int cmd_unload(int argc, char **argv)
{
	char error[MLCC_ERROR_LEN];

	if (loader_unload(error))
		main_stop(EXIT_FAILED, "%s", error);
	return EXIT_FINE;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "load", cmd_load },
	{ "upgrade", cmd_load },
	{ "unload", cmd_unload },
	{ "job", cmd_job },
	{ "show", cmd_show },
};

int main(int argc, char **argv)
{
	fill_standard_files();
	for (int i = 1; i < argc && i < 3; i++)
		if (!strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return EXIT_FINE;
		}
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("mlcc-bpf 0.1");
		return EXIT_FINE;
	}
	for (unsigned int i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	main_stop(EXIT_USAGE, "load, upgrade, unload, job or show is wanted; --help explains them");
}
