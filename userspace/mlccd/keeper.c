// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The keeper's operations. Whoever asks may have been taken over: each checks all that it is
 * given, by itself or by libmlcc, before it changes anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/exit.h"
#include "../rdma/rdma.h"
#include "cgroup.h"
#include "job.h"
#include "keeper.h"
#include "pass.h"
#include "rules.h"

struct op {
	int (*run)(struct kept *k, const struct keep_ask *a, struct keep_told *t, int *fd,
		   struct err *e);
	bool carrier, tagger;		/* it needs one that is open */
	bool process;			/* the id is a process's */
};

static bool ends_within(const char *s, size_t size)
{
	return memchr(s, '\0', size);
}

#define ENDS(field) ends_within(field, sizeof(field))

static int no_string(struct err *e)
{
	return fail(e, -EINVAL, "a string without an end");
}

/* A name that is one part of a path, and goes into a line. */
static bool is_part(const char *s)
{
	return *s && *s != '.' && !strchr(s, '/') && rdma_is_name(s);
}

#define OP(name)	static int name(struct kept *k, const struct keep_ask *a, \
					struct keep_told *t, int *fd, struct err *e)

/*** The carrier ***/

OP(op_open)
{
	return kept_need(k, e);
}

OP(op_refresh)
{
	kept_refresh(k);
	return 0;
}

OP(op_job_set)
{
	const struct mlcc_job_conf *conf = &a->job;

	if (!ENDS(conf->name) || !ENDS(conf->profile) || !ENDS(conf->job_class))
		return no_string(e);
	return mlcc_job_set(k->m, conf, a->number);
}

OP(op_job_del)
{
	return mlcc_job_del(k->m, a->id);
}

OP(op_job_get)
{
	if (a->number)
		t->orphans = kept_orphans(k, a->id);
	if (!k->m)
		return -ENODEV;
	t->count = 1;
	return mlcc_job_get(k->m, a->id, &t->jobs[0]);
}

/* A job that is not there sends nothing. */
OP(op_progress)
{
	int err = 0;

	if (a->number > KEEP_LIST)
		return fail(e, -EINVAL, "%d jobs at most", KEEP_LIST);
	memset(t->progress, 0, sizeof(t->progress));
	for (t->count = 0; t->count < a->number && (!err || err == -ENOENT); t->count++)
		err = mlcc_job_progress(k->m, a->ids[t->count], &t->progress[t->count]);
	return err == -ENOENT ? 0 : err;
}

static int list_one(const struct mlcc_job_info *info, void *arg)
{
	struct kept *k = arg;
	struct mlcc_job_info *more;

	if (k->listed_count == JOB_IDS)
		return -E2BIG;
	more = grow(k->listed, k->listed_count, sizeof(*more));
	if (!more)
		return -ENOMEM;
	k->listed = more;
	k->listed[k->listed_count++] = *info;
	return 0;
}

/* The first part looks at all of them, the last one forgets them. */
OP(op_jobs)
{
	uint32_t left, n;
	int err = 0;

	if (!a->number) {
		k->listed_count = 0;
		err = mlcc_job_each(k->m, list_one, k);
	}
	if (a->number > k->listed_count)
		return fail(e, -EINVAL, "there are %u jobs", k->listed_count);
	left = k->listed_count - a->number;
	n = left < KEEP_LIST ? left : KEEP_LIST;
	if (n)
		memcpy(t->jobs, k->listed + a->number, n * sizeof(*t->jobs));
	t->count = n;
	if (n == KEEP_LIST)
		return err;
	free(k->listed);
	k->listed = NULL;
	k->listed_count = 0;
	return err;
}

OP(op_phase_start)
{
	return mlcc_phase_start(k->m, a->id, a->number);
}

OP(op_phase_end)
{
	return mlcc_phase_end(k->m, a->id);
}

OP(op_profile_get)
{
	if (!ENDS(a->name))
		return no_string(e);
	t->count = 1;
	return mlcc_profile_get(k->m, a->name, &t->profiles[0]);
}

OP(op_profile_set)
{
	const struct mlcc_profile_conf *p = &a->profile;
	unsigned char flag;

	memcpy(&flag, &p->is_default, sizeof(flag));
	if (!ENDS(p->name) || !ENDS(p->base) || !ENDS(p->restart))
		return no_string(e);
	if (flag > 1)
		return fail(e, -EINVAL, "is_default: 0 or 1");
	return mlcc_profile_set(k->m, p);
}

OP(op_mark)
{
	uint64_t mark = (uint64_t)a->id << __builtin_ctz(k->mark_mask);

	if (!mark || mark & ~(uint64_t)k->mark_mask)
		return fail(e, -EINVAL, "job %u: not within the mark's mask %#x", a->id, k->mark_mask);
	return rules_have(mark) ? fail(e, -EADDRINUSE, "a policy rule is about the mark %#x",
				       (uint32_t)mark) : 0;
}

static int profile_one(const struct mlcc_profile_conf *p, void *arg)
{
	struct keep_told *t = arg;

	if (t->count == KEEP_PROFILES)
		return -E2BIG;
	t->profiles[t->count++] = *p;
	return 0;
}

OP(op_profiles)
{
	return mlcc_profile_each(k->m, profile_one, t);
}

/*** The tagger ***/

OP(op_tagger)
{
	return kept_tagger(k, e);
}

OP(op_tag)
{
	if (!ENDS(a->tag.path) || !ENDS(a->tag.conf.skip))
		return no_string(e);
	return kept_tag(k, a->tag.path, a->number, &a->tag.conf, e);
}

OP(op_untag)
{
	if (!a->number || !a->id || a->id >= JOB_IDS)
		return fail(e, -EINVAL, "job %u: from 1 to %d, and its cgroup", a->id, JOB_IDS - 1);
	kept_untag(k, a->number, a->id);
	return 0;
}

OP(op_unload)
{
	int err = mlcc_tagger_unload(k->t);

	return err ? fail(e, err, "%s", mlcc_tagger_error(k->t)) : 0;
}

/*** What only root may look at ***/

OP(op_admin)
{
	return home_has_admin(&k->home, a->id) ? 0 : fail(e, -EPERM, "no administrator");
}

OP(op_process)
{
	*fd = cgroup_open_pid(a->id);
	return *fd < 0 ? fail(e, *fd, "no process %u", a->id) : 0;
}

OP(op_pids)
{
	return home_has_pids(&k->home, a->id) ? 0 : fail(e, -EINVAL, "other numbers of processes");
}

OP(op_mounts)
{
	char path[64];

	if (home_has_cgroups(&k->home, a->id))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/mountinfo", a->id);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? fail(e, -errno, "process %u: %s", a->id, strerror(errno)) : 0;
}

OP(op_place)
{
	t->count = 1;
	**t->path = '\0';
	return cgroup_place(k->cgroups, a->number, *t->path, e);
}

OP(op_cgroup)
{
	t->count = 1;
	return ENDS(a->path) ? cgroup_look(k->cgroups, a->path, t->cgroup, e) : no_string(e);
}

/* DIRECTORY, DIRECTORY/NAME, or DIRECTORY/NAME/ and one of the files. */
static bool keeper_is_in(const char *path, const char *dir, bool files, const char *const below[2])
{
	char name[2 * NAME_LEN];
	size_t n = strlen(dir), len;

	if (strncmp(path, dir, n) || (path[n] && path[n] != '/'))
		return false;
	if (!path[n])
		return true;
	path += n + 1;
	len = strcspn(path, "/");
	if (len >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)len, path);
	if (!is_part(name))
		return false;
	if (!path[len])
		return files;
	return below && (!strcmp(path + len + 1, below[0]) || !strcmp(path + len + 1, below[1]));
}

OP(op_file)
{
	static const char *const tables[2] = { "qps", "jobs" };

	if (!ENDS(a->path))
		return no_string(e);
	if (!keeper_is_in(a->path, RXE_DIR, false, tables) &&
	    !keeper_is_in(a->path, FOLLOWED_DIR, true, NULL))
		return fail(e, -EACCES, "not one of the files that are told");
	*fd = sysroot_open(a->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
	return *fd < 0 ? fail(e, *fd, "%s", strerror(-*fd)) : 0;
}

OP(op_rule)
{
	char path[sizeof(RXE_DIR) + NAME_LEN + sizeof("/jobs")], text[64];
	int err;

	if (!ENDS(a->name) || !is_part(a->name))
		return fail(e, -EINVAL, "no name of a device");
	if (!a->number || a->id >= JOB_IDS)
		return fail(e, -EINVAL, "job %u: at most %d, and its cgroup", a->id, JOB_IDS - 1);
	snprintf(path, sizeof(path), RXE_DIR "/%s/jobs", a->name);
	snprintf(text, sizeof(text), "cgroup %" PRIu64 " %" PRIu32, a->number, a->id);
	err = sysroot_write(path, text);
	return err ? fail(e, err, "%s", strerror(-err)) : 0;
}

OP(op_config)
{
	*fd = open(k->config, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return *fd < 0 ? fail(e, -errno, "%s", strerror(errno)) : 0;
}

/*** One question ***/

static const struct op ops[KEEP_OPS] = {
	[KEEP_OPEN] = { .run = op_open },
	[KEEP_TAGGER] = { .run = op_tagger },
	[KEEP_REFRESH] = { .run = op_refresh },
	[KEEP_JOB_SET] = { .run = op_job_set, .carrier = true },
	[KEEP_JOB_DEL] = { .run = op_job_del, .carrier = true },
	[KEEP_JOB_GET] = { .run = op_job_get },
	[KEEP_PROGRESS] = { .run = op_progress, .carrier = true },
	[KEEP_JOBS] = { .run = op_jobs, .carrier = true },
	[KEEP_PHASE_START] = { .run = op_phase_start, .carrier = true },
	[KEEP_PHASE_END] = { .run = op_phase_end, .carrier = true },
	[KEEP_PROFILE_GET] = { .run = op_profile_get, .carrier = true },
	[KEEP_PROFILE_SET] = { .run = op_profile_set, .carrier = true },
	[KEEP_PROFILES_ALL] = { .run = op_profiles, .carrier = true },
	[KEEP_TAG] = { .run = op_tag },
	[KEEP_UNTAG] = { .run = op_untag },
	[KEEP_UNLOAD] = { .run = op_unload, .tagger = true },
	[KEEP_ADMIN] = { .run = op_admin, .process = true },
	[KEEP_CGROUP] = { .run = op_cgroup },
	[KEEP_FILE] = { .run = op_file },
	[KEEP_RULE] = { .run = op_rule },
	[KEEP_CONFIG] = { .run = op_config },
	[KEEP_PROCESS] = { .run = op_process, .process = true },
	[KEEP_MARK] = { .run = op_mark },
	[KEEP_MOUNTS] = { .run = op_mounts, .process = true },
	[KEEP_PIDS] = { .run = op_pids, .process = true },
	[KEEP_PLACE] = { .run = op_place },
};

static int run(struct kept *k, const struct op *op, const struct keep_ask *a, struct keep_told *t,
	       int *fd, struct err *e)
{
	int err;

	if (op->carrier && !k->m)
		return fail(e, -ENODEV, "no carrier is loaded");
	if (op->tagger && !k->t)
		return fail(e, -ENODEV, "no tagger is loaded");
	if (op->process && (!a->id || a->id > INT32_MAX))
		return fail(e, -EINVAL, "a process: from 1 to %d", INT32_MAX);
	err = op->run(k, a, t, fd, e);
	/* what libmlcc has refused, it has said why */
	if (err && op->carrier && !*e->text)
		fail(e, err, "%s", mlcc_error(k->m));
	if (err == -ENODEV && op->carrier)
		kept_drop(k);
	return err;
}

void keeper_answer(struct kept *k, const struct keep_ask *a, size_t size, struct keep_told *t,
		   int *fd)
{
	struct err e = { "" };

	*fd = -1;
	t->count = 0;
	t->orphans = -1;
	if (size < offsetof(struct keep_ask, nothing) || size != keep_ask_size(a->op))
		t->err = fail(&e, -EBADMSG, "no operation, or not of that size");
	else
		t->err = run(k, &ops[a->op], a, t, fd, &e);
	if (t->err) {
		t->count = 0;
		*fd = -1;
	}
	t->carrier = k->m ? mlcc_carrier_of(k->m) : MLCC_CARRIER_ANY;
	t->tagger = !!k->t;
	strcpy(t->why, e.text);
}

/*** The process ***/

static bool serve_one(struct kept *k, int fd)
{
	static struct keep_ask a;
	static struct keep_told t;
	uint32_t op;
	ssize_t n;
	int got;

	n = TEMP_FAILURE_RETRY(recv(fd, &a, sizeof(a), MSG_TRUNC));
	if (n <= 0)
		return false;
	keeper_answer(k, &a, n, &t, &got);
	op = n >= (ssize_t)sizeof(a.op) ? a.op : KEEP_OPS;
	n = pass_send(fd, &t, keep_told_size(op, &t), &got, got >= 0, 0);
	if (got >= 0)
		close(got);
	return !n;
}

void keeper_serve(struct kept *k, int fd)
{
	prctl(PR_SET_NAME, "mlccd-keeper");
	/* what it would receive it would have to close, which may wait (away.h) */
	pass_allow(fd, false);
	while (serve_one(k, fd))
		;
	kept_close(k);
}

static void signals_of(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGCHLD);
}

void keeper_block_signals(void)
{
	sigset_t set;

	signals_of(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int keeper_pair(struct keeper_pair *p)
{
	keeper_block_signals();
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->ask) ||
	       socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->signals) ? -errno : 0;
}

static void pass_signal(int from, int to)
{
	struct signalfd_siginfo info;
	char number;

	if (read(from, &info, sizeof(info)) != sizeof(info) || info.ssi_signo == SIGCHLD)
		return;
	number = info.ssi_signo;
	send(to, &number, sizeof(number), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int keeper_run(struct kept *k, struct keeper_pair *p, pid_t child)
{
	struct pollfd polled[2] = {
		{ .fd = p->ask[0], .events = POLLIN }, { .events = POLLIN },
	};
	int status = 0;
	sigset_t set;

	signals_of(&set);
	prctl(PR_SET_NAME, "mlccd-keeper");
	close(p->ask[1]);
	close(p->signals[1]);
	pass_allow(p->ask[0], false);
	polled[1].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	while (poll(polled, 2, -1) >= 0 || errno == EINTR) {
		if (polled[1].revents & POLLIN)
			pass_signal(polled[1].fd, p->signals[0]);
		if (polled[0].revents && !serve_one(k, p->ask[0]))
			break;
		if (waitpid(child, &status, WNOHANG) == child) {
			child = 0;
			break;
		}
	}
	/* it may be there still: this ends it */
	close(p->ask[0]);
	close(p->signals[0]);
	kept_close(k);
	if (child)
		TEMP_FAILURE_RETRY(waitpid(child, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}
