/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plays NCCL: loads the plugin and calls it as NCCL's versions do.
 *
 * Descriptors are written by offset, not through the plugin's own header, into memory of just their
 * size whose other bytes are garbage.
 */
#ifndef TEST_NCCL_H
#define TEST_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* What the plugin asks for: operations, and their transfers where the version has them. */
#define MASK	(nccl_version == 3 ? 8 : 24)

/* Load it before the first of anything else; the path is $MLCC_PLUGIN. */
void nccl_load(int version);
void nccl_unload(void);

extern int nccl_version;
extern int nccl_mask;		/* one for all communicators */
extern int nccl_warnings;	/* lines that the plugin gave to the logger, as warnings */

struct comm {
	void *ctx;
	int nodes, ranks;
};

/* init() has to succeed, whatever comes. */
struct comm nccl_init(uint64_t id, int nodes, int ranks);
void nccl_finalize(struct comm *c);

struct coll {
	const char *func, *datatype, *algo, *proto;
	size_t count;
	int channels;
	uint64_t comm_id;	/* v3 */
};

void *nccl_coll(const struct comm *c, const struct coll *what);
void *nccl_p2p(const struct comm *c, const char *func, size_t count, int peer);
void *nccl_event(const struct comm *c, uint64_t type, void *parent);

struct op {
	void *handle;
	size_t total;
};

struct op nccl_op(const struct comm *c, void *parent, int channel, bool send);
/* Of another process: context and parent are addresses there. */
struct op nccl_op_pxn(void);

void nccl_state(void *handle, int state, size_t trans_size);
void nccl_stop(void *handle);

/* InProgress, where the version has it. */
void nccl_progress(struct op *op);

/* One transfer of a send operation, in the version's own words. */
void nccl_send(const struct comm *c, struct op *op, size_t bytes);

/* The clock that the plugin sees: stands still until it is set forward, or is let loose. */
void clock_forward_ms(unsigned int ms);
void clock_real(void);

/* The clock of day reads this now, and goes on as the other one does. */
void clock_set_wall_ns(uint64_t ns);

/* What slept by the plugin's clock_nanosleep(); while the clock stands still it is set forward. */
extern int clock_sleeps;
extern uint64_t clock_slept_ns;

/* Called in the middle of that, in the thread that sleeps. */
extern void (*clock_asleep)(void);

#endif /* TEST_NCCL_H */
