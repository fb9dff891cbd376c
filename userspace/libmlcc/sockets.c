// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <unistd.h>

#include "pins.h"
#include "sockets.h"

static int sockets_get(int dir, const char *name, const struct bpf_map *map)
{
	struct bpf_map_info info;
	int fd = mlcc_pins_get(dir, name);

	if (fd < 0)
		return fd;
	if (mlcc_map_info(fd, &info) && info.type == BPF_MAP_TYPE_SK_STORAGE &&
	    info.value_size == bpf_map__value_size(map))
		return fd;
	close(fd);
	return -EPROTO;
}

void mlcc_sockets_share(int dir, struct bpf_map *map)
{
	AUTO_CLOSE int fd = sockets_get(dir, "sockets", map);

	if (fd < 0)
		fd = sockets_get(dir, "tagger/sockets", map);
	if (fd >= 0)
		bpf_map__reuse_fd(map, fd);
}
