/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The map that carrier and tagger share: who is loaded second takes that of the first. */
#ifndef MLCC_SOCKETS_MAP_H
#define MLCC_SOCKETS_MAP_H

#include <bpf/bpf_helpers.h>

#include "mlcc_bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct mlcc_tagged);
} sockets SEC(".maps");

#endif /* MLCC_SOCKETS_MAP_H */
