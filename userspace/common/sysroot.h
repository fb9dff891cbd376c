/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Files of the system.
 *
 * Functions that return int return 0 or a negative error number, with a line for people in
 * @e->text.
 */
#ifndef MLCC_SYSROOT_H
#define MLCC_SYSROOT_H

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

#define NAME_LEN	64
#define DIR_LEN		200
#define COUNT(a)	(sizeof(a) / sizeof(*(a)))

/* sysroot.c: files below the root directory that --sysroot names, and never above it */
int sysroot_set(const char *dir, struct err *e);
int sysroot_open(const char *path, int flags);	/* a descriptor or a negative error number */
/* Who may not read a file asks @open for it: a descriptor or a negative error number. */
void sysroot_else(int (*open)(const char *path));
bool sysroot_is_there(const char *path);
/* The last part of what the symbolic link at @path points to. */
int sysroot_link(const char *path, char name[NAME_LEN]);
/*
 * A directory, to be closed, or NULL: it cannot be read.  @err: NULL, or why not; 0: it is not
 * there, so it is an empty one.
 */
DIR *sysroot_dir(const char *path, int *err);
/* The next name in it that does not begin with a dot; NULL: none, as of a directory that is NULL. */
const char *sysroot_next(DIR *dir);
/* Whether there is such a directory, and something in it. */
bool sysroot_has_entries(const char *dir);
/* The whole file, at most @size - 1 bytes, without the line's end: how many, or an error. */
ssize_t sysroot_read(const char *path, char *text, size_t size);
/* The number that a file has, and nothing else: 0 or an error, -EBADMSG if it has none. */
int sysroot_number(const char *path, uint64_t *v);
int sysroot_write(const char *path, const char *text);
/* Whether @err says that the device is gone or in a reset. */
bool device_is_away(int err);

/* rundir.c: folders below /run/mlcc that only root writes to, and files in them */
/* A descriptor; @make: if it is not there, nobody else may look into it. */
int rundir_open(const char *dir, bool make, struct err *e);
/* A whole file or none; @sync: it is on its disk, under its name, when this returns. */
int rundir_replace(int dir, const char *name, const char *text, bool sync);

#endif /* MLCC_SYSROOT_H */
