// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Knobs that are files of debugfs, sysfs or configfs, with a number in each. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nic.h"

#define PATH_LEN	(DIR_LEN + NAME_LEN)

int number(const char *text, uint32_t *v)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 0) : ULONG_MAX;
	if (errno || n > UINT32_MAX || *end)
		return -EINVAL;
	*v = n;
	return 0;
}

static void path_of(const struct device *d, const struct knob *k, char path[PATH_LEN])
{
	snprintf(path, PATH_LEN, "%s/%s", d->dir, k->file ? k->file : k->name);
}

/* What to do about it, where that is known. */
static const char *hint(int err, const char *path)
{
	char text[80];

	if (err != -EPERM && err != -EACCES)
		return "";
	if (strstr(path, "/debug/") && sysroot_read("/sys/kernel/security/lockdown", text,
						 sizeof(text)) > 0 && !strstr(text, "[none]"))
		return ": kernel lockdown (Secure Boot) forbids debugfs";
	return ": root is needed";
}

static int file_fail(const char *path, const char *what, int err, struct err *e)
{
	return fail(e, err, "%s %s: %s%s", what, path, strerror(-err), hint(err, path));
}

int attr_read(const struct device *d, const struct knob *k, uint32_t *v, struct err *e)
{
	char path[PATH_LEN], text[32];
	ssize_t n;

	path_of(d, k, path);
	n = sysroot_read(path, text, sizeof(text));
	if (n < 0)
		return file_fail(path, "reading", n, e);
	if (number(text, v))
		return fail(e, -EBADMSG, "reading %s: '%s' is no number", path, text);
	return 0;
}

/* Without a line's end: mlx5 takes eleven bytes at most. */
int attr_write(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	char path[PATH_LEN], text[16];
	int err;

	path_of(d, k, path);
	snprintf(text, sizeof(text), "%u", v);
	err = sysroot_write(path, text);
	return err ? file_fail(path, "writing", err, e) : 0;
}

int attr_may_write(const struct device *d, const struct knob *k, struct err *e)
{
	char path[PATH_LEN];
	int fd;

	path_of(d, k, path);
	fd = sysroot_open(path, O_WRONLY);
	if (fd < 0)
		return file_fail(path, "opening", fd, e);
	close(fd);
	return 0;
}

struct walk {
	const struct backend *be;
	const struct attr_dirs *dirs;
	int (*found)(const struct device *d, void *arg);
	void *arg;
};

static int entry(const char *name, void *arg)
{
	const struct walk *w = arg;
	struct device d = { .be = w->be };

	snprintf(d.name, sizeof(d.name), "%s", name);
	snprintf(d.dir, sizeof(d.dir), "%s/%.*s/%s", w->dirs->base, NAME_LEN, name, w->dirs->leaf);
	if (w->dirs->pci)
		strcpy(d.pci, d.name);
	if (!sysroot_is_there(d.dir)) {
		if (!w->dirs->why)
			return 0;
		snprintf(d.why, sizeof(d.why), "%s", w->dirs->why);
	}
	return w->found(&d, w->arg);
}

int attr_each(const struct backend *be, const struct attr_dirs *dirs,
	      int (*found)(const struct device *d, void *arg), void *arg)
{
	struct walk w = { be, dirs, found, arg };

	return sysroot_list(dirs->base, entry, &w);
}
