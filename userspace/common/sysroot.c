// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Files below the root directory: "/", or what --sysroot names.
 *
 * Who can write to the directory decides what root reads, writes and runs, so it has to belong to
 * the user who runs this, or to root, and nobody else may write to it.  The kernel resolves all
 * paths below it (openat2(2), RESOLVE_IN_ROOT), links as well: nothing in there leads out.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "auto.h"
#include "sysroot.h"

#define TRIES_MAX	1000

static int root = -1;
static bool is_whole;	/* it is "/", from which nothing leads out */

int sysroot_set(const char *dir, struct err *e)
{
	struct stat st, whole;

	if (getauxval(AT_SECURE))
		return fail(e, -EPERM, "this program is not made to be set-user-id");
	root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || fstat(root, &st))
		return fail(e, -errno, "--sysroot %s: %s", dir, strerror(errno));
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & 022)
		return fail(e, -EPERM, "--sysroot %s: it has to belong to you or root, and nobody else may write to it",
			    dir);
	is_whole = !stat("/", &whole) && whole.st_dev == st.st_dev && whole.st_ino == st.st_ino;
	return 0;
}

static int (*open_else)(const char *path);

void sysroot_else(int (*open)(const char *path))
{
	open_else = open;
}

/*
 * Kept below a root, the kernel gives up (EAGAIN) on a path with ".." in it, as links of sysfs have,
 * if something was renamed or mounted meanwhile, wherever that was.
 */
int sysroot_open(const char *path, int flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | (is_whole ? 0 : RESOLVE_IN_ROOT),
	};
	int fd, tries = TRIES_MAX;

	do {
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	} while (fd < 0 && errno == EAGAIN && --tries);
	if (fd < 0 && errno == EACCES && open_else && !(flags & (O_ACCMODE | O_PATH)))
		return open_else(path);
	return fd < 0 ? -errno : fd;
}

/* Files go with their device; before that, drivers in a reset answer with some of these. */
bool device_is_away(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
	case -EINVAL:
	case -EIO:
	case -EAGAIN:
	case -EBUSY:
	case -ETIMEDOUT:
		return true;
	}
	return false;
}

bool sysroot_is_there(const char *path)
{
	AUTO_CLOSE int fd = sysroot_open(path, O_PATH);

	return fd >= 0;
}

int sysroot_link(const char *path, char name[NAME_LEN])
{
	AUTO_CLOSE int fd = sysroot_open(path, O_PATH | O_NOFOLLOW);
	char target[PATH_MAX];
	const char *last;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	last = strrchr(target, '/');
	snprintf(name, NAME_LEN, "%.*s", NAME_LEN - 1, last ? last + 1 : target);
	return 0;
}

DIR *sysroot_dir(const char *path, int *err)
{
	int fd = sysroot_open(path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (err)
		*err = dir || (fd < 0 && device_is_away(fd)) ? 0 : fd < 0 ? fd : -ENOMEM;
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

const char *sysroot_next(DIR *dir)
{
	struct dirent *d = NULL;

	while (dir && (d = readdir(dir)) && *d->d_name == '.')
		;
	return d ? d->d_name : NULL;
}

bool sysroot_has_entries(const char *dir)
{
	AUTO_CLOSEDIR DIR *list = sysroot_dir(dir, NULL);

	return sysroot_next(list);
}

/*
 * Opened anew each time, as configfs and sysfs show what was there when a file was first read; in
 * one piece, as drivers in debugfs ask the device at each read(2), and the rest may be another's.
 */
ssize_t sysroot_read(const char *path, char *text, size_t size)
{
	AUTO_CLOSE int fd = sysroot_open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = TEMP_FAILURE_RETRY(read(fd, text, size - 1));
	if (n < 0)
		return -errno;
	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	text[n] = '\0';
	return n;
}

int sysroot_number(const char *path, uint64_t *v)
{
	char text[32], *end;
	ssize_t n = sysroot_read(path, text, sizeof(text));

	if (n < 0)
		return n;
	if (*text < '0' || *text > '9')
		return -EBADMSG;
	errno = 0;
	*v = strtoull(text, &end, 10);
	return errno || *end ? -EBADMSG : 0;
}

/* In one piece: each write(2) is a command to the device. */
int sysroot_write(const char *path, const char *text)
{
	int fd = sysroot_open(path, O_WRONLY), err = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = write(fd, text, strlen(text));
	if (n < 0)
		err = -errno;
	else if (n != (ssize_t)strlen(text))
		err = -EIO;
	if (close(fd) && !err)
		err = -errno;
	return err;
}
