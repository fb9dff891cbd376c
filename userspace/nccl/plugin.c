// SPDX-License-Identifier: BSD-2-Clause
/*
 * The profiler plugin as NCCL sees it: Documentation/training.md.
 *
 * One body serves all versions.  No event makes a system call (but for those at the edges of
 * phases, see phase.h), takes a lock that it would wait for, or allocates; none ever fails,
 * whatever NCCL hands over.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../libmlcc-hint/mlcc_hint.h"
#include "abi.h"
#include "chain.h"
#include "comm.h"
#include "log.h"
#include "op.h"
#include "phase.h"
#include "task.h"

#define EXPORT	__attribute__((visibility("default")))
#define ATTACH_MS	200

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int open_comms;		/* under it */
static atomic_int own_pid;
static atomic_int own_mask;		/* what we asked for */

/* Events */

static handle_t start_task(int version, uint32_t comm, uint64_t type, const struct descr *d)
{
	if (comm == COMM_NONE || !comms[comm].counted)
		return 0;
	return task_handle(version, &comms[comm], type, d);
}

/*
 * Only what goes over the network has is_send set to 1.  What NCCL runs for another process (PXN)
 * leaves the node from here, too; but its context and its parents are addresses of that process.
 */
static handle_t start_op(uint32_t comm, const struct descr *d)
{
	bool own = d->op.pid == atomic_load_explicit(&own_pid, memory_order_relaxed);
	uint64_t shape = (uint64_t)(uint32_t)d->op.steps << 32 | (uint32_t)d->op.chunk_size;
	handle_t task = 0;

	if (d->op.is_send != 1)
		return 0;
	if (!own)
		return op_start(COMM_NONE, 0, shape);
	if (comm == COMM_NONE || !comms[comm].counted)
		return 0;
	task = chain_ours((handle_t)d->parent);
	if (handle_tag(task) != TAG_TASK)
		task = 0;
	return op_start(comm, task, shape);
}

static handle_t start_step(const struct descr *d)
{
	handle_t op = chain_ours((handle_t)d->parent);

	return handle_tag(op) == TAG_OP ? handle_retag(op, TAG_STEP) : 0;
}

static handle_t start_ours(int version, uint32_t comm, uint64_t type, const struct descr *d)
{
	if (!atomic_load_explicit(&own_mask, memory_order_relaxed))
		return 0;
	switch (type) {
	case EV_PROXY_STEP:
		return start_step(d);
	case EV_PROXY_OP:
		return start_op(comm, d);
	case EV_COLL:
	case EV_P2P:
		return start_task(version, comm, type, d);
	}
	return 0;
}

static inline int start(int version, void *ctx, void **handle, struct descr *d)
{
	uint64_t type;
	uint32_t comm;
	handle_t h;

	if (!handle)
		return NCCL_SUCCESS;
	*handle = NULL;
	if (!d)
		return NCCL_SUCCESS;
	type = descr_type(d, version);
	comm = comm_index(ctx);
	h = start_ours(version, comm, type, d);
	if (chain_on()) {
		if (type == EV_PROXY_OP && d->op.pid != atomic_load(&own_pid))
			comm = COMM_NONE;
		h = chain_start(version, comm, h, d);
	}
	*handle = (void *)h;
	return NCCL_SUCCESS;
}

static int stop(void *handle)
{
	handle_t h = (handle_t)handle, ours = chain_ours(h);

	if (handle_tag(h) == TAG_PAIR)
		chain_stop(h);
	if (handle_tag(ours) == TAG_OP)
		op_stop(ours);
	return NCCL_SUCCESS;
}

static handle_t recorded(void *handle, int state, struct state_args *args)
{
	handle_t h = (handle_t)handle;

	if (handle_tag(h) == TAG_PAIR)
		chain_record(h, state, args);
	return chain_ours(h);
}

/* v4 and later */
static int record(void *handle, int state, struct state_args *args)
{
	handle_t h = recorded(handle, state, args);

	if (state == ST_SEND_WAIT && handle_tag(h) == TAG_STEP)
		op_sent(handle_retag(h, TAG_OP), args ? args->trans_size : 0);
	return NCCL_SUCCESS;
}

static int record_v3(void *handle, int state, struct state_args *args)
{
	handle_t h = recorded(handle, state, args);

	if ((state == V3_SEND_TRANSMITTED || state == V3_SEND_DONE) && handle_tag(h) == TAG_OP)
		op_sent_total(h, args ? args->trans_size : 0);
	return NCCL_SUCCESS;
}

/* Init and finalize */

struct init {
	int version;
	void **ctx;
	int *mask;
	uint64_t id;
	const char *name;
	int nodes, ranks, rank;
	nccl_logger log;
};

static void log_hint(void *arg, bool warning, const char *line)
{
	log_line(warning ? NCCL_LOG_WARN : NCCL_LOG_INFO, "%s", line);
}

/* One for the process; under the edge lock of phase.c, as is all that is done with it. */
static struct mlcc_hint *own_hint(void)
{
	const struct mlcc_hint_options options = { .log = log_hint };
	static bool tried;

	if (!tried)
		phase_hint = mlcc_hint_new(&options);
	tried = true;
	return phase_hint;
}

/*
 * Our part of the mask.  Steps are for v4 and later: v3 tells the bytes with the operation.
 * Nothing else would be looked at, and some of it slows the GPU down.
 *
 * It is taken with mlccd and without it: NCCL asks once, and an mlccd that comes later is found at
 * the edge of a phase, where nothing waits for it.
 */
static int attach(int version)
{
	int mask = 0;

	/* a forked child would write into its parent's ring */
	if (atomic_load(&own_pid) && atomic_load(&own_pid) != getpid())
		return 0;
	atomic_store(&own_pid, getpid());
	phase_lock();
	if (own_hint()) {
		mlcc_hint_attach(phase_hint, ATTACH_MS);
		mask = EV_PROXY_OP | (version > 3 ? EV_PROXY_STEP : 0);
	}
	atomic_store(&own_mask, mask);
	phase_unlock();
	return mask;
}

static const char *plugin_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* NCCL exports the lines of its nccl.conf, too. */
static void set_log(nccl_logger log)
{
	const char *loud = plugin_variable("MLCC_LOG");

	log_set(log, loud && strcmp(loud, "0"));
}

static int finalize(void *ctx);

static int init_locked(const struct init *in)
{
	static atomic_bool warned;
	struct comm *c;
	int mask;

	set_log(in->log);
	c = comm_new(in->version, in->id, in->nodes, in->ranks);
	if (!c) {
		if (!atomic_exchange(&warned, true))
			log_line(NCCL_LOG_WARN, "more than %u communicators: this one is not seen",
				 COMMS);
		return -1;
	}
	atomic_store_explicit(&c->open, true, memory_order_release);
	open_comms++;
	*in->ctx = c;
	mask = attach(in->version);
	chain_load(plugin_variable("MLCC_CHAIN_PLUGIN"), in->version, finalize);
	return mask | chain_init(c, in->name, in->rank, in->log);
}

/* Training goes on, whatever happens here. */
static int init(const struct init *in)
{
	int mask;

	if (!in->ctx || !in->mask)
		return NCCL_SUCCESS;
	*in->ctx = NULL;
	pthread_mutex_lock(&init_lock);
	mask = init_locked(in);
	/* NCCL's mask is one for all communicators */
	if (mask >= 0)
		__atomic_store_n(in->mask, mask, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&init_lock);
	return NCCL_SUCCESS;
}

static int init_3(void **ctx, int *mask)
{
	return init(&(struct init){ .version = 3, .ctx = ctx, .mask = mask });
}

static int init_4(void **ctx, int *mask, const char *name, uint64_t id, int nodes, int ranks,
		  int rank, nccl_logger log)
{
	return init(&(struct init){ 4, ctx, mask, id, name, nodes, ranks, rank, log });
}

static void say_counters(void)
{
	struct op_counters o = op_counters();

	log_line(NCCL_LOG_INFO, "%llu phases, %llu bytes; %llu operations were not seen, %llu events odd",
		 (unsigned long long)phase_count(),
		 (unsigned long long)mlcc_hint_sent_bytes(phase_hint),
		 (unsigned long long)(o.lost + chain_lost()), (unsigned long long)o.odd);
}

static void finalize_locked(uint32_t comm)
{
	struct comm *c = &comms[comm];
	bool last = !--open_comms;

	atomic_store_explicit(&c->open, false, memory_order_release);
	/* what it had open will not be stopped any more */
	op_stop_all(last ? COMM_NONE : comm);
	phase_lock();
	if (last)
		phase_stop();
	if (last)
		say_counters();
	phase_unlock();
	chain_finalize(c);
}

static int finalize(void *ctx)
{
	uint32_t comm;

	pthread_mutex_lock(&init_lock);
	comm = comm_index(ctx);
	if (comm != COMM_NONE)
		finalize_locked(comm);
	pthread_mutex_unlock(&init_lock);
	return NCCL_SUCCESS;
}

/* The versions */

#define INIT_5(version)									\
	static int init_##version(void **ctx, uint64_t id, int *mask, const char *name,	\
				  int nodes, int ranks, int rank, nccl_logger log)	\
	{										\
		return init(&(struct init){ version, ctx, mask, id, name, nodes, ranks,	\
					    rank, log });				\
	}

INIT_5(5)
INIT_5(6)
INIT_5(7)

/* @since: the first version whose init has these arguments */
#define TABLE(version, since, record)							\
	static int start_##version(void *ctx, void **handle, struct descr *d)		\
	{										\
		return start(version, ctx, handle, d);					\
	}										\
	EXPORT const struct profiler ncclProfiler_v##version = {			\
		"mlcc", { .v##since = init_##version }, start_##version, stop, record, finalize, \
	}

TABLE(3, 3, record_v3);
TABLE(4, 4, record);
TABLE(5, 5, record);
TABLE(6, 5, record);
TABLE(7, 5, record);
