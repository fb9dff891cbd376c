/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The map that carrier and tagger share: what the tagger has given each socket. */
#ifndef MLCC_SOCKETS_H
#define MLCC_SOCKETS_H

struct bpf_map;

/*
 * Has @map, which is yet to be loaded, be the "sockets" of what is loaded already: of the carrier in
 * @dir or the tagger below it.  Where there is none that is alike it is a map of its own.
 */
void mlcc_sockets_share(int dir, struct bpf_map *map);

#endif /* MLCC_SOCKETS_H */
