/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mlcc's profiles by their names; and a job on one host, whichever carrier keeps it: how many phases
 * its tracker has seen.
 */
#ifndef MLCC_SIM_TRACKER_H
#define MLCC_SIM_TRACKER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mlcc_job;
struct mlcc_profile;

/* NULL: there is none. */
const struct mlcc_profile *profile_named(const char *name);

/* The tracker counts from a second on: 0 would stand for "never". */
#define TRACKER_FIRST_US	1000000U

struct mlcc_job *tracker_new(void);

uint32_t tracker_phases(const struct mlcc_job *j);

#ifdef __cplusplus
}
#endif

#endif /* MLCC_SIM_TRACKER_H */
