/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The Linux kernel's primitives under the shared headers; to be included before any of them. */
#ifndef MLCC_LINUX_PRIMITIVES_H
#define MLCC_LINUX_PRIMITIVES_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/types.h>

#define MLCC_READ(x)		READ_ONCE(x)
#define MLCC_WRITE(x, v)	WRITE_ONCE(x, v)
/* the counters are plain integers in the shared headers; atomic_t has the same layout */
#define MLCC_FETCH_ADD64(p, v)	((u64)atomic64_fetch_add_relaxed(v, (atomic64_t *)(p)))
#define MLCC_FETCH_ADD32(p, v)	((u32)atomic_fetch_add_relaxed(v, (atomic_t *)(p)))
#define MLCC_CAS32(p, o, n)	cmpxchg(p, o, n)
#define MLCC_DIV64(n, d)	div64_u64(n, d)

#endif /* MLCC_LINUX_PRIMITIVES_H */
