// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/json.h"
#include "saved.h"

#define STATE_VERSION	1
#define STATE_MAX	32768
#define LOCK_LEFT_MS	1000	/* within which a program that was started runs */

struct saved *saved_find(struct state *s, const char *knob)
{
	for (unsigned int i = 0; i < s->count; i++)
		if (!strcmp(s->saved[i].knob, knob))
			return &s->saved[i];
	return NULL;
}

struct saved *saved_add(struct state *s, const char *knob, uint32_t value)
{
	struct saved *saved = saved_find(s, knob);

	if (saved && value >= saved->low && value <= saved->high)
		return saved;
	if (!saved && s->count == STATE_KNOBS)
		return NULL;
	if (!saved)
		saved = &s->saved[s->count++];
	*saved = (struct saved){ .value = value, .low = value, .high = value };
	snprintf(saved->knob, sizeof(saved->knob), "%s", knob);
	return saved;
}

/* The order stays: it is that of the writes. */
void saved_drop(struct state *s, struct saved *saved)
{
	memmove(saved, saved + 1, (char *)&s->saved[s->count] - (char *)(saved + 1));
	s->count--;
}

void saved_cover(struct saved *saved, uint32_t v)
{
	if (v < saved->low)
		saved->low = v;
	if (v > saved->high)
		saved->high = v;
}

static bool saved_from_json(struct state *s, const char *knob, struct json_object *o)
{
	struct saved *saved;
	uint32_t value;

	if (strlen(knob) >= NAME_LEN || !read_u32(o, "value", &value))
		return false;
	saved = saved_add(s, knob, value);
	if (!saved || !read_u32(o, "low", &saved->low) || !read_u32(o, "high", &saved->high))
		return false;
	saved->followed = read_u32(o, "base", &saved->base);
	return true;
}

static int from_json(const struct device *d, struct json_object *o, struct state *s)
{
	struct json_object *knobs;
	uint32_t version;

	if (!read_u32(o, "version", &version) || version != STATE_VERSION ||
	    !json_object_object_get_ex(o, "knobs", &knobs) ||
	    !json_object_is_type(knobs, json_type_object))
		return -EINVAL;
	json_object_object_foreach(knobs, key, value)
		if (!knob_find(d->be, key) || !saved_from_json(s, key, value))
			return -EINVAL;
	return 0;
}

static int state_parse(const struct device *d, const char *text, struct state *s)
{
	AUTO_PUT struct json_object *o = json_tokener_parse(text);

	return o ? from_json(d, o, s) : -EINVAL;
}

int saved_load(const struct device *d, struct state *s, struct err *e)
{
	char name[2 * NAME_LEN], path[DIR_LEN];
	static char text[STATE_MAX];
	ssize_t n;

	s->count = 0;
	device_file(d, "", name);
	snprintf(path, sizeof(path), STATE_DIR "/%s", name);
	n = sysroot_read(path, text, sizeof(text));
	if (n == -ENOENT)
		return 0;
	if (n < 0)
		return fail(e, n, "%s: %s", path, strerror(-n));
	if (!state_parse(d, text, s))
		return 0;
	return fail(e, -EBADMSG, "%s cannot be understood; look what is in it, put it back by hand, and remove it",
		    path);
}

static struct json_object *saved_to_json(const struct device *d, const struct state *s)
{
	struct json_object *o = json_object_new_object(), *knobs = json_object_new_object();

	put_u64(o, "version", STATE_VERSION);
	put_string(o, "device", d->name);
	for (unsigned int i = 0; i < s->count; i++) {
		struct json_object *k = json_object_new_object();
		const struct saved *saved = &s->saved[i];

		put_u64(k, "value", saved->value);
		put_u64(k, "low", saved->low);
		put_u64(k, "high", saved->high);
		if (saved->followed)
			put_u64(k, "base", saved->base);
		json_object_object_add(knobs, saved->knob, k);
	}
	json_object_object_add(o, "knobs", knobs);
	return o;
}

static int saved_replace(int dir, const struct device *d, const struct state *s)
{
	AUTO_PUT struct json_object *o = NULL;
	char name[2 * NAME_LEN];

	device_file(d, "", name);
	if (!s->count) {
		if (unlinkat(dir, name, 0) && errno != ENOENT)
			return -errno;
		return fsync(dir) ? -errno : 0;
	}
	o = saved_to_json(d, s);
	return rundir_replace(dir, name,
			      json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), true);
}

int saved_store(const struct device *d, const struct state *s, struct err *e)
{
	AUTO_CLOSE int dir = rundir_open(STATE_DIR, true, e);
	int err;

	if (dir < 0)
		return dir;
	err = saved_replace(dir, d, s);
	return err ? fail(e, err, "cannot write to " STATE_DIR ": %s", strerror(-err)) : 0;
}

bool saved_next(DIR *dir, char device[2 * NAME_LEN])
{
	const char *name;

	while ((name = sysroot_next(dir))) {
		size_t len = strlen(name);

		if (len >= 2 * NAME_LEN || (len > 5 && !strcmp(name + len - 5, ".lock")))
			continue;
		strcpy(device, name);
		for (char *s = device; *s; s++)
			if (*s == '+')
				*s = '/';
		return true;
	}
	return false;
}

/* The name of the hardware: what several drivers' devices have in common. */
static void lock_name(const struct device *d, char name[2 * NAME_LEN])
{
	if (!*d->pci) {
		device_file(d, ".lock", name);
		return;
	}
	snprintf(name, 2 * NAME_LEN, "%s.lock", d->pci);
}

/* A line of its own, "": nobody says. */
static void lock_holder(int fd, char who[80])
{
	ssize_t n = pread(fd, who, 79, 0);

	who[n > 0 ? n : 0] = '\0';
	who[strcspn(who, "\n")] = '\0';
}

static int lock_busy(int fd, const struct device *d, struct err *e)
{
	char who[80];

	lock_holder(fd, who);
	return fail(e, -EBUSY, "%s:%s is another tuner's: %s", d->be->name, d->name,
		    *who ? who : "it does not say which");
}

/* A program that a tuner was about to start when it was killed has its lock until that runs. */
static int lock_take(int fd)
{
	char who[80];
	int pid;

	for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB); ms += 10) {
		lock_holder(fd, who);
		if (ms >= LOCK_LEFT_MS || sscanf(who, "process %d ", &pid) != 1 || !kill(pid, 0) ||
		    errno != ESRCH)
			return -EBUSY;
		usleep(10000);
	}
	return 0;
}

/*
 * The lock is the kernel's, on the open file, so it ends with the process however that ends.  The
 * file stays: one that is removed and made anew would be two locks.
 */
int device_lock(const struct device *d, struct err *e)
{
	AUTO_CLOSE int dir = rundir_open(STATE_DIR, true, e);
	char name[2 * NAME_LEN];
	int fd, err;

	if (dir < 0)
		return dir;
	lock_name(d, name);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(e, -errno, STATE_DIR "/%s: %s", name, strerror(errno));
	if (lock_take(fd)) {
		err = lock_busy(fd, d, e);
		close(fd);
		return err;
	}
	if (ftruncate(fd, 0) || dprintf(fd, "process %d (%s)\n", getpid(),
					program_invocation_short_name) < 0)
		note(5, "cannot write down who has %s", name);
	return fd;
}

int device_hold(const struct device *d, struct err *e)
{
	int fd = device_lock(d, e);

	return fd < 0 ? fd : 0;
}
