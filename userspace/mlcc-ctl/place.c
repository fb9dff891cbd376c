// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/cgroup2.h"
#include "ctl.h"
#include "place.h"

#define NAME		"mlcc-run-"
#define NAMES		16		/* tried for one that is free */
#define REMOVE_MS	5000
#define TRY_MS		2
#define DEPTH		16		/* folders that nftw() holds open */

const char *cgroup_of(const char *process)
{
	static char line[PATH_MAX + 8];
	AUTO_FCLOSE FILE *f = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/cgroup", process);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::/", 4))
			return line + 3;
	}
	return NULL;
}

/*
 * Where this mount shows the cgroup @own.  It may be of a part of the tree, and be covered by
 * another one.
 */
static bool shows(const char *line, const char *own, char *path, size_t size)
{
	char root[PATH_MAX], mount[PATH_MAX];
	size_t n;

	if (!strstr(line, " - cgroup2 ") ||
	    sscanf(line, "%*d %*d %*s %4095s %4095s", root, mount) != 2)
		return false;
	n = strcmp(root, "/") ? strlen(root) : 0;
	if (strncmp(own, root, n) || (own[n] && own[n] != '/'))
		return false;
	snprintf(path, size, "%s%s", mount, strcmp(own + n, "/") ? own + n : "");
	return is_cgroup2(path);
}

static bool find_own(char *path, size_t size)
{
	const char *own = cgroup_of("self");
	AUTO_FCLOSE FILE *f = own ? fopen("/proc/self/mountinfo", "re") : NULL;
	AUTO_FREE char *line = NULL;
	size_t len = 0;

	while (f && getline(&line, &len, f) > 0)
		if (shows(line, own, path, size))
			return true;
	return false;
}

/*
 * What keepers that were killed have left: the kernel keeps those that somebody is in, and whoever
 * is about to enter theirs has the lock.  Process numbers say nothing, each namespace has its own.
 */
static DIR *sweep(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *e;

	if (!dir)
		return NULL;
	if (!flock(dirfd(dir), LOCK_EX | LOCK_NB))
		while ((e = readdir(dir)))
			if (!strncmp(e->d_name, NAME, strlen(NAME)))
				unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	flock(dirfd(dir), LOCK_SH | LOCK_NB);
	return dir;
}

/* Others may see the same folder, but other process numbers. */
static int make_below(struct place *p, const char *parent)
{
	int err = -EEXIST;

	for (int i = 0; err == -EEXIST && i < NAMES; i++) {
		mode_t before = umask(022);

		snprintf(p->path, sizeof(p->path), i ? "%s/" NAME "%d-%d" : "%s/" NAME "%d", parent,
			 getpid(), i);
		err = mkdir(p->path, 0755) ? -errno : 0;
		umask(before);
	}
	return err;
}

static int write_file(const struct place *p, const char *name, const char *text)
{
	char path[sizeof(p->path) + 32];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", p->path, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* The keeper */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	if (type == FTW_DP)
		rmdir(path);
	return 0;
}

static void delete_job(const char *id)
{
	struct json_object *request;

	if (!*id)
		return;
	forget_connection();
	request = new_request("del-job");
	put_string(request, "job", id);
	json_object_put(try_ask(request));
}

/*
 * It has nothing of its starter's that somebody could wait for, and no signal is meant for it.  What
 * fails here is gone without; @pidfd stays where it is, as another file in its place might be ready.
 */
static void leave(int pidfd)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	(void)!chdir("/");
	close_range(STDERR_FILENO + 1, pidfd - 1, 0);
	close_range(pidfd + 1, ~0U, 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	while (open("/dev/null", O_RDWR) >= 0 && fcntl(STDERR_FILENO, F_GETFD) < 0)
		;
}

/* Also where a filter refuses poll(). */
static bool place_has_ended(int pidfd)
{
	struct pollfd command = { .fd = pidfd, .events = POLLIN };

	return poll(&command, 1, -1) > 0 ||
	       (syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) && errno == ESRCH);
}

static void __attribute__((__noreturn__)) place_keep(struct place *p, int pidfd)
{
	leave(pidfd);
	while (!place_has_ended(pidfd))
		usleep(TRY_MS * 1000);
	for (int i = 0; i < REMOVE_MS / TRY_MS; i++) {
		write_file(p, "cgroup.kill", "1");
		/* the job first: with the cgroup gone mlccd would end it, but later */
		if (!i)
			delete_job(p->job);
		if (nftw(p->path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS) && errno == ENOENT)
			break;
		usleep(TRY_MS * 1000);
	}
	_exit(0);
}

/* Nobody's child: the command would not know what to do with one. */
static int fork_keeper(struct place *p, int pidfd)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return -errno;
	if (!child) {
		child = fork();
		if (!child)
			place_keep(p, pidfd);
		_exit(child < 0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -EAGAIN : 0;
}

/*
 * Nor is it ours because orphans are: the command may wait for all of its children.  The first
 * process of a PID namespace cannot refuse them, but all that it leaves ends with it, a keeper too.
 */
static int fork_unadopted(struct place *p, int pidfd)
{
	int adopts = 0, err;

	if (getpid() == 1)
		return 0;
	prctl(PR_GET_CHILD_SUBREAPER, &adopts);
	if (adopts)
		prctl(PR_SET_CHILD_SUBREAPER, 0);
	err = fork_keeper(p, pidfd);
	if (adopts)
		prctl(PR_SET_CHILD_SUBREAPER, adopts);
	return err;
}

static int start_keeper(struct place *p)
{
	int pidfd, err;

	p->job = mmap(NULL, PLACE_JOB_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (p->job == MAP_FAILED)
		return -errno;
	pidfd = syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0)
		return -errno;
	/* the standard ones are replaced */
	err = pidfd > STDERR_FILENO ? fork_unadopted(p, pidfd) : -EBADF;
	close(pidfd);
	return err;
}

static int place_failed(char *error, size_t size, const char *what, const char *path, int err)
{
	snprintf(error, size, "cannot %s the cgroup %s: %s", what, path, strerror(-err));
	return err;
}

static int settle(struct place *p, char *error, size_t size)
{
	int err = start_keeper(p);

	if (err) {
		place_failed(error, size, "watch", p->path, err);
	} else {
		err = write_file(p, "cgroup.procs", "0");	/* 0 is whoever writes it */
		if (err)
			place_failed(error, size, "enter", p->path, err);
	}
	if (err)
		rmdir(p->path);
	return err;
}

int place_make(struct place *p, char *error, size_t size)
{
	AUTO_CLOSEDIR DIR *locked = NULL;
	char parent[PATH_MAX + PATH_MAX];
	int err;

	if (!find_own(parent, sizeof(parent))) {
		snprintf(error, size, "no cgroup file system of version 2 here shows this process");
		return -ENOENT;
	}
	locked = sweep(parent);
	err = make_below(p, parent);
	if (err)
		place_failed(error, size, "make", p->path, err);
	else
		err = settle(p, error, size);
	return err;
}
