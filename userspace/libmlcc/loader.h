/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gets the BPF carrier into the kernel, where it outlives who does it (pins.h), and out again.
 *
 * Functions that fail return a negative number and leave a line in @error, which has room for
 * MLCC_ERROR_LEN characters.
 */
#ifndef MLCC_LOADER_H
#define MLCC_LOADER_H

#include "../../bpf/mlcc_bpf.h"

/* All of it or nothing.  @table: MLCC_PROFILES_MAX profiles. */
int carrier_load(const struct mlcc_config *cfg, const struct mlcc_profile *table, char *error);

typedef void carrier_change(struct mlcc_config *cfg, struct mlcc_profile *table, void *arg);

/*
 * Puts this version in the place of the one that is loaded, under flows that run: they keep what they
 * have, new ones get this one.  Jobs, profiles and settings are taken over; @change may then change
 * the latter.  Done whole or not at all; one that was killed is ended or undone by the next.
 */
int carrier_upgrade(carrier_change *change, void *arg, char *error);

/* Takes away what there is, whole or not. */
int loader_unload(char *error);

/* Opens one of the carrier's pins. */
int carrier_pin_open(const char *name, char *error);

#endif /* MLCC_LOADER_H */
