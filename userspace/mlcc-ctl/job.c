// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* set-job, del-job, hint, and the options of a job. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "../../include/mlcc/class.h"
#include "../../include/mlcc/profiles.h"
#include "../libmlcc/libmlcc.h"
#include "ctl.h"
#include "model.h"

void job_options_init(struct job_options *o)
{
	*o = (struct job_options){ .request = new_request("set-job") };
}

static bool is_number(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

/* USER or :GROUP, as chown takes them. */
static void put_owner(struct json_object *request, const char *who)
{
	bool group = *who == ':';
	struct passwd *p = NULL;
	struct group *g = NULL;
	uint64_t id = 0;

	who += group;
	if (is_number(who))
		id = parse_number("--owner", who, 0, UINT32_MAX - 1);
	else if (group && (g = getgrnam(who)))
		id = g->gr_gid;
	else if (!group && (p = getpwnam(who)))
		id = p->pw_uid;
	else
		die(EXIT_USAGE, "--owner: there is no %s '%s'", group ? "group" : "user", who);
	if (!id)
		die(EXIT_USAGE, "--owner: root needs no job to own");
	put_u64(request, group ? "owner_gid" : "owner_uid", id);
}

/* What mlccd would refuse on any host is the caller's mistake, also where there is no mlccd. */

static const char *job_check_name(const char *name)
{
	if (!*name || strlen(name) >= MLCC_NAME_LEN || name[strspn(name, MLCC_NAME_CHARS)])
		die(EXIT_USAGE, "--name '%s': 1 to %d letters, digits and any of ._:/@+- are wanted",
		    name, MLCC_NAME_LEN - 1);
	if (is_number(name))
		die(EXIT_USAGE, "--name '%s' would be an id", name);
	return name;
}

static const char *check_skip(const char *list)
{
	char why[MLCC_ERROR_LEN];

	if (mlcc_skip_check(list, why))
		die(EXIT_USAGE, "--%s", why);
	return list;
}

static const char *const profiles[] = MLCC_PROFILE_NAMES;
static const char *const classes[] = MLCC_CLASS_NAMES;

static const char *one_of(const char *what, const char *s, const char *const *list, int count)
{
	char all[200] = "";
	size_t n = 0;

	for (int i = 0; i < count; i++) {
		if (!strcmp(s, list[i]))
			return s;
		n += snprintf(all + n, sizeof(all) - n, "%s%s",
			      !i ? "" : i < count - 1 ? ", " : " or ", list[i]);
	}
	die(EXIT_USAGE, "%s '%s': %s is wanted", what, s, all);
}

static unsigned int parse_priority(const char *s)
{
	unsigned int n = parse_number("--priority", s, 0, 8);

	if (n == 1)
		die(EXIT_USAGE, "--priority '1': 0, or from 2 to 8 is wanted");
	return n;
}

bool job_option(struct job_options *o, int c)
{
	switch (c) {
	case 1000:
		put_string(o->request, "name", job_check_name(optarg));
		break;
	case 1001:
		put_string(o->request, "profile", one_of("--profile", optarg, profiles, MLCC_PROFILE_COUNT));
		break;
	case 1002:
		put_u64(o->request, "phase_bytes", parse_bytes("--phase-bytes", optarg,
							       MLCC_PHASE_BYTES_LIMIT));
		o->phase_bytes = true;
		break;
	case 1003:
		put_u64(o->request, "period_us", parse_time_us("--period", optarg, 1, UINT32_MAX));
		o->period = true;
		break;
	case 1004:
		put_u64(o->request, "priority_classes", parse_priority(optarg));
		o->priorities = strcmp(optarg, "0");
		break;
	case 1005:
		o->model = optarg;
		break;
	case 1006:
		o->workers = optarg;
		break;
	case 1007:
		o->algorithm = optarg;
		break;
	case 1008:
		o->precision = optarg;
		break;
	case 1009:
		o->parameters = optarg;
		break;
	case 1010:
		put_owner(o->request, optarg);
		break;
	case 1011:
		put_string(o->request, "skip", check_skip(optarg));
		break;
	case 1012:
		put_string(o->request, "class", one_of("--class", optarg, classes, MLCC_CLASS_COUNT));
		o->phaseless = strcmp(optarg, classes[MLCC_CLASS_TRAINING]);
		break;
	default:
		return false;
	}
	return true;
}

static void list_models(FILE *f)
{
	for (size_t i = 0; i < model_count; i++)
		fprintf(f, "%-16s %12llu  %s\n", models[i].name,
			(unsigned long long)models[i].parameters, models[i].source);
}

static uint64_t parameters_of(const struct job_options *o)
{
	const struct model *m;

	if (o->parameters)
		return parse_count("--parameters", o->parameters, MLCC_PHASE_BYTES_LIMIT);
	m = model_find(o->model);
	if (m)
		return m->parameters;
	if (strcmp(o->model, "list")) {
		list_models(stderr);
		die(EXIT_USAGE, "--model '%s' is none of these; say --parameters", o->model);
	}
	list_models(stdout);
	exit(EXIT_FINE);
}

static uint64_t phase_of_model(const struct job_options *o)
{
	unsigned int bytes = o->precision ? model_precision(o->precision) : 4;
	int algorithm = o->algorithm ? model_algorithm(o->algorithm) : MODEL_RING;
	uint64_t parameters = parameters_of(o), workers, phase;

	if (!o->workers)
		die(EXIT_USAGE, "--model and --parameters need --workers N");
	workers = parse_number("--workers", o->workers, 2, 1000000);
	if (!bytes)
		die(EXIT_USAGE, "--precision '%s': fp32, tf32, fp16, bf16, fp8 or int8",
		    o->precision);
	if (algorithm < 0)
		die(EXIT_USAGE, "--algorithm '%s': ring, tree, all-to-all, ps or ps-shared",
		    o->algorithm);
	if (model_phase_bytes(parameters, bytes, workers, algorithm, &phase))
		die(EXIT_USAGE, "--parameters: more than 2^48 bytes in a phase");
	return phase;
}

void job_options_end(struct job_options *o)
{
	if (o->phaseless && (o->phase_bytes || o->period || o->model || o->parameters))
		die(EXIT_USAGE, "--class other than training has no phases: neither --phase-bytes nor a model nor --period");
	if (o->model && o->parameters)
		die(EXIT_USAGE, "--model and --parameters say the same: give one");
	if (!o->model && !o->parameters) {
		if (o->workers || o->algorithm || o->precision)
			die(EXIT_USAGE, "--workers, --algorithm and --precision go with --model or --parameters");
		return;
	}
	if (o->phase_bytes)
		die(EXIT_USAGE, "--phase-bytes and a model say the same: give one");
	put_u64(o->request, "phase_bytes", phase_of_model(o));
}

static void print_set(struct json_object *reply)
{
	struct json_object *job;
	uint64_t bytes;

	if (!json_object_object_get_ex(reply, "job", &job))
		die(EXIT_FAILED, "mlccd's reply has no job");
	bytes = get_u64(job, "phase_bytes");
	if (common.dry_run)
		printf("would set job %s", get_u64(job, "id") ? get_string(job, "id") : "(new)");
	else
		printf("job %s", get_string(job, "id"));
	if (*get_string(job, "name"))
		printf(" '%s'", get_string(job, "name"));
	if (*get_string(job, "cgroup"))
		printf(", cgroup %s", get_string(job, "cgroup"));
	if (strcmp(get_string(job, "class"), "training"))
		printf(", class %s\n", get_string(job, "class"));
	else if (bytes)
		printf(", %llu bytes a phase\n", (unsigned long long)bytes);
	else
		printf(", bytes a phase to be learnt\n");
	if (*get_string(reply, "warning"))
		warn("%s", get_string(reply, "warning"));
}

/* A process that has ended since its runtime named it leaves its number to another one. */
static void check_container(struct json_object *reply, const char *id)
{
	struct json_object *job, *request;

	if (!json_object_object_get_ex(reply, "job", &job) || strstr(get_string(job, "cgroup"), id))
		return;
	if (!common.dry_run) {
		request = new_request("del-job");
		put_string(request, "job", get_string(job, "id"));
		json_object_put(ask(request));
	}
	die_answering(EXIT_FAILED, "--container: its process has ended");
}

int verb_set_job(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "id", required_argument, NULL, 1 },
		{ "cgroup", required_argument, NULL, 2 },
		{ "pid", required_argument, NULL, 3 },
		{ "self", no_argument, NULL, 4 },
		{ "new", no_argument, NULL, 5 },
		{ "container", required_argument, NULL, 6 },
		{ "limited", no_argument, NULL, 7 },
		JOB_OPTIONS,
		COMMON_OPTIONS
	};
	char container[CONTAINER_ID_LEN] = "";
	struct json_object *reply;
	struct job_options o;
	int c;

	job_options_init(&o);
	while ((c = getopt_long(argc, argv, COMMON_SHORT, opts, NULL)) != -1) {
		if (c == 1)
			put_u64(o.request, "id", parse_number("--id", optarg, 1, 65535));
		else if (c == 2)
			put_string(o.request, "cgroup", optarg);
		else if (c == 3)
			put_u64(o.request, "pid", parse_number("--pid", optarg, 1, INT32_MAX));
		else if (c == 4)
			put_bool(o.request, "self", true);
		else if (c == 5)
			put_bool(o.request, "create", true);
		else if (c == 6)
			put_u64(o.request, "pid", container_pid(optarg, container));
		else if (c == 7)
			put_bool(o.request, "limited", true);
		else if (!job_option(&o, c))
			common_option(c, "set-job");
	}
	if (optind != argc)
		die(EXIT_USAGE, "set-job: '%s' is no option", argv[optind]);
	job_options_end(&o);
	if (common.dry_run)
		put_bool(o.request, "dry_run", true);
	reply = ask(o.request);
	check_container(reply, container);
	if (!common.json)
		print_set(reply);
	answer(reply);
	return EXIT_FINE;
}

int verb_del_job(int argc, char **argv)
{
	struct json_object *request, *reply;

	flag_option(argc, argv, NULL);
	if (optind + 1 != argc)
		die(EXIT_USAGE, "del-job: one job is wanted, by id or name");
	request = new_request("del-job");
	put_string(request, "job", argv[optind]);
	if (common.dry_run)
		put_bool(request, "dry_run", true);
	reply = ask(request);
	if (!common.json)
		printf("%s %s\n", common.dry_run ? "would delete job" : "deleted job",
		       get_string(reply, "id"));
	answer(reply);
	return EXIT_FINE;
}

/* hint JOB start [BYTES] | hint JOB end */
int verb_hint(int argc, char **argv)
{
	struct json_object *request, *reply;
	bool start;

	flag_option(argc, argv, NULL);
	argc -= optind;
	argv += optind;
	start = argc > 1 && !strcmp(argv[1], "start");
	if (argc < 2 || argc > 2 + start || (!start && strcmp(argv[1], "end")))
		die(EXIT_USAGE, "hint: JOB start [BYTES], or JOB end");
	request = new_request(common.dry_run ? "show" : "hint");
	put_string(request, "job", argv[0]);
	if (!common.dry_run)
		put_string(request, "phase", argv[1]);
	if (argc > 2) {
		uint64_t bytes = parse_bytes("BYTES", argv[2], MLCC_PHASE_BYTES_LIMIT);

		if (!common.dry_run)
			put_u64(request, "bytes", bytes);
	}
	reply = ask(request);
	if (common.dry_run && !common.json)
		printf("would tell job %s of the %s of a phase\n", argv[0], argv[1]);
	answer(reply);
	return EXIT_FINE;
}
