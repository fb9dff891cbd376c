// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <locale.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "../common/auto.h"
#include "../common/cgroup2.h"
#include "cgroup.h"

#define NO_UID	((uid_t)-1)
#define SHARERS	256	/* processes of a cgroup that are looked at */
#define MOUNTS_US	10000	/* of the processor, for the mounts of a process */
#define CGROUP_ID	4	/* what is wanted of PIDFD_TOLD */
#define FILEID_KERNFS	0xfe
#define KNOWN		64	/* cgroups whose paths are not asked for again */

int cgroups_init(struct cgroups *c)
{
	struct mntent *m, copy;
	char text[PATH_MAX];
	FILE *f;

	c->root = -1;
	f = setmntent("/proc/self/mounts", "re");
	if (!f)
		return -errno;
	while (c->root < 0 && (m = getmntent_r(f, &copy, text, sizeof(text)))) {
		if (strcmp(m->mnt_type, "cgroup2") || !is_cgroup2(m->mnt_dir))
			continue;
		snprintf(c->mount, sizeof(c->mount), "%s", m->mnt_dir);
		c->root = open(c->mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	endmntent(f);
	return c->root < 0 ? -ENOENT : 0;
}

/* What a terminal would do something with, or show in another order, or not at all. */
static bool is_shown(wchar_t c)
{
	static const struct { wchar_t first, last; } not[] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
		{ 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++)
		if (c >= not[i].first && c <= not[i].last)
			return false;
	return true;
}

/* It becomes part of JSON, and not only that which came as JSON, and is shown to others. */
static int check_text(const char *s, struct err *e)
{
	static locale_t utf8;
	locale_t before;
	mbstate_t state = { };
	wchar_t c = 0;
	size_t n;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	before = uselocale(utf8);
	while ((n = mbrtowc(&c, s, MB_CUR_MAX, &state)) && n < (size_t)-2 && is_shown(c))
		s += n;
	uselocale(before);
	if (n >= (size_t)-2)
		return fail(e, -EINVAL, "cgroup: the path is no UTF-8");
	return n ? fail(e, -EINVAL, "cgroup: the path has a character that is not shown (U+%04X)",
			(unsigned int)c) : 0;
}

/* Drops the mount and doubled slashes; refuses what leads elsewhere and what cannot be shown. */
static int normalise(const struct cgroups *c, const char *path, char rel[PATH_MAX], struct err *e)
{
	size_t mount = strlen(c->mount), used = 0;
	int err;

	if (strlen(path) >= PATH_MAX)
		return fail(e, -ENAMETOOLONG, "cgroup: the path is too long");
	err = check_text(path, e);
	if (err)
		return err;
	if (mount && !strncmp(path, c->mount, mount) && (!path[mount] || path[mount] == '/'))
		path += mount;
	while (*path) {
		size_t n = strcspn(path, "/");

		if ((n == 1 && path[0] == '.') || (n == 2 && !strncmp(path, "..", 2)))
			return fail(e, -EINVAL, "cgroup: neither . nor .. may be in the path");
		if (n && used)
			rel[used++] = '/';
		memcpy(rel + used, path, n);
		used += n;
		path += n + !!path[n];
	}
	rel[used] = '\0';
	if (!used)
		return fail(e, -EINVAL, "cgroup: the root cgroup cannot be a job's");
	if (cgroup_levels(rel) > CGROUP_LEVELS)
		return fail(e, -EINVAL, "cgroup: a job's is at most %d below the root", CGROUP_LEVELS);
	return 0;
}

static int open_beneath(int root, const char *rel)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	int fd = syscall(SYS_openat2, root, rel, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int cgroup_open(const struct cgroups *c, const char *rel, struct err *e)
{
	int fd;

	if (c->root < 0)
		return fail(e, -EOPNOTSUPP, "cgroup: no cgroup2 file system is mounted here");
	fd = open_beneath(c->root, rel);
	return fd < 0 ? fail(e, fd, "cgroup '%.200s': %s below %.100s", rel, strerror(-fd), c->mount) :
			fd;
}

int cgroup_look(const struct cgroups *c, const char *rel, struct cgroup_look *look, struct err *e)
{
	AUTO_CLOSE int fd = cgroup_open(c, rel, e);
	struct stat dir, procs;

	if (fd < 0)
		return fd;
	if (fstat(fd, &dir))
		return fail(e, -errno, "cgroup '%.200s': %s", rel, strerror(errno));
	*look = (struct cgroup_look){ dir.st_ino, dir.st_uid, NO_UID };
	if (!fstatat(fd, "cgroup.procs", &procs, AT_SYMLINK_NOFOLLOW))
		look->procs_uid = procs.st_uid;
	return 0;
}

/* Where the cgroup of that id is, as seen from here. */
static int place(const char *mount, uint64_t id, char whole[PATH_MAX])
{
	union {
		struct file_handle head;
		char space[sizeof(struct file_handle) + sizeof(id)];
	} handle = { .head = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	AUTO_CLOSE int at = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char name[64];
	ssize_t n;

	memcpy(handle.head.f_handle, &id, sizeof(id));
	if (at >= 0)
		fd = open_by_handle_at(at, &handle.head, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, whole, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	whole[n] = '\0';
	return 0;
}

int cgroup_place(const struct cgroups *c, uint64_t id, char path[PATH_MAX], struct err *e)
{
	size_t above = strlen(c->mount);
	char whole[PATH_MAX];
	struct stat st;
	int err = c->root < 0 ? -ENOENT : place(c->mount, id, whole);

	if (err)
		return fail(e, err, "cgroup %" PRIu64 ": %s", id, strerror(-err));
	/* what has gone has words behind its path */
	if (!cgroup_within(whole, c->mount) ||
	    (whole[above] && (fstatat(c->root, whole + above + 1, &st, AT_SYMLINK_NOFOLLOW) ||
			      st.st_ino != id)))
		return fail(e, -ESTALE, "cgroup %" PRIu64 " is not seen from here", id);
	strcpy(path, whole[above] ? whole + above : "/");
	return 0;
}

/* With the keeper's rights: a user may keep others out of a cgroup that is his. */
static int ask_for(const char *rel, struct cgroup_look *look, struct err *e)
{
	static struct keep_ask a = { .op = KEEP_CGROUP };
	const struct keep_told *t;

	snprintf(a.path, sizeof(a.path), "%s", rel);
	t = keep_ask(&a, NULL);
	if (t->err)
		return fail(e, t->err, "%s", t->why);
	*look = *t->cgroup;
	return 0;
}

int cgroup_find(const struct cgroups *c, const char *path, char rel[PATH_MAX],
		struct cgroup_look *look, struct err *e)
{
	int err = 0;

	if (c->root >= 0)
		err = normalise(c, path, rel, e);
	err = err ? err : cgroup_look(c, rel, look, e);
	return err == -EACCES ? ask_for(rel, look, e) : err;
}

/* mountinfo writes a blank, a tab, the end of a line and a backslash as three octal digits. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (*s == '\\' && strspn(s + 1, "01234567") >= 3) {
			*to++ = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/*
 * A line of mountinfo: numbers, then which folder of the file system is mounted, and where, then
 * "- TYPE". The folder is as seen from here, not from there: "/.." if it is not below what we see.
 */
static bool is_cgroup2_mount(char *line, char **folder, char **where)
{
	if (!strstr(line, " - cgroup2 "))
		return false;
	for (int i = 0; i < 3; i++)
		strsep(&line, " ");
	*folder = strsep(&line, " ");
	*where = strsep(&line, " ");
	if (!*where)
		return false;
	unescape(*folder);
	unescape(*where);
	return true;
}

/*
 * The folder of the innermost mount that @path is in, or of all there are; how much of @path is
 * where it is. -ENOENT: there is none, or there are several. A user may mount thousands on each
 * other, each of which takes the kernel as many steps: -E2BIG.
 */
static int find_mount(FILE *f, const char *path, char found[PATH_MAX], size_t *used)
{
	AUTO_FREE char *line = NULL;
	char *folder, *where;
	clock_t until = clock() + MOUNTS_US;
	bool several = false, late = false;
	size_t size = 0;

	_Static_assert(CLOCKS_PER_SEC == 1000000, "clock() is in microseconds");
	found[0] = '\0';
	*used = 0;
	while (!(late = clock() > until) && getline(&line, &size, f) > 0) {
		if (!is_cgroup2_mount(line, &folder, &where) || strlen(folder) >= PATH_MAX)
			continue;
		several |= *found && strcmp(found, folder);
		if (*found && (!cgroup_within(path, where) || strlen(where) < *used))
			continue;
		strcpy(found, folder);
		*used = cgroup_within(path, where) ? strlen(where) : 0;
	}
	if (late)
		return -E2BIG;
	return *found && (*used || !several) ? 0 : -ENOENT;
}

int cgroup_seen_by(pid_t pid, bool look, char path[PATH_MAX], struct err *e)
{
	const struct keep_ask a = { .op = KEEP_MOUNTS, .id = pid };
	char folder[PATH_MAX], whole[2 * PATH_MAX];
	const struct keep_told *t;
	size_t used = 0;
	int fd, err;
	FILE *f;

	t = keep_ask(&a, &fd);
	if (t->err)
		return fail(e, t->err, "cgroup: what it means to process %d is unknown: %s", pid,
			    t->why);
	if (fd < 0)
		return 0;
	f = look ? fdopen(fd, "r") : NULL;
	err = f ? find_mount(f, path, folder, &used) : -EINVAL;
	f ? fclose(f) : close(fd);
	if (err == -E2BIG)
		return fail(e, err, "cgroup: process %d has too many mounts to look through: use self, or ask from the host",
			    pid);
	if (err || cgroup_within(folder, "/.."))
		return fail(e, -EINVAL, "cgroup: process %d has a cgroup namespace of its own, and which of it that means is not seen from here: use self, ask from the host, or as root of it below a mount",
			    pid);
	if (snprintf(whole, sizeof(whole), "%s/%s", folder, path + used) >= PATH_MAX)
		return fail(e, -ENAMETOOLONG, "cgroup: the path is too long");
	strcpy(path, whole);
	return 0;
}

int cgroup_open_pid(pid_t pid)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Where /proc is mounted with hidepid=, others' processes are shown to the keeper alone. */
int cgroup_watch_pid(pid_t pid)
{
	const struct keep_ask a = { .op = KEEP_PROCESS, .id = pid };
	int fd = cgroup_open_pid(pid);

	if (fd < 0 && pid > 0)
		keep_ask(&a, &fd);
	return fd;
}

/* All of it, a line for each hierarchy. */
static char *watched_text(int fd)
{
	static char text[8 * PATH_MAX];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return NULL;
	text[n] = '\0';
	return text;
}

static int read_watched(int fd, char path[PATH_MAX])
{
	char *line, *next = watched_text(fd);

	if (!next)
		return -errno;
	while ((line = strsep(&next, "\n")))
		if (!strncmp(line, "0::/", 4) && next && next - line - 4 < PATH_MAX) {
			strcpy(path, line + 3);
			return 0;
		}
	return -ENOENT;
}

/* What the kernel knows the process's by; 0: it does not tell (before Linux 6.13). */
static uint64_t told_id(int pidfd)
{
	struct pidfd_told told = { .mask = CGROUP_ID };

	return ioctl(pidfd, PIDFD_TOLD, &told) || !(told.mask & CGROUP_ID) ? 0 : told.cgroup;
}

/* No id is another cgroup's later, and none is moved. */
static int place_of(uint64_t id, char path[PATH_MAX])
{
	static struct {
		uint64_t id;
		char path[PATH_MAX];
	} known[KNOWN], *at;
	const struct keep_ask a = { .op = KEEP_PLACE, .number = id };
	const struct keep_told *t;

	at = &known[id % KNOWN];
	if (at->id != id) {
		t = keep_ask(&a, NULL);
		if (t->err)
			return t->err;
		at->id = id;
		snprintf(at->path, sizeof(at->path), "%s", *t->path);
	}
	strcpy(path, at->path);
	return 0;
}

int cgroup_watched(int fd, int pidfd, char path[PATH_MAX])
{
	uint64_t id = told_id(pidfd);
	int err = id ? place_of(id, path) : -EPERM;

	/* the keeper may not look */
	return err == -EPERM ? read_watched(fd, path) : err;
}

int cgroup_of_pid(pid_t pid, int pidfd, char path[PATH_MAX], struct err *e)
{
	AUTO_CLOSE int fd = cgroup_watch_pid(pid);
	int err;

	if (fd < 0)
		return fail(e, -ESRCH, "no process %d", pid);
	err = cgroup_watched(fd, pidfd, path);
	return err ? fail(e, err, "process %d has no cgroup of version 2", pid) : 0;
}

/* The lines of version 1, each NUMBER:CONTROLLERS:PATH; "": none, or the process has gone. */
static void older_lines(pid_t pid, char lines[PATH_MAX])
{
	AUTO_CLOSE int fd = cgroup_watch_pid(pid);
	char *line, *next = fd < 0 ? NULL : watched_text(fd);
	size_t used = 0;

	lines[0] = '\0';
	while (next && (line = strsep(&next, "\n")) && used + strlen(line) + 2 < PATH_MAX)
		if (*line && strncmp(line, "0:", 2))
			used += sprintf(lines + used, "%s\n", line);
}

int cgroup_is_shared(const struct cgroups *c, pid_t pid, const char *path, struct err *e)
{
	static char own[PATH_MAX], other[PATH_MAX];
	AUTO_CLOSE int dir = cgroup_open(c, path + 1, e);
	AUTO_FCLOSE FILE *procs = NULL;
	int fd, shares = 0;

	older_lines(pid, own);
	fd = dir < 0 || !*own ? -1 : openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	procs = fd < 0 ? NULL : fdopen(fd, "r");
	for (int n = 0; procs && n < SHARERS && !shares && fscanf(procs, "%d", &fd) == 1; n++) {
		older_lines(fd, other);
		shares = *other && strcmp(own, other) ? fd : 0;
	}
	return shares ? fail(e, -EINVAL, "process %d shares the cgroup '%.200s' with process %d, which cgroups of version 1 tell from it: a job would have both",
			     pid, path, shares) : 0;
}

uint64_t cgroup_id(int fd)
{
	struct stat st;

	/* kernfs: the inode's number is the cgroup's id on all 64-bit machines */
	return fstat(fd, &st) ? 0 : st.st_ino;
}

bool cgroup_delegated(const struct cgroup_look *look, uid_t uid)
{
	return uid != NO_UID && look->uid == uid && look->procs_uid == uid;
}

bool cgroup_there(const struct cgroups *c, const char *rel, uint64_t id)
{
	struct cgroup_look look;
	struct stat st;
	struct err e;
	int err = 0;

	if (!fstatat(c->root, rel, &st, AT_SYMLINK_NOFOLLOW))
		return st.st_ino == id;
	err = errno == EACCES ? ask_for(rel, &look, &e) : -errno;
	/* only a clear answer counts: what is in doubt stays */
	return err ? err != -ENOENT && err != -ENOTDIR : look.id == id;
}

unsigned int cgroup_levels(const char *rel)
{
	unsigned int n = *rel != '\0';

	while (*rel)
		n += *rel++ == '/';
	return n;
}

bool cgroup_within(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	return !strncmp(inner, outer, n) && (!inner[n] || inner[n] == '/');
}
