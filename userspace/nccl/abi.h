/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NCCL's profiler plugin interface, versions 3 to 7, as far as this plugin needs it.
 *
 * Written from the layout, not from NCCL's headers.  What v4 to v7 share lies at the same offsets
 * in all four, so one struct serves them; the tail that a later version added is never touched.
 * Of v3, only the descriptors of collectives and of point-to-point operations differ.
 *
 *	version	 first NCCL	descriptor	type	communicator's id
 *	v3	 2.26.2		120 bytes	u8	in each collective's descriptor
 *	v4	 2.27.3		104		u8	init
 *	v5	 2.28.3		112		u64	init, as the second argument
 *	v6	 2.29.2		112		u64	"
 *	v7	 2.31.2		136		u64	"
 *
 * RCCL's interface has the same names and another layout.
 */
#ifndef MLCC_NCCL_ABI_H
#define MLCC_NCCL_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
	NCCL_SUCCESS = 0,
};

enum {
	NCCL_LOG_WARN = 2,
	NCCL_LOG_INFO = 3,
};

#define NCCL_LOG_ALL	(~0UL)		/* the subsystems: never filtered by one */

enum nccl_event {
	EV_GROUP = 1 << 0,
	EV_COLL = 1 << 1,
	EV_P2P = 1 << 2,
	EV_PROXY_OP = 1 << 3,
	EV_PROXY_STEP = 1 << 4,
	EV_PROXY_CTRL = 1 << 5,
	EV_KERNEL_CH = 1 << 6,
	EV_NET_PLUGIN = 1 << 7,		/* the last one that v3 and v4 know */
	EV_GROUP_API = 1 << 8,
	EV_COLL_API = 1 << 9,
	EV_P2P_API = 1 << 10,
	EV_KERNEL_LAUNCH = 1 << 11,	/* the last one of v5 */
	EV_CE_COLL = 1 << 12,
	EV_CE_SYNC = 1 << 13,
	EV_CE_BATCH = 1 << 14,		/* the last one of v6 */
	EV_KERNEL_PHASE = 1 << 15,
};

enum nccl_state {
	V3_SEND_TRANSMITTED = 2,	/* of a ProxyOp; transSize is its total so far */
	V3_SEND_DONE = 3,
	ST_SEND_WAIT = 9,		/* of a ProxyStep; transSize is its own */
};

struct descr_coll {
	uint64_t seq;
	const char *func;
	const void *send_buff, *recv_buff;
	size_t count;
	int root;
	const char *datatype;
	uint8_t channels, warps;
	const char *algo, *proto;
	void *parent_group;		/* since v5 */
};

struct descr_p2p {
	const char *func;
	void *buff;
	const char *datatype;
	size_t count;
	int peer;
	uint8_t channels;		/* not set by v4's wrapper */
	void *parent_group;		/* since v5 */
};

/* Of a collective or a point-to-point operation; without what they have since v5. */
struct descr_v3 {
	const char *name;
	uint64_t comm_hash;
	union {
		struct descr_coll coll;
		struct descr_p2p p2p;
	};
};

struct descr_proxy_op {
	int32_t pid;			/* whose parents these are */
	uint8_t channel;
	int32_t peer;
	int32_t steps;
	int32_t chunk_size;		/* no measure of what is sent */
	int32_t is_send;
};

struct descr {
	union {
		uint8_t type8;		/* to v4; the bytes behind it are garbage */
		uint64_t type;
	};
	void *parent;
	int32_t rank;
	union {
		struct descr_coll coll;
		struct descr_p2p p2p;
		struct descr_v3 v3;
		struct descr_proxy_op op;
	};
};

/* v4 to v7 have 8 bytes, v3 has 16 and the same first member. */
struct state_args {
	size_t trans_size;
};

typedef void (*nccl_logger)(int level, unsigned long flags, const char *file, int line,
			    const char *format, ...);

typedef int (*init_v3)(void **ctx, int *mask);
typedef int (*init_v4)(void **ctx, int *mask, const char *name, uint64_t id, int nodes, int ranks,
		       int rank, nccl_logger log);
typedef int (*init_v5)(void **ctx, uint64_t id, int *mask, const char *name, int nodes, int ranks,
		       int rank, nccl_logger log);

struct profiler {
	const char *name;
	union {
		init_v3 v3;
		init_v4 v4;
		init_v5 v5;
	} init;
	int (*start)(void *ctx, void **handle, struct descr *d);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, struct state_args *args);
	int (*finalize)(void *ctx);
};

#define DESCR_MAX	136

static inline size_t descr_size(int version)
{
	static const uint8_t sizes[] = { 120, 104, 112, 112, 136 };

	return sizes[version - 3];
}

/* The events that a version knows. */
static inline uint64_t descr_events(int version)
{
	static const uint64_t last[] = {
		EV_NET_PLUGIN, EV_NET_PLUGIN, EV_KERNEL_LAUNCH, EV_CE_BATCH, EV_KERNEL_PHASE,
	};

	return last[version - 3] * 2 - 1;
}

static inline uint64_t descr_type(const struct descr *d, int version)
{
	return version <= 4 ? d->type8 : d->type;
}

#endif /* MLCC_NCCL_ABI_H */
