/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network plugin that does the work: MLCC_NET_CHAIN, a path, or a name as NCCL_NET_PLUGIN takes
 * it; without it libnccl-net.so, as NCCL itself.
 *
 * NCCL takes the newest interface whose symbol it finds, so only those may be found that the
 * chained plugin has.  All symbols are indirect functions (STT_GNU_IFUNC), which dlsym() resolves
 * when it is asked: to our table, to NULL, or to what the chained plugin has under that name, where
 * it is also a tuner, a profiler, or more.
 *
 * Where nothing can be chained there is one of each version whose init says why, and fails.
 */
#ifndef MLCC_NET_CHAIN_H
#define MLCC_NET_CHAIN_H

#include "abi.h"

/* What the chained plugin has under this name, or NULL. */
void *chain_symbol(const char *name);

/* Its table of this version, or NULL. */
const struct net *chain_net(int version);

/* Why there is none of any version; NULL: there is. */
const char *chain_failed(void);

#endif /* MLCC_NET_CHAIN_H */
