/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots: where a plan gave the job a time-shift, a phase that opens waits for its slot.  When, and
 * for how long, is include/mlcc/shift.h's to say: less than a period, twice a minute at most.
 *
 * All but slot_sleep() is for the holder of the edge lock of phase.c, and makes no system call.
 */
#ifndef MLCC_NCCL_SLOT_H
#define MLCC_NCCL_SLOT_H

#include <stdint.h>

struct mlcc_ring;

/*
 * A phase opens; @ring shows the job's plan, NULL: nobody plans.  Returns until when it has to wait,
 * by CLOCK_MONOTONIC; 0: it begins now.
 */
uint64_t slot_start(struct mlcc_ring *ring);
void slot_end(uint64_t now_ns);

/* In the thread whose phase it is, and without any lock. */
void slot_sleep(uint64_t until_ns);

#endif /* MLCC_NCCL_SLOT_H */
