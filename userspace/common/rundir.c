// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "sysroot.h"

#define RUN_DIR		"/run/mlcc"

static int make_dir(const char *path, mode_t mode)
{
	AUTO_CLOSE int fd = -1;
	char parent[DIR_LEN];
	char *leaf;

	snprintf(parent, sizeof(parent), "%s", path);
	leaf = strrchr(parent, '/');
	*leaf++ = '\0';
	fd = sysroot_open(*parent ? parent : "/", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	return mkdirat(fd, leaf, mode) && errno != EEXIST ? -errno : 0;
}

/* Who else could write there could have us write to the NIC what they like. */
static int rundir_check(int fd, const char *dir, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail(e, -errno, "%s: %s", dir, strerror(errno));
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & 022)
		return fail(e, -EPERM, "%s: it has to be root's, and nobody else's to write", dir);
	return 0;
}

int rundir_open(const char *dir, bool make, struct err *e)
{
	int fd = -ENOENT, err = 0;

	if (make) {
		err = make_dir(RUN_DIR, 0755);
		err = err ? err : make_dir(dir, 0700);
	}
	if (!err)
		fd = sysroot_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (err || fd < 0)
		return fail(e, err ? err : fd, "%s: %s", dir, strerror(err ? -err : -fd));
	err = rundir_check(fd, dir, e);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int rundir_write_all(int fd, const char *text)
{
	size_t len = strlen(text);
	ssize_t n;

	while (len) {
		n = TEMP_FAILURE_RETRY(write(fd, text, len));
		if (n < 0)
			return -errno;
		text += n;
		len -= n;
	}
	return 0;
}

static int write_new(int dir, const char *name, const char *text, bool sync)
{
	AUTO_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
				   0600);
	int err;

	if (fd < 0)
		return -errno;
	err = rundir_write_all(fd, text);
	return !err && sync && fsync(fd) ? -errno : err;
}

/* On its disk, then under its name, then the name on its disk. */
int rundir_replace(int dir, const char *name, const char *text, bool sync)
{
	char tmp[2 * NAME_LEN + 8];
	int err;

	snprintf(tmp, sizeof(tmp), ".%s.new", name);
	err = write_new(dir, tmp, text, sync);
	if (!err && (renameat(dir, tmp, dir, name) || (sync && fsync(dir))))
		err = -errno;
	if (err)
		unlinkat(dir, tmp, 0);
	return err;
}
