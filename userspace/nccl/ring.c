// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../include/mlcc/uapi/mlcc_ring.h"
#include "ring.h"

_Static_assert(sizeof(struct mlcc_ring_record) == 64, "part of the protocol");
_Static_assert(sizeof(struct mlcc_ring) == 192, "part of the protocol");
_Static_assert(offsetof(struct mlcc_ring, head) == 64, "part of the protocol");
_Static_assert(offsetof(struct mlcc_ring, tail) == 128, "part of the protocol");

static struct {
	struct mlcc_ring *map;
	int memfd, event;
	uint64_t head;			/* what is in the map may have been written by mlccd, too */
} ring = { .memfd = -1, .event = -1 };

static int sealed_memory(size_t size)
{
	int fd = memfd_create("mlcc-nccl", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int map_it(size_t size)
{
	ring.map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.memfd, 0);
	if (ring.map == MAP_FAILED) {
		ring.map = NULL;
		return -errno;
	}
	ring.map->magic = MLCC_RING_MAGIC;
	ring.map->version = MLCC_RING_VERSION;
	ring.map->slots = RING_SLOTS;
	ring.map->record_size = sizeof(struct mlcc_ring_record);
	return 0;
}

int ring_make(void)
{
	const size_t size = MLCC_RING_SIZE((size_t)RING_SLOTS);

	if (ring.map)
		return 0;
	if (ring.memfd < 0)
		ring.memfd = sealed_memory(size);
	if (ring.memfd < 0)
		return ring.memfd;
	if (ring.event < 0)
		ring.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ring.event < 0)
		return -errno;
	return map_it(size);
}

void ring_fds(int fds[2])
{
	fds[0] = ring.memfd;
	fds[1] = ring.event;
}

struct mlcc_ring *ring_map(void)
{
	return ring.map;
}

void ring_put(uint16_t type, uint32_t job, uint64_t bytes, uint64_t now_ns)
{
	struct mlcc_ring *map = ring.map;

	if (ring.head - __atomic_load_n(&map->tail, __ATOMIC_ACQUIRE) >= RING_SLOTS) {
		__atomic_store_n(&map->dropped, map->dropped + 1, __ATOMIC_RELAXED);
		return;
	}
	map->records[ring.head & (RING_SLOTS - 1)] = (struct mlcc_ring_record) {
		.version = MLCC_RING_VERSION, .type = type, .job = job, .bytes = bytes,
		.time_ns = now_ns, .seq = ring.head,
	};
	ring.head++;
	__atomic_store_n(&map->head, ring.head, __ATOMIC_RELEASE);
}

void ring_wake(void)
{
	const uint64_t one = 1;

	/* it fails only when its count is at its end, and then mlccd has been woken already */
	if (write(ring.event, &one, sizeof(one)) < 0)
		return;
}
