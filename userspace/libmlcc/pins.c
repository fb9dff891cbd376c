// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pins.h"

#define BPF_FS		"/sys/fs/bpf"
#define DEFAULT_DIR	BPF_FS "/mlcc"
#define MOUNT		"mount -t bpf bpf " BPF_FS
#define MODE		0700
#define MODE_BITS	0777	/* not the sticky bit, which the root of a bpf file system has */

/*
 * Opened by root alone, so that nobody else can keep who mounts waiting, and there in every network
 * namespace.
 */
#define MOUNT_LOCK	"/proc/sys/kernel/cad_pid"

struct place {
	char dir[PATH_MAX], parent[PATH_MAX];
	bool is_set;			/* by the environment */
};

/* Without slashes at the end: with them a symbolic link would be followed. */
static int place_find(struct place *p, char *error)
{
	const char *set = secure_getenv("MLCC_PIN_DIR");
	const char *dir = set ? set : DEFAULT_DIR;
	size_t len = strlen(dir);

	while (len && dir[len - 1] == '/')
		len--;
	if (*dir != '/' || !len || len >= PATH_MAX)
		return mlcc_fail(error, -EINVAL, "MLCC_PIN_DIR '%.99s': wanted an absolute path",
				 dir);
	p->is_set = set;
	memcpy(p->dir, dir, len);
	p->dir[len] = '\0';
	strcpy(p->parent, p->dir);
	strrchr(p->parent, '/')[1] = '\0';
	return 0;
}

const char *mlcc_old_name(char name[MLCC_OLD_NAME], unsigned int n)
{
	snprintf(name, MLCC_OLD_NAME, "old%u", n % MLCC_OLD_MAX + 1);
	return name;
}

static bool is_bpf_fs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

/* Not a private mount: where mounts here are others', too, they are to find the pins. */
static int fs_mount(char *error)
{
	AUTO_CLOSE int lock = open(MOUNT_LOCK, O_RDONLY | O_CLOEXEC);

	if (lock >= 0)
		flock(lock, LOCK_EX);
	if (is_bpf_fs(BPF_FS) ||
	    !mount("bpf", BPF_FS, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return 0;
	return mlcc_fail(error, -ENODEV,
			 "no bpf file system at %s, and it cannot be mounted (%s): '%s', %s",
			 BPF_FS, strerror(errno), MOUNT,
			 "or set MLCC_PIN_DIR to a directory on one");
}

static int fs_missing(const struct place *p, char *error)
{
	if (p->is_set)
		return mlcc_fail(error, -ENODEV, "MLCC_PIN_DIR '%.99s': is on no bpf file system",
				 p->dir);
	return mlcc_fail(error, -ENODEV, "no bpf file system at " BPF_FS);
}

/* What others may write or look into, or have made, is not ours. */
static int dir_check(int fd, const char *path, char *error)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return mlcc_fail(error, -errno, "%.99s: %s", path, strerror(errno));
	if ((unsigned long)fs.f_type != BPF_FS_MAGIC)
		return mlcc_fail(error, -ENODEV, "%.99s: is on no bpf file system", path);
	if (st.st_uid || (st.st_mode & MODE_BITS) != MODE)
		return mlcc_fail(error, -EPERM,
				 "%.99s: has owner %u and mode %04o, not 0 and %04o: left alone",
				 path, st.st_uid, st.st_mode & MODE_BITS, MODE);
	return 0;
}

/* @path is what messages call it. */
static int pins_dir_open(int at, const char *name, const char *path, char *error)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return mlcc_fail(error, -ENOTDIR, "%.99s: is no directory: left alone", path);
	if (fd < 0)
		return mlcc_fail(error, -errno, "%.99s: %s", path, strerror(errno));
	err = dir_check(fd, path, error);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int place_open(const struct place *p, char *error)
{
	int fd = pins_dir_open(AT_FDCWD, p->dir, p->dir, error);

	return fd < 0 && fd != -EPERM && !is_bpf_fs(p->parent) ? fs_missing(p, error) : fd;
}

static int pins_place_make(const struct place *p, char *error)
{
	int err = p->is_set || is_bpf_fs(p->parent) ? 0 : fs_mount(error), fd;

	if (err)
		return err;
	fd = place_open(p, error);
	if (fd == -ENODEV)
		strncat(error, "; '" MOUNT "' makes the usual one",
			MLCC_ERROR_LEN - strlen(error) - 1);
	if (fd != -ENOENT)
		return fd;
	if (mkdir(p->dir, MODE) && errno != EEXIST)
		return mlcc_fail(error, -errno, "%.99s: %s", p->dir, strerror(errno));
	return place_open(p, error);
}

static bool is_still(int fd, const char *dir)
{
	struct stat held, now;

	return !fstat(fd, &held) && !lstat(dir, &now) && held.st_ino == now.st_ino &&
	       held.st_dev == now.st_dev;
}

int mlcc_pins_open(char *error)
{
	struct place p;
	int err = place_find(&p, error);

	return err ? err : place_open(&p, error);
}

/* Who had it before may have removed the directory. */
int mlcc_pins_lock(bool make, char *error)
{
	struct place p;
	int err = place_find(&p, error), fd;

	while (!err) {
		fd = make ? pins_place_make(&p, error) : place_open(&p, error);
		if (fd == -ENOENT && make)
			continue;
		if (fd < 0)
			return fd;
		err = mlcc_lock_wait(fd, LOCK_EX, MLCC_FOR_EVER);
		if (err == -EAGAIN)
			mlcc_fail(error, err, "somebody is changing the carrier or the tagger: try again");
		else if (err)
			mlcc_fail(error, err, "%.99s: %s", p.dir, strerror(-err));
		else if (is_still(fd, p.dir))
			return fd;
		close(fd);
	}
	return err;
}

int mlcc_pins_part(int dir, const char *name, bool make, char *error)
{
	struct place p;
	int err = place_find(&p, error);

	if (err)
		return err;
	strncat(p.dir, "/", PATH_MAX - strlen(p.dir) - 1);
	strncat(p.dir, name, PATH_MAX - strlen(p.dir) - 1);
	if (make && mkdirat(dir, name, MODE) && errno != EEXIST)
		return mlcc_fail(error, -errno, "%.99s: %s", p.dir, strerror(errno));
	return pins_dir_open(dir, name, p.dir, error);
}

const char *mlcc_pins_path(char path[MLCC_PINS_PATH], int dir, const char *name)
{
	snprintf(path, MLCC_PINS_PATH, "/proc/self/fd/%d/%s", dir, name);
	return path;
}

bool mlcc_map_info(int fd, struct bpf_map_info *info)
{
	__u32 len = sizeof(*info);

	memset(info, 0, len);
	return !bpf_obj_get_info_by_fd(fd, info, &len);
}

int mlcc_settings_read(int fd, void *to, size_t size)
{
	struct bpf_map_info info;
	unsigned int zero = 0;

	if (!mlcc_map_info(fd, &info))
		return -errno;
	if (info.value_size != size)
		return -EPROTO;
	return bpf_map_lookup_elem(fd, &zero, to) ? -errno : 0;
}

static int sockets_get(int dir, const char *name, const struct bpf_map *map)
{
	struct bpf_map_info info;
	int fd = mlcc_pins_get(dir, name);

	if (fd < 0)
		return fd;
	if (mlcc_map_info(fd, &info) && info.type == BPF_MAP_TYPE_SK_STORAGE &&
	    info.value_size == bpf_map__value_size(map))
		return fd;
	close(fd);
	return -EPROTO;
}

void mlcc_sockets_share(int dir, struct bpf_map *map)
{
	AUTO_CLOSE int fd = sockets_get(dir, "sockets", map);

	if (fd < 0)
		fd = sockets_get(dir, "tagger/sockets", map);
	if (fd >= 0)
		bpf_map__reuse_fd(map, fd);
}

static unsigned int program_id(int fd)
{
	struct bpf_prog_info info = { };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/* Under a name of its own, and with no signal in between. */
static int pin_try(int dir, int fd, char *error)
{
	char name[32], path[MLCC_PINS_PATH];
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	snprintf(name, sizeof(name), "mlcc_try_%d", getpid());
	if (bpf_obj_pin(fd, mlcc_pins_path(path, dir, name))) {
		err = mlcc_fail(error, -errno, "nothing can be pinned: %s", strerror(errno));
	} else {
		AUTO_CLOSE int got = bpf_obj_get(path);

		if (got < 0 || program_id(got) != program_id(fd))
			err = mlcc_fail(error, -EIO, "what is pinned cannot be read back");
		unlinkat(dir, name, 0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int mlcc_pins_try(int fd, char *error)
{
	AUTO_CLOSE int dir = mlcc_pins_lock(false, error);
	struct place p;

	if (dir == -ENOENT && !place_find(&p, error)) {
		dir = open(p.parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return mlcc_fail(error, -errno, "%.99s: %s", p.parent, strerror(errno));
	}
	return dir < 0 ? dir : pin_try(dir, fd, error);
}

int mlcc_pins_count(int dir, const char *const *names)
{
	int n = 0;

	for (; *names; names++)
		n += !faccessat(dir, *names, F_OK, AT_SYMLINK_NOFOLLOW);
	return n;
}

int mlcc_pins_remove(int dir, const char *const *names, char *error)
{
	int err = 0;

	for (; *names; names++)
		if (unlinkat(dir, *names, 0) && errno != ENOENT)
			err = mlcc_fail(error, -errno, "cannot remove the pin '%s': %s", *names,
					strerror(errno));
	return err;
}

bool mlcc_pins_drop(void)
{
	char ignored[MLCC_ERROR_LEN];
	struct place p;

	return !place_find(&p, ignored) && !rmdir(p.dir);
}

int mlcc_libbpf_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return getenv("MLCC_DEBUG") ? vfprintf(stderr, fmt, ap) : 0;
}
