/* SPDX-License-Identifier: BSD-2-Clause */
/* What NCCL keeps as the handle of an event: never an address, so never one that is gone. */
#ifndef MLCC_NCCL_HANDLE_H
#define MLCC_NCCL_HANDLE_H

#include <stdint.h>

typedef uint64_t handle_t;

enum handle_tag {
	TAG_NONE,
	TAG_OP,
	TAG_STEP,		/* the same handle as its operation, but for the tag */
	TAG_TASK,
	TAG_PAIR,		/* ours and the chained plugin's, see chain.h */
};

#define TAG_BITS	4
#define INDEX_BITS	16

static inline enum handle_tag handle_tag(handle_t h)
{
	return h & ((1 << TAG_BITS) - 1);
}

static inline handle_t handle_retag(handle_t h, enum handle_tag tag)
{
	return (h & ~(handle_t)((1 << TAG_BITS) - 1)) | tag;
}

/* A place in a pool, and a number that is another each time the place is taken. */
static inline handle_t handle_make(uint64_t gen, uint32_t index, enum handle_tag tag)
{
	return gen << (TAG_BITS + INDEX_BITS) | (handle_t)index << TAG_BITS | tag;
}

static inline uint32_t handle_index(handle_t h)
{
	return h >> TAG_BITS & ((1 << INDEX_BITS) - 1);
}

static inline uint64_t handle_gen(handle_t h)
{
	return h >> (TAG_BITS + INDEX_BITS);
}

#define GEN_MASK	((1ULL << (64 - TAG_BITS - INDEX_BITS)) - 1)

#endif /* MLCC_NCCL_HANDLE_H */
