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

/* A memfd, as the old one or with nothing in it, and mapped where that was. */
static int map_new(struct ring *r)
{
	int fd = memfd_create("mlcc-hint", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;
	void *map = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, size) && (!r->map || pwrite(fd, r->map, size, 0) == (ssize_t)size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		map = mmap(r->map, size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | (r->map ? MAP_FIXED : 0), fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	if (r->fds[0] >= 0)
		close(r->fds[0]);
	r->fds[0] = fd;
	r->map = map;
	return 0;
}

static int map_first(struct ring *r)
{
	int err = map_new(r);

	if (err)
		return err;
	r->map->magic = MLCC_RING_MAGIC;
	r->map->version = MLCC_RING_VERSION;
	r->map->slots = RING_SLOTS;
	r->map->record_size = sizeof(struct mlcc_ring_record);
	return 0;
}

int ring_renew(struct ring *r)
{
	return fcntl(r->fds[0], F_GET_SEALS) & F_SEAL_FUTURE_WRITE ? map_new(r) : 0;
}

int ring_make(struct ring *r)
{
	int err;

	*r = (struct ring){ .fds = { -1, -1 } };
	r->fds[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = r->fds[1] < 0 ? -errno : map_first(r);
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
