/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of pairs of handles, ours and the chained plugin's; see chain.h. */
#ifndef MLCC_NCCL_PAIR_H
#define MLCC_NCCL_PAIR_H

#include <stdbool.h>

#include "handle.h"

/* 0: all places are those of open events. */
handle_t pair_make(handle_t ours, void *theirs);

/* false: not a pair, or of an earlier turn. */
bool pair_get(handle_t h, handle_t *ours, void **theirs);

/* Its place may be taken by another from now on.  Returns false if it was stopped already. */
bool pair_stop(handle_t h);

uint64_t pair_lost(void);

#endif /* MLCC_NCCL_PAIR_H */
