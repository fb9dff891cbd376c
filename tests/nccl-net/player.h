/* SPDX-License-Identifier: GPL-2.0 */
/* Plays NCCL to a network plugin of any version, and the clock. */
#ifndef TEST_PLAYER_H
#define TEST_PLAYER_H

#include <stdint.h>

#include "../../userspace/nccl-net/abi.h"
#include "chained.h"

struct player {
	void *lib;
	const struct net *net;
	int version;
	void *ctx;
};

/* What the plugin has said last, as a warning and as a remark. */
extern char player_warning[512], player_remark[512];

/* The table of @version, or with a member net that is NULL. */
struct player player_open(const char *path, int version);
int player_init(struct player *p);
int player_connect(struct player *p, int dev, void *handle, void **comm, void **offload);
int player_isend(struct player *p, void *comm, void *data, size_t size, void **request);
int player_isend_of_group(struct player *p, void *comm, void *data, size_t size, void **request);

/* CLOCK_MONOTONIC of this process, which stands still otherwise. */
extern uint64_t clock_ns;

#endif /* TEST_PLAYER_H */
