/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The jobs' files: one of JSON for each, named by the id, replaced by rename.
 *
 * What has been counted is in them as it was when mlccd ended, or when a carrier lost some of it:
 * where mlccd is killed, and the carrier unloaded before the next one starts, some of it is lost.
 */
#ifndef MLCCD_STATE_H
#define MLCCD_STATE_H

#include "../common/err.h"
#include "job.h"

/* Makes the directory if there is none.  Returns a descriptor of it. */
int state_open(const char *dir, struct err *e);

/* It and all files in it are that user's from now on. */
int state_give(int dir, uid_t uid, gid_t gid, struct err *e);

int state_write(int dir, const struct job *job, struct err *e);
void state_remove(int dir, uint32_t id);

/* Calls @each with a job that it has to free() or keep. */
int state_each(int dir, void (*each)(void *arg, struct job *job), void *arg);

#endif /* MLCCD_STATE_H */
