/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The producer's side of include/mlcc/uapi/mlcc_ring.h.  Not thread-safe: the caller holds the
 * edge lock of phase.c.
 */
#ifndef MLCC_NCCL_RING_H
#define MLCC_NCCL_RING_H

#include <stdbool.h>
#include <stdint.h>

#define RING_SLOTS	256U

struct mlcc_ring;

/* Makes the memory and the eventfd, once in a process's life.  0, or a negative error number. */
int ring_make(void);

/* The memfd, the eventfd; they stay ours. */
void ring_fds(int fds[2]);

/* The memory; NULL: there is none yet. */
struct mlcc_ring *ring_map(void);

/* @type: enum mlcc_ring_type; @bytes: to 2^48 - 1; @now_ns: CLOCK_MONOTONIC.  Full: counted. */
void ring_put(uint16_t type, uint32_t job, uint64_t bytes, uint64_t now_ns);

/* One write to the eventfd, which never waits. */
void ring_wake(void);

#endif /* MLCC_NCCL_RING_H */
