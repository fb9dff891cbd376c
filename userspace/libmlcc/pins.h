/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The directory on a bpf file system below which the carrier and the tagger pin what outlives them:
 * /sys/fs/bpf/mlcc, or what the environment's MLCC_PIN_DIR says.
 *
 * It is root's, and nobody else may look into it.  One with another owner or mode is refused and
 * left alone; so is a symbolic link in its place.  Functions that fail return a negative error
 * number and leave a line in @error, which has room for MLCC_ERROR_LEN characters.
 */
#ifndef MLCC_PINS_H
#define MLCC_PINS_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdbool.h>

#include "../common/auto.h"
#include "internal.h"

#define MLCC_PINS_PATH	64

/* Parts of it: versions of the carrier that still have flows, and one that is to take the place. */
#define MLCC_OLD_MAX	8
#define MLCC_OLD_NAME	8
#define MLCC_PART_NEW	"new"

/* Name of the part of the older version that is @n-th, from 0 on. */
const char *mlcc_old_name(char name[MLCC_OLD_NAME], unsigned int n);

/* Opens it.  -ENODEV: there is no bpf file system, -ENOENT: no such directory on it. */
int mlcc_pins_open(char *error);

/*
 * Opens it and waits until nobody else has it; closing gives it back.  With @make it is made if it
 * is missing, and the file system of the default is mounted.  With MLCC_PIN_DIR nothing is mounted,
 * even if it says the same: who sets it has seen to that.  So units and containers do, in whose
 * mount namespaces a mount, and all pins with it, would end with the last process.
 */
int mlcc_pins_lock(bool make, char *error);

/* Opens a part of it, and with @make makes it.  -ENOENT: there is none. */
int mlcc_pins_part(int dir, const char *name, bool make, char *error);

/* What libbpf is to call the pin @name in @dir. */
const char *mlcc_pins_path(char path[MLCC_PINS_PATH], int dir, const char *name);

/* Opens the pin @name in @dir.  A descriptor, or a negative error number, also in errno. */
static inline int mlcc_pins_get(int dir, const char *name)
{
	char path[MLCC_PINS_PATH];

	return bpf_obj_get(mlcc_pins_path(path, dir, name));
}

/* What the kernel says of the map @fd.  False, with errno: nothing, and all is 0. */
bool mlcc_map_info(int fd, struct bpf_map_info *info);

/*
 * Reads the only value of the map "settings", if it has @size bytes: the kernel copies as many as
 * there are.  0, or a negative error number; -EPROTO: it has not.
 */
int mlcc_settings_read(int fd, void *to, size_t size);

/*
 * Has @map, which is yet to be loaded, be the "sockets" of what is loaded already, of the carrier in
 * @dir or the tagger below it: what the tagger has given each socket.  Where there is none that is
 * alike it is a map of its own.
 */
void mlcc_sockets_share(int dir, struct bpf_map *map);

/* Pins the program @fd for a moment, where the directory is or would be, and reads it back. */
int mlcc_pins_try(int fd, char *error);

/* How many of @names, of which NULL is the last, are there. */
int mlcc_pins_count(int dir, const char *const *names);

/* Takes those away that are there. */
int mlcc_pins_remove(int dir, const char *const *names, char *error);

/* Removes the directory unless something is left in it; whether it has done so. */
bool mlcc_pins_drop(void);

/* For libbpf_set_print(): what it says is shown with MLCC_DEBUG=1 only. */
int mlcc_libbpf_print(enum libbpf_print_level level, const char *fmt, va_list ap);

#endif /* MLCC_PINS_H */
