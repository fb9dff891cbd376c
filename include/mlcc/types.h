/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Types and the few atomic operations that the shared headers need.
 *
 * The headers below include/mlcc/ are compiled into a kernel module, a BPF program, NIC firmware
 * and user space.  None of these has a common header, so this one builds on what every compiler
 * predefines.  A carrier that brings its own primitives (the kernel module) defines the MLCC_*
 * macros before it includes anything from here.
 */
#ifndef MLCC_TYPES_H
#define MLCC_TYPES_H

#ifndef __KERNEL__
#include <stdbool.h>	/* a freestanding compiler has both, too */
#include <stddef.h>

typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef __INT32_TYPE__ s32;
typedef __INT64_TYPE__ s64;
#endif

#if !defined(__KERNEL__) && !defined(__always_inline)
#define __always_inline inline __attribute__((__always_inline__))
#endif

/* Rare work stays out of the way of what is done on every packet. */
#ifndef MLCC_OUTLINE
#define MLCC_OUTLINE __attribute__((__noinline__, __unused__))
#endif

#if !defined(__KERNEL__) && !defined(__cplusplus) && !defined(static_assert)
#define static_assert(what, why) _Static_assert(what, why)
#endif

/* Plain load and store of a field that another CPU may be writing. */
#ifndef MLCC_READ
#define MLCC_READ(x) (*(const volatile __typeof__(x) *)&(x))
#define MLCC_WRITE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#endif

/* *p += v for a u64, returns the value before. */
#ifndef MLCC_FETCH_ADD64
#define MLCC_FETCH_ADD64(p, v) __sync_fetch_and_add(p, v)
#endif

/* *p += v for a u32, returns the value before. */
#ifndef MLCC_FETCH_ADD32
#define MLCC_FETCH_ADD32(p, v) __sync_fetch_and_add(p, v)
#endif

/* Replaces *p by n if it is o; returns what it was.  Orders like a lock. */
#ifndef MLCC_CAS32
#define MLCC_CAS32(p, o, n) __sync_val_compare_and_swap(p, o, n)
#endif

/* u64 n / u64 d; a 32-bit kernel has no such instruction. */
#ifndef MLCC_DIV64
#define MLCC_DIV64(n, d) ((n) / (d))
#endif

static __always_inline u32 mlcc_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static __always_inline u32 mlcc_max(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* The compiler knows nothing of what is in @x from here on: a mask stays a mask, and no branch. */
#define MLCC_HIDE(x) __asm__("" : "+r"(x))

#endif /* MLCC_TYPES_H */
