// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * run: a cgroup for one command, a job for the cgroup, and this process becomes the command.
 *
 * So the command has the process number, the terminal, the signals and the exit status that it would
 * have without us, and there is nobody between it and its starter who could be killed.  The job is
 * set before, so that its first socket is the job's already.  place.h says who clears away.
 *
 * Whatever fails on the way, the command runs; what cannot be right on any host is refused before.
 *
 * A DSCP is the tagger's business for TCP.  Nothing from outside gives one to RDMA: there the
 * program asks for it, as its traffic class, and its libraries take that from the environment.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "place.h"

#define DSCP_MAX	63
#define DSCP_SHIFT	2		/* of a traffic class; the two bits below it are ECN's */
#define PATHS_MAX	128		/* NCCL's, of queue pairs */
#define SOCKETS_MAX	64		/* and of sockets */
#define VERBS		"libmlcc-ibverbs.so"
#define NAME_TRIES	40		/* the run before this one may still be clearing away */
#define NAME_TRY_US	50000

struct run_options {
	char **argv;
	int dscp;			/* < 0: not given */
	int paths;			/* 0: not given */
	bool strict, verbose, any_name;
};

/* What the starter has chosen, and the command is to find so. */
struct inherited {
	struct sigaction action[3];
	bool known[3];
};

static const int ours[] = {
	SIGPIPE, SIGXFSZ,		/* nobody reads what we say, or it has no room */
	SIGCHLD,			/* ignored, there is no status of a child */
};

static void set_aside(struct inherited *s)
{
	struct sigaction action = { };

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		action.sa_handler = ours[i] == SIGCHLD ? SIG_DFL : SIG_IGN;
		s->known[i] = !sigaction(ours[i], &action, &s->action[i]);
	}
}

static void give_back(const struct inherited *s)
{
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (s->known[i])
			sigaction(ours[i], &s->action[i], NULL);
}

/* For the command's libraries; a value that somebody has chosen stays. */
static void export_text(const char *name, const char *value, bool tell)
{
	const char *there = getenv(name);

	if (!there)
		setenv(name, value, 0);
	if (tell)
		warn("%s=%s%s", name, there ? there : value, there ? ", as it was" : "");
}

static void export(const char *name, int number, bool tell)
{
	char value[12];

	snprintf(value, sizeof(value), "%d", number);
	export_text(name, value, tell);
}

static void export_class(int dscp, bool verbose)
{
	if (dscp < 0)
		return;
	export("NCCL_IB_TC", dscp << DSCP_SHIFT, verbose);
	export("UCX_IB_TRAFFIC_CLASS", dscp << DSCP_SHIFT, verbose);
}

/* Each is of use with the other only, so who has chosen one has chosen both. */
static void export_both(const char *one, int a, const char *two, int b, bool verbose)
{
	const char *own = getenv(one) ? one : getenv(two) ? two : NULL;

	if (own) {
		warn("%s=%s, as it was, and --paths leaves %s", own, getenv(own),
		     own == one ? two : one);
		return;
	}
	export(one, a, verbose);
	export(two, b, verbose);
}

/* Where the library is missing, or cannot be loaded, NCCL takes its verbs from where it always does. */
static void export_verbs(bool verbose)
{
	bool chosen = getenv("NCCL_IBVERBS_LIB");
	void *lib = chosen ? NULL : dlopen(VERBS, RTLD_LAZY);

	if (chosen || lib)
		export_text("NCCL_IBVERBS_LIB", VERBS, verbose);
	else if (verbose)
		warn("NCCL_IBVERBS_LIB is not set: %s", dlerror());
	if (lib)
		dlclose(lib);
}

/* Of each message a part goes by each queue pair, as it does by each socket anyway. */
static void export_paths(int paths, bool verbose)
{
	if (!paths)
		return;
	export_verbs(verbose);
	export_both("NCCL_IB_QPS_PER_CONNECTION", paths, "NCCL_IB_SPLIT_DATA_ON_QPS", 1, verbose);
	export_both("NCCL_NSOCKS_PERTHREAD", paths < SOCKETS_MAX ? paths : SOCKETS_MAX,
		    "NCCL_SOCKET_NTHREADS", 1, verbose);
}

static int run_become(const struct run_options *o, const struct inherited *s)
{
	int err;

	fflush(NULL);
	give_back(s);
	execvp(o->argv[0], o->argv);
	err = errno;
	warn("%s: %s", o->argv[0], strerror(err));
	return err == ENOENT ? EXIT_RUN_NOT_FOUND : EXIT_RUN_CANNOT;
}

/*
 * The job for the cgroup that this process is in now: mlccd knows it by the process, whatever
 * namespaces that is in.  NULL: it is refused.
 */
static struct json_object *run_set_job(struct json_object *request)
{
	struct json_object *reply = NULL;

	put_bool(request, "self", true);
	put_bool(request, "create", true);
	for (int i = 0; !reply && i < NAME_TRIES; i++) {
		if (i)
			usleep(NAME_TRY_US);
		reply = try_ask(json_object_get(request));
		if (!reply && strcmp(refusal.code, "EEXIST"))
			break;
	}
	return reply;
}

/* A name that is taken is somebody's mistake, or a launcher's, whose runs have the same one. */
static struct json_object *set_named_job(struct json_object *request, const struct run_options *o)
{
	struct json_object *reply = run_set_job(request), *job;
	bool taken = !reply && !strcmp(refusal.code, "EEXIST");

	if (taken && !o->any_name)
		die(EXIT_USAGE, "%s", refusal.why);
	if (taken) {
		warn("%s; this one has no name", refusal.why);
		json_object_object_del(request, "name");
		reply = run_set_job(request);
	}
	/* whoever announces its phases looks for it there */
	if (taken && reply && json_object_object_get_ex(reply, "job", &job))
		setenv("MLCC_JOB_ID", get_string(job, "id"), 1);
	json_object_put(request);
	return reply;
}

/* A plan for this job alone.  False: it is refused. */
static bool run_set_dscp(const char *id, int dscp)
{
	struct json_object *request = new_request("set-plan"), *jobs = json_object_new_array();
	struct json_object *plan = json_object_new_object();
	AUTO_PUT struct json_object *reply = NULL;

	put_string(plan, "job", id);
	put_u64(plan, "dscp", dscp);
	json_object_array_add(jobs, plan);
	json_object_object_add(request, "jobs", jobs);
	reply = try_ask(request);
	return reply;
}

/* By a plan, whoever has made it, or by its class. */
static int shown_dscp(const char *id)
{
	struct json_object *request = new_request("show"), *jobs, *value;
	AUTO_PUT struct json_object *reply = NULL;
	int dscp = -1;

	put_string(request, "job", id);
	reply = try_ask(request);
	if (reply && json_object_object_get_ex(reply, "jobs", &jobs) &&
	    json_object_object_get_ex(json_member(jobs, 0), "dscp", &value))
		dscp = json_object_get_int(value);
	return dscp >= 0 && dscp <= DSCP_MAX ? dscp : -1;
}

static void cannot(bool strict, const char *error, const char *what)
{
	if (strict)
		die(EXIT_RUN_FAILED, "%s", error);
	warn("%s; running the command without a %s", error, what);
}

/* The DSCP that all of the job's packets have; < 0: none. */
static int plan_dscp(const char *id, const struct run_options *o)
{
	if (o->dscp >= 0 && !run_set_dscp(id, o->dscp)) {
		cannot(o->strict, refusal.why, "DSCP");
		return -1;
	}
	return shown_dscp(id);
}

static int make_place(struct place *p, char *error, size_t size)
{
	static const char remedy[] =
		" ('systemd-run --user --scope -p Delegate=yes mlcc-ctl run ...' makes one that is yours)";
	char again[2 * PATH_MAX + 512];
	int err = place_make(p, error, size);
	size_t n;

	if (!err || !geteuid())
		return err;
	if (!scope_ask() && !place_make(p, again, sizeof(again)))
		return 0;
	n = strlen(error);
	snprintf(error + n, size - n, "%s", remedy);
	return err;
}

static int run_command(struct json_object *request, const struct run_options *o)
{
	struct json_object *reply = NULL, *job;
	char error[2 * PATH_MAX + 512];
	struct inherited inherited;
	struct place p = { };

	set_aside(&inherited);
	export_paths(o->paths, o->verbose);
	if (make_place(&p, error, sizeof(error))) {
		cannot(o->strict, error, "job");
	} else {
		reply = set_named_job(request, o);
		if (!reply)
			cannot(o->strict, refusal.why, "job");
	}
	if (reply && json_object_object_get_ex(reply, "job", &job)) {
		snprintf(p.job, PLACE_JOB_LEN, "%s", get_string(job, "id"));
		export_class(plan_dscp(p.job, o), o->verbose);
		/* for the plugins, and for jobs within it */
		if (strcmp(get_string(job, "class"), "training"))
			setenv("MLCC_CLASS", get_string(job, "class"), 1);
	}
	if (reply)
		answer(reply);
	return run_become(o, &inherited);
}

/* Asks somebody else to start the work, who does that in another cgroup. */
static void warn_of_others(char **argv)
{
	static const char pattern[] =
		"(^|[ /;&|(])(docker|podman|nerdctl)( +-[^ ]+)*( +container| +compose)? +(run|exec|start|up)( |$)"
		"|^([^ ]*/)?(srun|sbatch|salloc|kubectl|systemd-run|ssh|machinectl)( |$)";
	char words[4096] = "";
	size_t n = 0;
	regex_t r;

	for (; *argv && n < sizeof(words) - 1; argv++)
		n += snprintf(words + n, sizeof(words) - n, "%s%s", n ? " " : "", *argv);
	if (regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB))
		return;
	if (!regexec(&r, words, 0, NULL, 0))
		warn("the command has others start the work, in a cgroup that is not the job's: run mlcc-ctl there, or 'mlcc-ctl set-job --container NAME' once it runs");
	regfree(&r);
}

int verb_run(int argc, char **argv)
{
	static const struct option_of opts[] = {
		{ "strict", OPTION_FLAG },
		{ "dscp", OPTION_WHOLE, .max = DSCP_MAX },
		{ "any-name", OPTION_FLAG },
		{ "paths", OPTION_WHOLE, .min = 1, .max = PATHS_MAX },
		{ "verbose", OPTION_FLAG, .letter = 'v' },
		{ }
	};
	struct json_object *request = new_request("set-job");
	/* "+": what follows the command is the command's */
	struct json_object *own = options_take(argc, argv, "+v", opts, job_options, request);
	struct run_options r = {
		.argv = argv + optind, .paths = get_u64(own, "paths"), .any_name = get_bool(own, "any-name"),
		.dscp = given(own, "dscp") ? (int)get_u64(own, "dscp") : -1,
		.strict = get_bool(own, "strict"), .verbose = get_bool(own, "verbose"),
	};

	if (optind == argc)
		die(EXIT_USAGE, "run: a command is wanted, after --");
	if (get_u64(request, "priority_classes") && r.dscp >= 0)
		die(EXIT_USAGE, "--dscp and --priority exclude each other: give one");
	job_options_end(request, own);
	warn_of_others(r.argv);
	if (!common.dry_run)
		return run_command(request, &r);
	printf("would make a cgroup, and set the job %s\n",
	       json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN));
	if (r.dscp >= 0)
		printf("would give it DSCP %d, and its RDMA traffic class %d\n", r.dscp,
		       r.dscp << DSCP_SHIFT);
	if (r.paths)
		printf("would have NCCL make %d queue pairs or sockets of a connection\n", r.paths);
	printf("would run %s\n", argv[optind]);
	return EXIT_FINE;
}
