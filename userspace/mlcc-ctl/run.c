// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * run: a cgroup of its own for one command, a job for the cgroup, and nothing left behind.
 *
 * The job is set before the command starts, so that its first socket is the job's already.  What
 * the command leaves running is killed with the cgroup, as the job is over.
 *
 * A DSCP is the tagger's business for TCP.  Nothing from outside gives one to RDMA: there the
 * program asks for it, as its traffic class, and its libraries take that from the environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

#define WAIT_MS		5000
#define DSCP_MAX	63
#define DSCP_SHIFT	2		/* of a traffic class; the two bits below it are ECN's */

struct place {
	char path[2 * PATH_MAX + 32];	/* of the cgroup that was made */
	size_t mount_len;
	bool made;
	int dscp;			/* that the job is planned to have; < 0: none */
};

struct run_options {
	char **argv;
	int dscp;			/* < 0: not given */
	bool strict, verbose;
};

static bool find_mount(char mount[PATH_MAX])
{
	struct mntent *m;
	bool found = false;
	FILE *f;

	f = setmntent("/proc/self/mounts", "re");
	while (f && !found && (m = getmntent(f))) {
		found = !strcmp(m->mnt_type, "cgroup2");
		snprintf(mount, PATH_MAX, "%s", m->mnt_dir);
	}
	if (f)
		endmntent(f);
	return found;
}

static bool own_cgroup(char path[PATH_MAX])
{
	char line[PATH_MAX];
	bool found = false;
	FILE *f;

	f = fopen("/proc/self/cgroup", "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, "0::/", 4);
		line[strcspn(line, "\n")] = '\0';
		memmove(path, line + 3, strlen(line + 3) + 1);
	}
	if (f)
		fclose(f);
	return found;
}

static int make_cgroup(struct place *p, char *error, size_t size)
{
	char mount[PATH_MAX] = "", own[PATH_MAX] = "";

	if (!find_mount(mount) || !own_cgroup(own)) {
		snprintf(error, size, "no cgroup of version 2 here");
		return -ENOENT;
	}
	p->mount_len = strlen(mount);
	snprintf(p->path, sizeof(p->path), "%s%s%smlcc-run-%d", mount, own,
		 strcmp(own, "/") ? "/" : "", getpid());
	if (mkdir(p->path, 0755)) {
		int err = -errno;

		snprintf(error, size, "cannot make the cgroup %s: %s", p->path, strerror(-err));
		return err;
	}
	p->made = true;
	return 0;
}

static int write_file(const struct place *p, const char *name, const char *text)
{
	char path[sizeof(p->path) + 32];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", p->path, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

static void remove_cgroup(struct place *p)
{
	struct timespec t = { 0, 10000000 };

	if (!p->made)
		return;
	write_file(p, "cgroup.kill", "1");
	for (int i = 0; i < WAIT_MS / 10; i++) {
		if (!rmdir(p->path) || errno == ENOENT)
			return;
		nanosleep(&t, NULL);
	}
	warn("cannot remove the cgroup %s: %s", p->path, strerror(errno));
}

static void delete_job(const char *id)
{
	struct json_object *request = new_request("del-job");
	char error[600];
	int status;

	put_string(request, "job", id);
	json_object_put(try_ask(request, &status, error, sizeof(error)));
}

/* Signals */

static sigset_t forwarded(void)
{
	static const int list[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGCHLD,
	};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		sigaddset(&set, list[i]);
	return set;
}

/* Passes on what comes until the command has ended; its wait status. */
static int attend(pid_t pid, const sigset_t *set)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (sigwaitinfo(set, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		/* the terminal has told the whole foreground already */
		if (info.si_code != SI_KERNEL)
			kill(pid, info.si_signo);
	}
}

/* What NCCL and UCX read; a value that somebody has chosen stays. */
static void export_class(int dscp, bool verbose)
{
	static const char *const names[] = { "NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS" };
	char value[8];

	if (dscp < 0)
		return;
	snprintf(value, sizeof(value), "%d", dscp << DSCP_SHIFT);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *there = getenv(names[i]);

		if (!there)
			setenv(names[i], value, 0);
		if (verbose)
			warn("%s=%s%s", names[i], there ? there : value, there ? ", as it was" : "");
	}
}

static void become(const struct place *p, const struct run_options *o, const sigset_t *old)
{
	char **argv = o->argv;
	int err;

	/* 0 is whoever writes it */
	if (p->made && write_file(p, "cgroup.procs", "0")) {
		warn("cannot enter the cgroup %s: %s", p->path, strerror(errno));
		_exit(EXIT_RUN_FAILED);
	}
	sigprocmask(SIG_SETMASK, old, NULL);
	export_class(p->dscp, o->verbose);
	execvp(argv[0], argv);
	err = errno;
	warn("%s: %s", argv[0], strerror(err));
	_exit(err == ENOENT ? EXIT_RUN_NOT_FOUND : EXIT_RUN_CANNOT);
}

static int run_command(const struct place *p, const struct run_options *o)
{
	sigset_t set = forwarded(), old;
	int status;
	pid_t pid;

	sigprocmask(SIG_BLOCK, &set, &old);
	pid = fork();
	if (!pid)
		become(p, o, &old);
	if (pid < 0) {
		warn("fork: %s", strerror(errno));
		return EXIT_RUN_FAILED;
	}
	status = attend(pid, &set);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The job for the cgroup that was made; NULL with the reason. */
static struct json_object *set_job(const struct place *p, struct json_object *request, char *error,
				   size_t size)
{
	int status;

	put_string(request, "cgroup", p->path + p->mount_len);
	put_bool(request, "create", true);
	return try_ask(request, &status, error, size);
}

/* A plan for this job alone.  0, or why not. */
static int set_dscp(const char *id, int dscp, char *error, size_t size)
{
	struct json_object *request = new_request("set-plan"), *jobs = json_object_new_array();
	struct json_object *plan = json_object_new_object(), *reply;
	int status;

	put_string(plan, "job", id);
	put_u64(plan, "dscp", dscp);
	json_object_array_add(jobs, plan);
	json_object_object_add(request, "jobs", jobs);
	reply = try_ask(request, &status, error, size);
	json_object_put(reply);
	return reply ? 0 : status;
}

/* Whoever has planned it. */
static int planned_dscp(const char *id)
{
	struct json_object *request = new_request("show"), *reply, *jobs, *value;
	char error[600];
	int status, dscp = -1;

	put_string(request, "job", id);
	reply = try_ask(request, &status, error, sizeof(error));
	if (reply && json_object_object_get_ex(reply, "jobs", &jobs) &&
	    json_object_is_type(jobs, json_type_array) &&
	    json_object_object_get_ex(json_object_array_get_idx(jobs, 0), "dscp", &value))
		dscp = json_object_get_int(value);
	json_object_put(reply);
	return dscp >= 0 && dscp <= DSCP_MAX ? dscp : -1;
}

static void cannot(struct place *p, bool strict, const char *error, const char *what)
{
	if (strict) {
		remove_cgroup(p);
		die(EXIT_RUN_FAILED, "%s", error);
	}
	warn("%s; running the command without a %s", error, what);
}

static void plan_dscp(struct place *p, const char *id, const struct run_options *o)
{
	char error[600];

	if (o->dscp >= 0 && set_dscp(id, o->dscp, error, sizeof(error))) {
		if (o->strict)
			delete_job(id);
		cannot(p, o->strict, error, "DSCP");
	}
	p->dscp = planned_dscp(id);
}

static int run(struct json_object *request, const struct run_options *o)
{
	struct json_object *reply = NULL, *job = NULL;
	struct place p = { .dscp = -1 };
	char error[2 * PATH_MAX + 512];
	int status;

	if (!make_cgroup(&p, error, sizeof(error)))
		reply = set_job(&p, request, error, sizeof(error));
	if (!reply)
		cannot(&p, o->strict, error, "job");
	else if (json_object_object_get_ex(reply, "job", &job))
		plan_dscp(&p, get_string(job, "id"), o);
	if (reply)
		answer(json_object_get(reply));
	status = run_command(&p, o);
	/* the job first: with the cgroup gone mlccd would end it, but later */
	if (job)
		delete_job(get_string(job, "id"));
	remove_cgroup(&p);
	json_object_put(reply);
	return status;
}

int verb_run(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "strict", no_argument, NULL, 1 },
		{ "dscp", required_argument, NULL, 2 },
		{ "verbose", no_argument, NULL, 'v' },
		JOB_OPTIONS,
		COMMON_OPTIONS
	};
	struct run_options r = { .dscp = -1 };
	struct job_options o;
	int c;

	job_options_init(&o);
	/* "+": what follows the command is the command's */
	while ((c = getopt_long(argc, argv, "+v" COMMON_SHORT, opts, NULL)) != -1) {
		if (c == 1)
			r.strict = true;
		else if (c == 2)
			r.dscp = parse_number("--dscp", optarg, 0, DSCP_MAX);
		else if (c == 'v')
			r.verbose = true;
		else if (!job_option(&o, c))
			common_option(c, "run");
	}
	if (optind == argc)
		die(EXIT_USAGE, "run: a command is wanted, after --");
	job_options_end(&o);
	r.argv = argv + optind;
	if (!common.dry_run)
		return run(o.request, &r);
	put_bool(o.request, "dry_run", true);
	printf("would make a cgroup, and set the job %s\n",
	       json_object_to_json_string_ext(o.request, JSON_C_TO_STRING_PLAIN));
	if (r.dscp >= 0)
		printf("would give it DSCP %d, and its RDMA traffic class %d\n", r.dscp,
		       r.dscp << DSCP_SHIFT);
	printf("would run %s\n", argv[optind]);
	return EXIT_FINE;
}
