/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A second profiler plugin, since NCCL loads one only: MLCC_CHAIN_PLUGIN gets every call, too.
 *
 * It is called by the version that NCCL calls us by, else by the newest older one that it has; v4 to
 * v7 differ in what they add at the end of a descriptor, and in the order of init's arguments.  v3
 * goes with v3 only.  It gets the events that its own mask asks for, and their parents.
 *
 * An event that it has taken has a pair, ours and its.  Collectives are used as parents after their
 * stop, so a stopped pair keeps its place until another needs it, or its communicator ends.  Where no
 * place is free the oldest event gives up its own and is counted: what NCCL still has to say of it
 * reaches nobody, as if it were never stopped.  Not passed on are operations that NCCL runs for another process (PXN):
 * their context is in that one.
 */
#ifndef MLCC_NCCL_CHAIN_H
#define MLCC_NCCL_CHAIN_H

#include <stdbool.h>

#include "abi.h"
#include "comm.h"
#include "handle.h"

/* Whether there is one: it stays from the first init that loads it. */
bool chain_on(void);

/* Loads it; what goes wrong is one warning. @own_finalize: whoever has it is this plugin. */
void chain_load(const char *name, int version, int (*own_finalize)(void *ctx));

/* What it asks for, in the bits of NCCL's @version. */
int chain_init(struct comm *c, const char *name, int rank, nccl_logger log);
void chain_finalize(struct comm *c);

/* Our handle in a pair; any other is as it is. */
handle_t chain_ours(handle_t h);

/* The pair of @ours and the chained plugin's event, or @ours alone.  @comm: or COMM_NONE */
handle_t chain_start(int version, uint32_t comm, handle_t ours, const struct descr *d);
void chain_record(handle_t h, int state, struct state_args *args);
void chain_stop(handle_t h);

uint64_t chain_lost(void);

#endif /* MLCC_NCCL_CHAIN_H */
