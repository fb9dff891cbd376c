// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* set-job, del-job, hint, and the options of a job. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "../../include/mlcc/class.h"
#include "../../include/mlcc/profiles.h"
#include "../common/sysroot.h"
#include "../libmlcc/libmlcc.h"
#include "ctl.h"
#include "model.h"

static bool is_number(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

/* USER or :GROUP, as chown takes them. */
static void take_owner(struct json_object *request, const char *who)
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

static void take_name(struct json_object *request, const char *name)
{
	if (!*name || strlen(name) >= MLCC_NAME_LEN || name[strspn(name, MLCC_NAME_CHARS)])
		die(EXIT_USAGE, "--name '%s': 1 to %d letters, digits and any of ._:/@+- are wanted",
		    name, MLCC_NAME_LEN - 1);
	if (is_number(name))
		die(EXIT_USAGE, "--name '%s' would be an id", name);
	put_string(request, "name", name);
}

static void take_skip(struct json_object *request, const char *list)
{
	char why[MLCC_ERROR_LEN];

	if (mlcc_skip_check(list, why))
		die(EXIT_USAGE, "--%s", why);
	put_string(request, "skip", list);
}

static void take_priority(struct json_object *request, const char *s)
{
	unsigned int n = parse_number("--priority", s, 0, 8);

	if (n == 1)
		die(EXIT_USAGE, "--priority '1': 0, or from 2 to 8 is wanted");
	put_u64(request, "priority_classes", n);
}

static const char *const profiles[] = MLCC_PROFILE_NAMES;
static const char *const classes[] = MLCC_CLASS_NAMES;
static const char *const algorithms[] = { "ring", "tree", "all-to-all", "ps", "ps-shared" };
static const char *const precisions[] = { "fp32", "tf32", "fp16", "bf16", "fp8", "int8" };
static const unsigned int precision_bytes[COUNT(precisions)] = { 4, 4, 2, 2, 1, 1 };

const struct option_of job_options[] = {
	{ "name", OPTION_OTHER, .take = take_name, .asked = true },
	{ "class", OPTION_WORD, .words = classes, .count = MLCC_CLASS_COUNT, .asked = true },
	{ "profile", OPTION_WORD, .words = profiles, .count = MLCC_PROFILE_COUNT, .asked = true },
	{ "phase-bytes", OPTION_BYTES, "phase_bytes", .max = MLCC_PHASE_BYTES_LIMIT, .asked = true },
	{ "period", OPTION_TIME, "period_us", 1, UINT32_MAX, .asked = true },
	{ "priority", OPTION_OTHER, .take = take_priority, .asked = true },
	{ "skip", OPTION_OTHER, .take = take_skip, .asked = true },
	{ "owner", OPTION_OTHER, .take = take_owner, .asked = true },
	{ "model", OPTION_TEXT },
	{ "parameters", OPTION_TEXT },
	{ "workers", OPTION_TEXT },
	{ "algorithm", OPTION_WORD, .words = algorithms, .count = COUNT(algorithms) },
	{ "precision", OPTION_WORD, .words = precisions, .count = COUNT(precisions) },
	{ }
};

static void list_models(FILE *f)
{
	for (size_t i = 0; i < model_count; i++)
		fprintf(f, "%-16s %12llu  %s\n", models[i].name,
			(unsigned long long)models[i].parameters, models[i].source);
}

static uint64_t parameters_of(struct json_object *own)
{
	const char *name = get_string(own, "model");
	const struct model *m = model_find(name);

	if (given(own, "parameters"))
		return parse_count("--parameters", get_string(own, "parameters"),
				   MLCC_PHASE_BYTES_LIMIT);
	if (m)
		return m->parameters;
	if (strcmp(name, "list")) {
		list_models(stderr);
		die(EXIT_USAGE, "--model '%s' is none of these; say --parameters", name);
	}
	list_models(stdout);
	exit(EXIT_FINE);
}

static uint64_t phase_of_model(struct json_object *own)
{
	bool elsewhere = !strcmp(get_string(own, "algorithm"), "ps");
	unsigned int bytes = precision_bytes[0];
	uint64_t parameters = parameters_of(own), workers, phase;

	if (!given(own, "workers"))
		die(EXIT_USAGE, "--model and --parameters need --workers N");
	workers = parse_number("--workers", get_string(own, "workers"), 2, 1000000);
	for (size_t i = 0; i < COUNT(precisions); i++)
		if (!strcmp(get_string(own, "precision"), precisions[i]))
			bytes = precision_bytes[i];
	if (model_phase_bytes(parameters, bytes, workers, elsewhere, &phase))
		die(EXIT_USAGE, "--parameters: more than 2^48 bytes in a phase");
	return phase;
}

void job_options_end(struct json_object *request, struct json_object *own)
{
	bool bytes = given(request, "phase_bytes"), model = given(own, "model");
	bool parameters = given(own, "parameters");

	if (given(request, "class") &&
	    strcmp(get_string(request, "class"), classes[MLCC_CLASS_TRAINING]) &&
	    (bytes || model || parameters || given(request, "period_us")))
		die(EXIT_USAGE, "--class other than training has no phases: neither --phase-bytes nor a model nor --period");
	if (model && parameters)
		die(EXIT_USAGE, "--model and --parameters say the same: give one");
	if (model || parameters) {
		if (bytes)
			die(EXIT_USAGE, "--phase-bytes and a model say the same: give one");
		put_u64(request, "phase_bytes", phase_of_model(own));
	} else if (given(own, "workers") || given(own, "algorithm") ||
		   given(own, "precision")) {
		die(EXIT_USAGE, "--workers, --algorithm and --precision go with --model or --parameters");
	}
	if (common.dry_run)
		put_bool(request, "dry_run", true);
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

static char container[CONTAINER_ID_LEN];

static void take_container(struct json_object *request, const char *name)
{
	put_u64(request, "pid", container_pid(name, container));
}

/* A process that has ended since its runtime named it leaves its number to another one. */
static void check_container(struct json_object *reply)
{
	struct json_object *job, *request;

	if (!json_object_object_get_ex(reply, "job", &job) ||
	    strstr(get_string(job, "cgroup"), container))
		return;
	if (!common.dry_run) {
		request = new_request("del-job");
		put_string(request, "job", get_string(job, "id"));
		json_object_put(ask(request));
	}
	die_answering(EXIT_FAILED, NULL, "--container: its process has ended");
}

int verb_set_job(int argc, char **argv)
{
	static const struct option_of opts[] = {
		{ "id", OPTION_WHOLE, .min = 1, .max = 65535, .asked = true },
		{ "cgroup", OPTION_TEXT, .asked = true },
		{ "pid", OPTION_WHOLE, .min = 1, .max = INT32_MAX, .asked = true },
		{ "container", OPTION_OTHER, .take = take_container, .asked = true },
		{ "self", OPTION_FLAG, .asked = true },
		{ "new", OPTION_FLAG, "create", .asked = true },
		{ "limited", OPTION_FLAG, .asked = true },
		{ }
	};
	struct json_object *request = new_request("set-job"), *reply;
	struct json_object *own = options_take(argc, argv, "", opts, job_options, request);

	options_end(argc, argv);
	job_options_end(request, own);
	reply = ask(request);
	check_container(reply);
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
