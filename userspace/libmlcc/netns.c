// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/auto.h"
#include "netns.h"

struct walk {
	const char *cgroup;
	int (*run)(void *arg);
	void *arg;
	ino_t *seen;
	size_t count;
	int err;
};

/* Whether the namespace is met for the first time. */
static bool is_new(struct walk *w, ino_t ino)
{
	ino_t *seen;

	for (size_t i = 0; i < w->count; i++)
		if (w->seen[i] == ino)
			return false;
	seen = grow(w->seen, w->count, sizeof(*seen));
	if (!seen) {
		w->err = -ENOMEM;
		return false;
	}
	w->seen = seen;
	w->seen[w->count++] = ino;
	return true;
}

/* @path: a file of nsfs.  That it is gone, or somebody's we may not see, is no error. */
static void visit(struct walk *w, const char *path)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (w->err || stat(path, &st) || !is_new(w, st.st_ino))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		w->err = setns(fd, CLONE_NEWNET) ? -errno : w->run(w->arg);
}

static void visit_pid(struct walk *w, unsigned long pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%lu/ns/net", pid);
	visit(w, path);
}

/* Returns whether the file could be read; a threaded cgroup has no list of processes. */
static bool visit_list(struct walk *w, const char *dir, const char *file)
{
	char path[PATH_MAX], line[32];
	AUTO_FCLOSE FILE *f = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		visit_pid(w, strtoul(line, NULL, 10));
	return !ferror(f);
}

static void visit_cgroup(struct walk *w)
{
	char *const roots[] = { (char *)w->cgroup, NULL };
	/* the path itself may be a link: mlccd names a descriptor below /proc/self/fd */
	const int how = FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR | FTS_XDEV;
	FTS *tree = fts_open(roots, how, NULL);
	FTSENT *e;

	if (!tree) {
		w->err = -errno;
		return;
	}
	while (!w->err && (e = fts_read(tree)))
		if (e->fts_info == FTS_D && !visit_list(w, e->fts_path, "cgroup.procs"))
			visit_list(w, e->fts_path, "cgroup.threads");
	fts_close(tree);
}

static void visit_processes(struct walk *w)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	if (!proc) {
		w->err = -errno;
		return;
	}
	while (!w->err && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]))
			visit_pid(w, strtoul(e->d_name, NULL, 10));
	closedir(proc);
}

/* Namespaces with a name, as "ip netns" and container runtimes give them. */
static void visit_names(struct walk *w)
{
	AUTO_FCLOSE FILE *f = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	char where[PATH_MAX];
	size_t room = 0;

	while (f && !w->err && getline(&line, &room, f) > 0)
		if (strstr(line, " - nsfs ") &&
		    sscanf(line, "%*s %*s %*s net:%*s %4095s", where) == 1)
			visit(w, where);
}

static void *walk_thread(void *arg)
{
	struct walk *w = arg;

	if (w->cgroup) {
		visit_cgroup(w);
		return NULL;
	}
	visit(w, "/proc/thread-self/ns/net");
	visit_processes(w);
	visit_names(w);
	return NULL;
}

int mlcc_netns_each(const char *cgroup, int (*run)(void *arg), void *arg)
{
	struct walk w = { .cgroup = cgroup, .run = run, .arg = arg };
	pthread_t thread;
	int err;

	err = pthread_create(&thread, NULL, walk_thread, &w);
	if (err)
		return -err;
	pthread_join(thread, NULL);
	free(w.seen);
	return w.err;
}
