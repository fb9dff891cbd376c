/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MLCC_NCCL_CLOCK_H
#define MLCC_NCCL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define MS_NS	1000000ULL

/* CLOCK_MONOTONIC; no system call on machines whose clock is in the vDSO. */
static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

#endif /* MLCC_NCCL_CLOCK_H */
