// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
/*
 * Flows of a BPF carrier that was unloaded keep its programs and maps, which have no pins any more.
 * They are found by the programs: those of a congestion control nobody but root loads, and each
 * tells its maps. Among these are the slots, in which flows count themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../../bpf/mlcc_bpf.h"
#include "libmlcc.h"
#include "pins.h"

#define CARRIERS	32	/* more than one and its older versions are not seen at a time */
#define MAPS		16	/* of a program, which has fewer */
#define SLOTS_SIZE	(sizeof(struct mlcc_slot) * MLCC_SLOTS)

struct mlcc_orphans {
	unsigned int count;
	__u32 ids[CARRIERS];			/* of maps; first those of pins */
	const struct mlcc_slot *slots[CARRIERS];	/* NULL: it is pinned */
};

static bool is_known(const struct mlcc_orphans *o, __u32 id)
{
	for (unsigned int i = 0; i < o->count; i++)
		if (o->ids[i] == id)
			return true;
	return o->count == CARRIERS;
}

static void add_pinned(struct mlcc_orphans *o, int dir)
{
	AUTO_CLOSE int fd = mlcc_pins_get(dir, "slots");
	struct bpf_map_info info;

	if (mlcc_map_info(fd, &info) && !is_known(o, info.id))
		o->ids[o->count++] = info.id;
}

/* The carrier that is loaded, versions that an upgrade has replaced, and one that is to be next. */
static void add_loaded(struct mlcc_orphans *o)
{
	char error[MLCC_ERROR_LEN], name[MLCC_OLD_NAME];
	AUTO_CLOSE int dir = mlcc_pins_open(error);

	if (dir < 0)
		return;
	add_pinned(o, dir);
	for (unsigned int n = 0; n <= MLCC_OLD_MAX; n++) {
		AUTO_CLOSE int part = mlcc_pins_part(dir, n == MLCC_OLD_MAX ? MLCC_PART_NEW :
						     mlcc_old_name(name, n), false, error);

		add_pinned(o, part);
	}
}

/* Slots of another layout are not read: the layout changes with the size of a slot, or a map's. */
static void add_map(struct mlcc_orphans *o, __u32 id)
{
	AUTO_CLOSE int fd = is_known(o, id) ? -1 : bpf_map_get_fd_by_id(id);
	struct bpf_map_info info;
	void *slots = MAP_FAILED;

	if (fd >= 0 && mlcc_map_info(fd, &info) && !strcmp(info.name, "slots") &&
	    info.type == BPF_MAP_TYPE_ARRAY && info.max_entries == MLCC_SLOTS &&
	    info.value_size == sizeof(struct mlcc_slot))
		slots = mmap(NULL, SLOTS_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (slots == MAP_FAILED)
		return;
	o->ids[o->count] = id;
	o->slots[o->count++] = slots;
}

static void add_program(struct mlcc_orphans *o, int fd)
{
	__u32 maps[MAPS], len;
	struct bpf_prog_info info = { .nr_map_ids = MAPS, .map_ids = (uintptr_t)maps };

	len = sizeof(info);
	if (bpf_obj_get_info_by_fd(fd, &info, &len) || info.type != BPF_PROG_TYPE_STRUCT_OPS ||
	    strncmp(info.name, "mlcc_", 5))
		return;
	for (__u32 i = 0; i < info.nr_map_ids && i < MAPS; i++)
		add_map(o, maps[i]);
}

int mlcc_orphans_open(struct mlcc_orphans **orphans)
{
	struct mlcc_orphans *o = calloc(1, sizeof(*o));
	__u32 id = 0;
	int fd;

	*orphans = o;
	if (!o)
		return -ENOMEM;
	add_loaded(o);
	while (!bpf_prog_get_next_id(id, &id)) {
		fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0 && errno != ENOENT)
			break;
		if (fd < 0)
			continue;
		add_program(o, fd);
		close(fd);
	}
	if (errno == ENOENT)
		return 0;
	fd = -errno;
	mlcc_orphans_close(o);
	*orphans = NULL;
	return fd;
}

void mlcc_orphans_close(struct mlcc_orphans *o)
{
	for (unsigned int i = 0; o && i < o->count; i++)
		if (o->slots[i])
			munmap((void *)o->slots[i], SLOTS_SIZE);
	free(o);
}

uint32_t mlcc_orphans_of(const struct mlcc_orphans *o, uint32_t id)
{
	const struct mlcc_slot *s;
	uint32_t flows = 0;

	for (unsigned int i = 0; i < o->count; i++) {
		if (!o->slots[i])
			continue;
		s = o->slots[i] + mlcc_group(id);
		for (unsigned int n = 0; n < MLCC_GROUP; n++, s++)
			if (s->id == id && !s->deleted && s->whose != MLCC_OF_USER)
				flows += s->users;
	}
	return flows;
}
