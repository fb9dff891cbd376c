// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On kernels with struct_ops links (6.4) it is the pinned link that holds the registration; on older
 * ones the registration itself holds the program.  The operations are pinned before they are
 * registered and what others look for after that: so loader_unload() knows what to undo wherever a
 * load has been killed, and nobody finds a carrier that is not registered.
 *
 * The program comes twice, with the operations of older and of newer kernels: libbpf before 1.5 knows
 * no operations that may be missing.
 *
 * How one version takes the place of another is in upgrade.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "loader.h"
#include "parts.h"
#include "pins.h"
#include "registered.h"
#include <mlcc.skel.h>
#include <mlcc_tx.skel.h>

#define GONE_MS		2000	/* until a registration has gone that nothing holds any more */

#ifndef BPF_F_LINK
#define BPF_F_LINK	(1U << 13)
#endif
#define BPF_STRUCT_OPS_TYPE	44	/* enum bpf_attach_type; newer than Debian 12's header */

/* In the order in which they are taken away; those of links are there where the kernel has them. */
const char *const carrier_pins[] = {
	"link_mlcc", "link_mlcc_plain", "control", "slots", "rules", "profiles", "settings",
	SOCKETS_PIN, "mlcc", "mlcc_plain", NULL
};

enum { OTHER_PINS = sizeof(carrier_pins) / sizeof(*carrier_pins) - 1 - LINK_PINS };

static int loader_pin_put(int dir, const char *name, int fd)
{
	char path[MLCC_PINS_PATH];

	return bpf_obj_pin(fd, mlcc_pins_path(path, dir, name));
}

int carrier_pin_open(const char *name, char *error)
{
	char why[MLCC_ERROR_LEN];
	AUTO_CLOSE int dir = mlcc_pins_open(why);
	int fd;

	if (dir == -ENOENT || dir == -ENODEV)
		return mlcc_fail(error, -1, "not loaded (%.*s)", MLCC_ERROR_LEN - 16, why);
	if (dir < 0)
		return mlcc_fail(error, -1, "%s", why);
	fd = mlcc_pins_get(dir, name);
	if (fd < 0)
		mlcc_fail(error, -1, "not loaded (pin '%s': %s)", name, strerror(errno));
	return fd;
}

/*** What is there of a carrier ***/

bool is_registered(void)
{
	return mlcc_registered("mlcc") || mlcc_registered("mlcc_plain");
}

static bool is_gone_soon(void)
{
	for (int ms = 0; ms < GONE_MS && is_registered(); ms += 10)
		usleep(10000);
	return !is_registered();
}

const char *registered_by(void)
{
	return access("/sys/module/tcp_mlcc", F_OK) ?
	       "a carrier whose pins are elsewhere or gone, or a process that has its link open" :
	       "the module tcp_mlcc";
}

bool ops_need_links(int dir)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, "mlcc");
	struct bpf_map_info info;

	return mlcc_map_info(fd, &info) && info.map_flags & BPF_F_LINK;
}

/* Whether the carrier is one from before the pin SOCKETS_PIN. */
static bool is_without_sockets(int dir)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, "settings");
	struct mlcc_config cfg;

	return !mlcc_settings_read(fd, &cfg, sizeof(cfg)) && cfg.layout < MLCC_LAYOUT_SOCKETS;
}

bool is_whole(int dir)
{
	int others = mlcc_pins_count(dir, carrier_pins + LINK_PINS);
	int links = mlcc_pins_count(dir, carrier_pins) - others;

	if (faccessat(dir, SOCKETS_PIN, F_OK, AT_SYMLINK_NOFOLLOW))
		others += is_without_sockets(dir);
	return others == OTHER_PINS && (links == LINK_PINS || !ops_need_links(dir)) &&
	       mlcc_registered("mlcc") && mlcc_registered("mlcc_plain");
}

/* Ends a registration without a link.  @fd: of operations, or negative. */
static bool ops_unregister(int fd)
{
	unsigned int zero = 0;

	return fd >= 0 && !bpf_map_delete_elem(fd, &zero);
}

static void ops_unregister_pinned(int dir, const char *name)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, name);

	ops_unregister(fd);
}

/*
 * Those that are registered, but whose pins are gone.  With links there are none; without them one
 * that is pinned in another directory looks the same, and ends, too.
 */
static bool ops_unregister_lost(void)
{
	bool found = false;
	unsigned int id = 0;

	while (!bpf_map_get_next_id(id, &id)) {
		AUTO_CLOSE int fd = bpf_map_get_fd_by_id(id);
		struct bpf_map_info info;

		if (fd >= 0 && mlcc_map_info(fd, &info) && info.type == BPF_MAP_TYPE_STRUCT_OPS &&
		    (!strcmp(info.name, "mlcc") || !strcmp(info.name, "mlcc_plain")))
			found |= ops_unregister(fd);
	}
	return found;
}

void carrier_part_remove(int dir, const char *name)
{
	char ignored[MLCC_ERROR_LEN];
	AUTO_CLOSE int part = mlcc_pins_part(dir, name, false, ignored);

	if (part < 0)
		return;
	mlcc_pins_remove(part, carrier_pins, ignored);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* Older versions, and what an upgrade has left. */
static void parts_remove(int dir)
{
	char name[MLCC_OLD_NAME];

	carrier_part_remove(dir, PART_WAS);
	carrier_part_remove(dir, MLCC_PART_NEW);
	for (unsigned int n = 0; n < MLCC_OLD_MAX; n++)
		carrier_part_remove(dir, mlcc_old_name(name, n));
}

static int map_write(int fd, unsigned int key, const void *value)
{
	return bpf_map_update_elem(fd, &key, value, BPF_ANY);
}

void carrier_replaced(int dir, bool is)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, "settings");
	struct mlcc_config cfg;

	if (mlcc_settings_read(fd, &cfg, sizeof(cfg)))
		return;
	cfg.replaced = is;
	map_write(fd, 0, &cfg);
}

/* Takes away what there is, whole or not. */
static int loader_carrier_remove(int dir, char *error)
{
	int err;

	carrier_replaced(dir, true);
	ops_unregister_pinned(dir, "mlcc");
	ops_unregister_pinned(dir, "mlcc_plain");
	err = mlcc_pins_remove(dir, carrier_pins, error);
	parts_remove(dir);
	return err;
}

/*** Loading ***/

/* libbpf before 1.2 does not know links of struct_ops: it only fills in the map. */
static bool attach_only_fills(void)
{
	return libbpf_major_version() == 1 && libbpf_minor_version() < 2;
}

int ops_fill(struct bpf_map *ops)
{
	struct bpf_link *link = bpf_map__attach_struct_ops(ops);

	if (!link)
		return errno == EEXIST ? 0 : -errno;
	if (attach_only_fills())
		bpf_link__disconnect(link);
	bpf_link__destroy(link);
	return 0;
}

/* Registers one set of operations and pins its link.  Returns 0, or a negative error number. */
static int ops_attach(int dir, struct bpf_map *ops)
{
	bool old = attach_only_fills(), wanted = bpf_map__map_flags(ops) & BPF_F_LINK;
	struct bpf_link *link = bpf_map__attach_struct_ops(ops);
	int fd = -1, err = 0;
	char name[32];

	if (!link)
		return -errno;
	snprintf(name, sizeof(name), "link_%s", bpf_map__name(ops));
	if (wanted) {
		fd = old ? bpf_link_create(bpf_map__fd(ops), 0, BPF_STRUCT_OPS_TYPE, NULL) :
		     bpf_link__fd(link);
		err = fd < 0 ? fd : loader_pin_put(dir, name, fd);
	}
	/* else its end would be that of the registration */
	if (!wanted || old)
		bpf_link__disconnect(link);
	if (old && fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

static bool struct_has(const struct btf *btf, const char *name, const char *member)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, id);

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

/* Whether the kernel has an operation for the start of a transmission. */
static bool has_tx_start(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && struct_has(btf, "tcp_congestion_ops", "cwnd_event_tx_start");

	btf__free(btf);
	return has;
}

static struct bpf_object *object_open(void)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "mlcc");
	const void *elf;
	size_t size;

	elf = has_tx_start() ? mlcc_tx_bpf__elf_bytes(&size) : mlcc_bpf__elf_bytes(&size);
	return bpf_object__open_mem(elf, size, &opts);
}

struct bpf_map *ops_of(const struct bpf_object *obj, const char *name)
{
	return bpf_object__find_map_by_name(obj, name);
}

struct bpf_object *object_load(int dir, bool link)
{
	struct bpf_object *obj;

	libbpf_set_print(mlcc_libbpf_print);
	obj = object_open();
	if (!obj)
		return NULL;
	if (link) {
		bpf_map__set_map_flags(ops_of(obj, "mlcc"), BPF_F_LINK);
		bpf_map__set_map_flags(ops_of(obj, "mlcc_plain"), BPF_F_LINK);
	}
	mlcc_sockets_share(dir, bpf_object__find_map_by_name(obj, SOCKETS_PIN));
	if (!bpf_object__load(obj))
		return obj;
	bpf_object__close(obj);
	return NULL;
}

static int map_pin(int dir, const struct bpf_object *obj, const char *name)
{
	return loader_pin_put(dir, name, bpf_object__find_map_fd_by_name(obj, name));
}

int ops_pin(int dir, const struct bpf_object *obj, char *error)
{
	if (map_pin(dir, obj, "mlcc_plain") || map_pin(dir, obj, "mlcc"))
		return mlcc_fail(error, -1, "cannot pin the operations: %s", strerror(errno));
	return 0;
}

static int ops_register(int dir, struct bpf_object *obj, char *error)
{
	int err = ops_pin(dir, obj, error);

	if (err)
		return err;
	err = ops_attach(dir, ops_of(obj, "mlcc_plain"));
	if (!err)
		err = ops_attach(dir, ops_of(obj, "mlcc"));
	return err ? mlcc_fail(error, -1, "cannot register 'mlcc': %s", strerror(-err)) : 0;
}

int maps_pin(int dir, struct bpf_object *obj, char *error)
{
	struct bpf_program *control = bpf_object__find_program_by_name(obj, "mlcc_control");

	if (map_pin(dir, obj, "settings") || map_pin(dir, obj, "profiles") ||
	    map_pin(dir, obj, "rules") || map_pin(dir, obj, "slots") ||
	    map_pin(dir, obj, SOCKETS_PIN) ||
	    loader_pin_put(dir, "control", bpf_program__fd(control)))
		return mlcc_fail(error, -1, "cannot pin the carrier: %s", strerror(errno));
	return 0;
}

int maps_fill(const struct bpf_object *obj, const struct mlcc_config *cfg,
	      const struct mlcc_profile *table, char *error)
{
	int profiles = bpf_object__find_map_fd_by_name(obj, "profiles");
	int err = map_write(bpf_object__find_map_fd_by_name(obj, "settings"), 0, cfg);

	for (unsigned int i = 0; !err && i < MLCC_PROFILES_MAX; i++)
		err = map_write(profiles, i, &table[i]);
	return err ? mlcc_fail(error, -1, "cannot write the settings: %s", strerror(errno)) : 0;
}

/* All of it, or with a line in @error what carrier_remove() takes away. */
static int carrier_make(int dir, const struct mlcc_config *cfg, const struct mlcc_profile *table,
			char *error)
{
	struct bpf_object *obj;
	int err;

	if (is_registered())
		return mlcc_fail(error, -1, "'mlcc' is registered already, by %s", registered_by());
	obj = object_load(dir, true);
	if (!obj)
		obj = object_load(dir, false);
	if (!obj)
		return mlcc_fail(error, -1, REFUSED, strerror(errno));
	err = maps_fill(obj, cfg, table, error);
	if (!err)
		err = ops_register(dir, obj, error);
	if (!err)
		err = maps_pin(dir, obj, error);
	bpf_object__close(obj);
	return err;
}

/* What a load that was killed has left goes first. */
static int remains_remove(int dir, char *error)
{
	parts_remove(dir);
	if (!mlcc_pins_count(dir, carrier_pins))
		return 0;
	if (loader_carrier_remove(dir, error))
		return -1;
	ops_unregister_lost();
	is_gone_soon();
	return 0;
}

int carrier_load(const struct mlcc_config *cfg, const struct mlcc_profile *table, char *error)
{
	AUTO_CLOSE int dir = mlcc_pins_lock(true, error);
	char ignored[MLCC_ERROR_LEN];
	int err;

	if (dir < 0)
		return -1;
	if (is_whole(dir))
		err = mlcc_fail(error, -1, "is loaded already: %s",
				"'mlcc-bpf upgrade', or 'mlcc-bpf unload' first");
	else
		err = remains_remove(dir, error);
	if (!err) {
		err = carrier_make(dir, cfg, table, error);
		if (err)
			loader_carrier_remove(dir, ignored);
	}
	mlcc_pins_drop();	/* does nothing if there is a carrier in it */
	return err;
}

static int not_unloaded(char *error)
{
	if (is_registered())
		return mlcc_fail(error, -1, "'mlcc' is still registered, by %s", registered_by());
	return mlcc_fail(error, -1, "not loaded");
}

/* An empty directory is a half state, too.  It goes last, for with it the lock does. */
int loader_unload(char *error)
{
	AUTO_CLOSE int dir = mlcc_pins_lock(false, error);
	bool found;
	int err;

	if (dir == -ENOENT || dir == -ENODEV)
		return ops_unregister_lost() && is_gone_soon() ? 0 : not_unloaded(error);
	if (dir < 0)
		return -1;
	found = mlcc_pins_count(dir, carrier_pins);
	err = loader_carrier_remove(dir, error);
	found |= ops_unregister_lost();
	is_gone_soon();
	found |= mlcc_pins_drop();
	if (err)
		return err;
	return found && !is_registered() ? 0 : not_unloaded(error);
}
