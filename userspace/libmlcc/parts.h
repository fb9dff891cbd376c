/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What upgrading (upgrade.c) has of loading (loader.c). */
#ifndef MLCC_PARTS_H
#define MLCC_PARTS_H

#include <stdbool.h>

#include "../../bpf/mlcc_bpf.h"

struct bpf_map;
struct bpf_object;

enum { LINK_PINS = 2 };		/* the first ones */

extern const char *const carrier_pins[];

/* One among them, and the first layout that has it. */
#define SOCKETS_PIN		"sockets"
#define MLCC_LAYOUT_SOCKETS	11U

#define PART_WAS	"was"		/* what an upgrade has begun to keep */

#define REFUSED	"the kernel refused the program: %s (MLCC_DEBUG=1 shows why)"

/*** What is there ***/

bool is_registered(void);
const char *registered_by(void);

/* Whether the carrier in @dir is registered by links. */
bool ops_need_links(int dir);
bool is_whole(int dir);

/* Takes away a part of @dir, and its pins. */
void carrier_part_remove(int dir, const char *name);

/*
 * Tells who announces phases by a handle of the carrier in @dir whether that is being replaced.  Under
 * the lock, as whoever else writes the settings has it, too.
 */
void carrier_replaced(int dir, bool is);

/*** What is to be there ***/

/*
 * Has the kernel verify all programs, for the carrier in @dir.  NULL, with errno: it refused them.
 */
struct bpf_object *object_load(int dir, bool link);

/* "mlcc" or "mlcc_plain". */
struct bpf_map *ops_of(const struct bpf_object *obj, const char *name);

/*
 * Makes operations ready for a link.  libbpf has no call for that alone: from 1.2 on it makes a link,
 * too, which the kernel refuses while others have the name.  Returns 0 or a negative error number.
 */
int ops_fill(struct bpf_map *ops);

int maps_fill(const struct bpf_object *obj, const struct mlcc_config *cfg,
	      const struct mlcc_profile *table, char *error);
int maps_pin(int dir, struct bpf_object *obj, char *error);
int ops_pin(int dir, const struct bpf_object *obj, char *error);

#endif /* MLCC_PARTS_H */
