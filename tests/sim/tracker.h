/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A job on one host, whichever carrier keeps it: how many phases its tracker has seen, and phases
 * that are announced to it, as userspace does (include/mlcc/hint.h).  Times are us of the
 * simulation.
 */
#ifndef MLCC_SIM_TRACKER_H
#define MLCC_SIM_TRACKER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mlcc_job;

/* The tracker counts from a second on: 0 would stand for "never". */
#define TRACKER_FIRST_US	1000000U

struct mlcc_job *tracker_new(void);

uint32_t tracker_phases(const struct mlcc_job *j);
void tracker_begin(struct mlcc_job *j, uint64_t bytes, uint64_t now);
void tracker_end(struct mlcc_job *j);

#ifdef __cplusplus
}
#endif

#endif /* MLCC_SIM_TRACKER_H */
