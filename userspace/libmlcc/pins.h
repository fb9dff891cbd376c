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
#include "error.h"

#define MLCC_PINS_PATH	64

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
