// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One version of the carrier takes the place of another under flows that run, in this order:
 *
 *	1. its programs are verified, its maps filled from those of the present one, which says from
 *	   then on to who announces a phase that the other one is to be told, too
 *	2. its pins are made in the part "new", and "was" gets those of the present one a second time
 *	3. link_mlcc_plain is given the new operations, then link_mlcc
 *	4. "was" becomes one of "old1" ..., and the pins in "new" replace the present ones
 *
 * A link has the old operations or the new ones, never none.  What flows have they keep, maps and
 * programs with it.  The kernel counts the sockets that have them: "old1" goes when it is none.
 *
 * Killed before the end of 3. it is undone by who comes next, after that it is completed: link_mlcc
 * says which.  Its operations leave "new" last, so that they can be compared until all is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "loader.h"
#include "parts.h"
#include "pins.h"

#define INSTEAD		"'mlcc-bpf unload', then 'mlcc-bpf load'"

#ifndef BPF_F_REPLACE
#define BPF_F_REPLACE	(1U << 2)
#endif

static const char *const *const maps_and_programs = carrier_pins + LINK_PINS;

/*** Parts of the pin directory ***/

/* What the kernel says of the map @name; @info->id is 0 if there is none. */
static void upgrade_map_info(int dir, const char *name, struct bpf_map_info *info)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, name);

	mlcc_map_info(fd, info);
}

/*
 * Whether sockets have the operations.  What the kernel shows of these begins with the number of all
 * that hold them, but for pins and descriptors; no link does any more.
 */
static bool ops_are_used(int dir, const char *name)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, name);
	unsigned int zero = 0, users = 1;
	AUTO_FREE void *value = NULL;
	struct bpf_map_info info;

	if (fd < 0)
		return false;
	mlcc_map_info(fd, &info);
	value = malloc(info.value_size + sizeof(users));
	if (value && !bpf_map_lookup_elem(fd, &zero, value))
		memcpy(&users, value, sizeof(users));
	return users;
}

static bool old_is_used(int dir, const char *name)
{
	char ignored[MLCC_ERROR_LEN];
	AUTO_CLOSE int part = mlcc_pins_part(dir, name, false, ignored);

	return part >= 0 && (ops_are_used(part, "mlcc") || ops_are_used(part, "mlcc_plain"));
}

static void old_remove_unused(int dir)
{
	char name[MLCC_OLD_NAME];

	for (unsigned int n = 0; n < MLCC_OLD_MAX; n++)
		if (!old_is_used(dir, mlcc_old_name(name, n)))
			carrier_part_remove(dir, name);
}

/* The first one that is not there. */
static int old_free(int dir, char name[MLCC_OLD_NAME], char *error)
{
	for (unsigned int n = 0; n < MLCC_OLD_MAX; n++)
		if (faccessat(dir, mlcc_old_name(name, n), F_OK, AT_SYMLINK_NOFOLLOW))
			return 0;
	return mlcc_fail(error, -1, "%u older versions still have flows: end some of them, or %s",
			 MLCC_OLD_MAX, INSTEAD);
}

/*** Links ***/

/* The kernel's struct bpf_link_info as far as it is wanted; Debian 12's has no struct_ops. */
struct link_info {
	__u32 type, id, prog_id, unused;
	__u32 map_id;
	__u32 others[32];
};

/* Id of the operations that the link @name has; 0: there is none. */
static __u32 link_map_id(int dir, const char *name)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, name);
	struct link_info info = { };
	__u32 len = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.map_id;
}

static __u32 map_id(int dir, const char *name)
{
	struct bpf_map_info info;

	upgrade_map_info(dir, name, &info);
	return info.id;
}

/*
 * Gives the link of @name those operations that are pinned in @to, if it has those in @from.  libbpf
 * before 1.2 knows programs only, but the descriptors of maps are in the same place.
 */
static int link_change(int dir, const char *name, int from, int to)
{
	AUTO_CLOSE int old = mlcc_pins_get(from, name), new = mlcc_pins_get(to, name), link = -1;
	LIBBPF_OPTS(bpf_link_update_opts, opts, .flags = BPF_F_REPLACE, .old_prog_fd = old);
	char link_name[32];

	snprintf(link_name, sizeof(link_name), "link_%s", name);
	link = mlcc_pins_get(dir, link_name);
	return old >= 0 && new >= 0 && link >= 0 ? bpf_link_update(link, new, &opts) : -ENOENT;
}

/* Both or neither. */
static int links_change(int dir, int new, char *error)
{
	int err = link_change(dir, "mlcc_plain", dir, new), back;

	if (err)
		return mlcc_fail(error, -1, "cannot replace 'mlcc_plain': %s", strerror(-err));
	err = link_change(dir, "mlcc", dir, new);
	if (!err)
		return 0;
	back = link_change(dir, "mlcc_plain", new, dir);
	if (back)
		return mlcc_fail(error, -1,
				 "cannot replace 'mlcc' (%s), nor put 'mlcc_plain' back (%s): %s",
				 strerror(-err), strerror(-back), INSTEAD);
	return mlcc_fail(error, -1, "cannot replace 'mlcc': %s", strerror(-err));
}

/*** Pins ***/

/* A second name, in the part @was, for what is pinned. */
static int was_link(int dir, char *error)
{
	AUTO_CLOSE int was = mlcc_pins_part(dir, PART_WAS, true, error);

	if (was < 0)
		return -1;
	for (const char *const *name = maps_and_programs; *name; name++)
		if (linkat(dir, *name, was, *name, 0) &&
		    (errno != ENOENT || strcmp(*name, SOCKETS_PIN)))
			return mlcc_fail(error, -1, "cannot keep the pin '%s': %s", *name,
					 strerror(errno));
	return 0;
}

static int new_move(int dir, int new, const char *name, char *error)
{
	if (!renameat(new, name, dir, name) || errno == ENOENT)
		return 0;
	return mlcc_fail(error, -1, "cannot replace the pin '%s': %s; again: 'mlcc-bpf upgrade'",
			 name, strerror(errno));
}

/* From when the links have the new operations. */
static int upgrade_complete(int dir, int new, char *error)
{
	char old[MLCC_OLD_NAME];

	if (!faccessat(dir, PART_WAS, F_OK, AT_SYMLINK_NOFOLLOW) &&
	    (old_free(dir, old, error) || renameat(dir, PART_WAS, dir, old)))
		return mlcc_fail(error, -1, "cannot keep the older version's pins; again: %s",
				 "'mlcc-bpf upgrade'");
	for (const char *const *name = maps_and_programs; *name; name++)
		if (strcmp(*name, "mlcc") && new_move(dir, new, *name, error))
			return -1;
	if (new_move(dir, new, "mlcc", error))
		return -1;
	unlinkat(dir, MLCC_PART_NEW, AT_REMOVEDIR);
	old_remove_unused(dir);
	return 0;
}

/* "new" goes last: as long as it is there nobody may take what is pinned for the whole. */
static int undo(int dir, int new, char *error)
{
	__u32 has = link_map_id(dir, "link_mlcc_plain");

	if (has && has == map_id(new, "mlcc_plain") && has != map_id(dir, "mlcc_plain") &&
	    link_change(dir, "mlcc_plain", new, dir))
		return mlcc_fail(error, -1, "cannot undo an upgrade that was cut short: %s",
				 INSTEAD);
	carrier_replaced(dir, false);
	carrier_part_remove(dir, PART_WAS);
	carrier_part_remove(dir, MLCC_PART_NEW);
	return 0;
}

/* Completes or undoes an upgrade that was killed. */
static int recover(int dir, char *error)
{
	AUTO_CLOSE int new = mlcc_pins_part(dir, MLCC_PART_NEW, false, error);
	__u32 id;

	if (new == -ENOENT)
		return 0;
	if (new < 0)
		return -1;
	id = map_id(new, "mlcc");
	return id && id == link_map_id(dir, "link_mlcc") ? upgrade_complete(dir, new, error) :
							   undo(dir, new, error);
}

/*** What is taken over ***/

static bool values_are(int dir, const char *name, size_t size, unsigned int entries)
{
	struct bpf_map_info info;

	upgrade_map_info(dir, name, &info);
	return info.value_size == size && info.max_entries == entries;
}

static int settings_read(int dir, struct mlcc_config *cfg, char *error)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, "settings");
	int err = mlcc_settings_read(fd, cfg, sizeof(*cfg));

	if (err && err != -EPROTO)
		return mlcc_fail(error, -1, "cannot read the settings: %s", strerror(-err));
	if (err)
		cfg->layout = 1;
	if (cfg->layout >= MLCC_LAYOUT_KEPT && cfg->layout <= MLCC_LAYOUT &&
	    values_are(dir, "profiles", sizeof(struct mlcc_profile), MLCC_PROFILES_MAX) &&
	    values_are(dir, "rules", sizeof(struct mlcc_setting), MLCC_SLOTS))
		return 0;
	return mlcc_fail(error, -1, "the carrier has map layout %u, known are %u to %u: %s",
			 cfg->layout, MLCC_LAYOUT_KEPT, MLCC_LAYOUT, INSTEAD);
}

static int profiles_read(int dir, struct mlcc_profile *table, char *error)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, "profiles");

	for (unsigned int i = 0; i < MLCC_PROFILES_MAX; i++)
		if (fd < 0 || bpf_map_lookup_elem(fd, &i, &table[i]))
			return mlcc_fail(error, -1, "cannot read the profiles: %s",
					 strerror(errno));
	return 0;
}

static int rules_take(int dir, const struct bpf_object *obj, const struct mlcc_config *cfg,
		      char *error)
{
	AUTO_CLOSE int from = mlcc_pins_get(dir, "rules");
	int to = bpf_object__find_map_fd_by_name(obj, "rules");
	struct mlcc_setting rule;
	unsigned int id, *prev = NULL;

	/* without a descriptor it fails, too */
	for (; !bpf_map_get_next_key(from, prev, &id); prev = &id) {
		if (id > cfg->mark_mask >> cfg->mark_shift)
			return mlcc_fail(error, -1, "job %u does not fit the mark mask %#x", id,
					 cfg->mark_mask);
		if (bpf_map_lookup_elem(from, &id, &rule) ||
		    bpf_map_update_elem(to, &id, &rule, BPF_ANY))
			return mlcc_fail(error, -1, "cannot take over job %u: %s", id,
					 strerror(errno));
	}
	return errno == ENOENT ? 0 : mlcc_fail(error, -1, "cannot read the jobs: %s",
					       strerror(errno));
}

/*** The whole of it ***/

static int not_there(char *error)
{
	if (is_registered())
		return mlcc_fail(error, -1, "'mlcc' is registered by %s: no upgrade of that",
				 registered_by());
	return mlcc_fail(error, -1, "not loaded: 'mlcc-bpf load'");
}

/* 0 if there is something that can be replaced. */
static int is_possible(int dir, char *error)
{
	struct mlcc_config cfg;

	if (recover(dir, error))
		return -1;
	if (!mlcc_pins_count(dir, carrier_pins))
		return not_there(error);
	if (!is_whole(dir))
		return mlcc_fail(error, -1, "is loaded in part: %s", INSTEAD);
	if (!ops_need_links(dir))
		return mlcc_fail(error, -1,
				 "this kernel has no links to change under flows (Linux 6.4): %s",
				 INSTEAD);
	return settings_read(dir, &cfg, error);
}

/* The maps of @obj are as those of the present version, but for what @change changes. */
static int upgrade_take_over(int dir, const struct bpf_object *obj, carrier_change *change,
			     void *arg, char *error)
{
	struct mlcc_profile table[MLCC_PROFILES_MAX];
	struct mlcc_config cfg;
	int err;

	carrier_replaced(dir, true);
	err = settings_read(dir, &cfg, error);
	if (!err)
		err = profiles_read(dir, table, error);
	if (err)
		return err;
	change(&cfg, table, arg);
	cfg.layout = MLCC_LAYOUT;
	cfg.replaced = 0;
	err = maps_fill(obj, &cfg, table, error);
	if (!err)
		err = rules_take(dir, obj, &cfg, error);
	if (err)
		return err;
	err = ops_fill(ops_of(obj, "mlcc"));
	if (!err)
		err = ops_fill(ops_of(obj, "mlcc_plain"));
	return err ? mlcc_fail(error, -1, "cannot fill in the operations: %s", strerror(-err)) : 0;
}

static int upgrade_replace(int dir, struct bpf_object *obj, char *error)
{
	char name[MLCC_OLD_NAME], ignored[MLCC_ERROR_LEN];
	AUTO_CLOSE int new = -1;
	int err;

	old_remove_unused(dir);
	if (!old_free(dir, name, error))
		new = mlcc_pins_part(dir, MLCC_PART_NEW, true, error);
	if (new < 0) {
		carrier_replaced(dir, false);
		return -1;
	}
	err = maps_pin(new, obj, error);
	if (!err)
		err = ops_pin(new, obj, error);
	if (!err)
		err = was_link(dir, error);
	if (!err)
		err = links_change(dir, new, error);
	if (err)
		undo(dir, new, ignored);
	else
		err = upgrade_complete(dir, new, error);
	return err;
}

/* Verifies, with others free to change jobs; then all that they have to wait for. */
static int upgrade_in(int dir, carrier_change *change, void *arg, char *error)
{
	struct bpf_object *obj;
	int err = is_possible(dir, error);

	if (err)
		return err;
	flock(dir, LOCK_UN);
	obj = object_load(dir, true);
	if (!obj)
		return mlcc_fail(error, -1, REFUSED, strerror(errno));
	if (flock(dir, LOCK_EX))
		err = mlcc_fail(error, -1, "cannot lock the pins: %s", strerror(errno));
	if (!err)
		err = is_possible(dir, error);
	if (!err)
		err = upgrade_take_over(dir, obj, change, arg, error);
	if (!err)
		err = upgrade_replace(dir, obj, error);
	else
		carrier_replaced(dir, false);
	bpf_object__close(obj);
	return err;
}

int carrier_upgrade(carrier_change *change, void *arg, char *error)
{
	AUTO_CLOSE int dir = mlcc_pins_lock(false, error);

	if (dir == -ENOENT || dir == -ENODEV)
		return not_there(error);
	return dir < 0 ? -1 : upgrade_in(dir, change, arg, error);
}
