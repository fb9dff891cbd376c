/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MLCC_NCCL_SETTINGS_H
#define MLCC_NCCL_SETTINGS_H

#include <stdbool.h>

/* What the environment says; NCCL exports the lines of its nccl.conf, too. */
struct settings {
	const char *socket;		/* MLCC_SOCKET */
	const char *job;		/* MLCC_JOB, else MLCC_JOB_ID; NULL: this process's cgroup */
	const char *chain;		/* MLCC_CHAIN_PLUGIN; NULL: none */
	int mask;			/* MLCC_MASK; 0: no events */
	bool log;			/* MLCC_LOG: to standard error, too */
	bool shift;			/* MLCC_SHIFT: waits for the slots of a plan */
};

/* @version: that of the interface.  Warns of what cannot be, and goes on with the default. */
void settings_read(struct settings *s, int version);

#endif /* MLCC_NCCL_SETTINGS_H */
