// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"

_Static_assert(sizeof(struct mlcc_ring_record) == 64, "part of the protocol");
_Static_assert(sizeof(struct mlcc_ring) == 192, "part of the protocol");
_Static_assert(offsetof(struct mlcc_ring, head) == 64, "part of the protocol");
_Static_assert(offsetof(struct mlcc_ring, tail) == 128, "part of the protocol");

static const size_t size = MLCC_RING_SIZE((size_t)RING_SLOTS);

static int map_it(struct ring *r)
{
	if (ftruncate(r->fds[0], size) ||
	    fcntl(r->fds[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	r->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fds[0], 0);
	if (r->map == MAP_FAILED) {
		r->map = NULL;
		return -errno;
	}
	r->map->magic = MLCC_RING_MAGIC;
	r->map->version = MLCC_RING_VERSION;
	r->map->slots = RING_SLOTS;
	r->map->record_size = sizeof(struct mlcc_ring_record);
	return 0;
}

int ring_make(struct ring *r)
{
	int err;

	*r = (struct ring){ .fds = { -1, -1 } };
	r->fds[0] = memfd_create("mlcc-hint", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->fds[0] < 0)
		return -errno;
	r->fds[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = r->fds[1] < 0 ? -errno : map_it(r);
	if (err)
		ring_free(r);
	return err;
}

void ring_free(struct ring *r)
{
	if (r->map)
		munmap(r->map, size);
	for (int i = 0; i < 2; i++)
		if (r->fds[i] >= 0)
			close(r->fds[i]);
}

static void wake(const struct ring *r)
{
	const uint64_t one = 1;

	/* it fails only when its count is at its end, and then mlccd has been woken already */
	if (write(r->fds[1], &one, sizeof(one)) < 0)
		return;
}

bool ring_put(struct ring *r, uint16_t type, uint32_t job, uint64_t bytes, uint64_t now_ns)
{
	struct mlcc_ring *map = r->map;

	if (r->head - __atomic_load_n(&map->tail, __ATOMIC_ACQUIRE) >= RING_SLOTS) {
		__atomic_store_n(&map->dropped, map->dropped + 1, __ATOMIC_RELAXED);
		return false;
	}
	map->records[r->head & (RING_SLOTS - 1)] = (struct mlcc_ring_record) {
		.version = MLCC_RING_VERSION, .type = type, .job = job, .bytes = bytes,
		.time_ns = now_ns, .seq = r->head,
	};
	r->head++;
	__atomic_store_n(&map->head, r->head, __ATOMIC_RELEASE);
	wake(r);
	return true;
}
