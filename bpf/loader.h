/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gets the BPF carrier into the kernel, where it outlives who does it (pins.h), and out again.
 *
 * Functions that fail return a negative number and leave a line in @error, which has room for
 * MLCC_PINS_ERROR characters.
 */
#ifndef MLCC_LOADER_H
#define MLCC_LOADER_H

#include "mlcc_bpf.h"

/* All of it or nothing.  @table: MLCC_PROFILES_MAX profiles. */
int carrier_load(const struct mlcc_config *cfg, const struct mlcc_profile *table, char *error);

/* Takes away what there is, whole or not. */
int carrier_unload(char *error);

/* Opens one of the carrier's pins. */
int carrier_pin_open(const char *name, char *error);

#endif /* MLCC_LOADER_H */
