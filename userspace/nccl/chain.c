// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "chain.h"
#include "log.h"
#include "op.h"

#define PAIRS		(1U << INDEX_BITS)
#define LOOKS		64
#define STATE_BITS	2

enum pair_state {
	PAIR_FREE,			/* or stopped */
	PAIR_OPEN,
	PAIR_TAKEN,
};

/* The generation goes on when the place is taken, or its communicator ends, and not when it is stopped. */
struct pair {
	_Atomic uint64_t word;
	_Atomic uint32_t comm;
	_Atomic uint64_t ours;
	_Atomic(void *) theirs;
};

static struct pair pairs[PAIRS];
static _Atomic uint32_t next_pair;
static _Atomic uint64_t pairs_lost;

static uint64_t next_gen(uint64_t word)
{
	return ((word >> STATE_BITS) + 1) & GEN_MASK;
}

/* Returns whether it is ours now, if it was in @state. */
static bool pair_claim(struct pair *p, enum pair_state state, uint64_t *gen)
{
	uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);

	*gen = next_gen(word);
	return (word & ((1 << STATE_BITS) - 1)) == state &&
	       atomic_compare_exchange_strong(&p->word, &word, *gen << STATE_BITS | PAIR_TAKEN);
}

/* Nobody misses it: NCCL has steps that it never stops.  An operation of ours has to be stopped. */
static bool may_go(const struct pair *p)
{
	handle_t ours = atomic_load_explicit(&p->ours, memory_order_relaxed);

	return handle_tag(ours) != TAG_OP || !op_is_open(ours);
}

/* One that is free, else the oldest around. */
static struct pair *pair_take(uint64_t *gen)
{
	uint32_t from = atomic_fetch_add_explicit(&next_pair, 1, memory_order_relaxed);
	struct pair *p;

	for (uint32_t i = from; i != from + LOOKS; i++) {
		p = &pairs[i & (PAIRS - 1)];
		if (pair_claim(p, PAIR_FREE, gen))
			return p;
	}
	atomic_fetch_add_explicit(&pairs_lost, 1, memory_order_relaxed);
	for (uint32_t i = from; i != from + LOOKS; i++) {
		p = &pairs[i & (PAIRS - 1)];
		if (may_go(p) && pair_claim(p, PAIR_OPEN, gen))
			return p;
	}
	return NULL;
}

/* 0: there is no place. */
static handle_t pair_make(uint32_t comm, handle_t ours, void *theirs)
{
	uint64_t gen;
	struct pair *p = pair_take(&gen);

	if (!p)
		return 0;
	atomic_store_explicit(&p->comm, comm, memory_order_relaxed);
	atomic_store_explicit(&p->ours, ours, memory_order_relaxed);
	atomic_store_explicit(&p->theirs, theirs, memory_order_relaxed);
	atomic_store_explicit(&p->word, gen << STATE_BITS | PAIR_OPEN, memory_order_release);
	return handle_make(gen, p - pairs, TAG_PAIR);
}

/* Those of a communicator are nobody's any more, whatever of them is still stopped or a parent. */
static void pairs_return(uint32_t comm)
{
	for (struct pair *p = pairs; p < pairs + PAIRS; p++) {
		uint64_t word = atomic_load_explicit(&p->word, memory_order_acquire);

		if (word && atomic_load_explicit(&p->comm, memory_order_relaxed) == comm &&
		    (word & ((1 << STATE_BITS) - 1)) != PAIR_TAKEN)
			atomic_compare_exchange_strong(&p->word, &word,
						       next_gen(word) << STATE_BITS | PAIR_FREE);
	}
}

static struct pair *pair_find(handle_t h, uint64_t *word)
{
	struct pair *p = &pairs[handle_index(h)];

	if (handle_tag(h) != TAG_PAIR)
		return NULL;
	*word = atomic_load_explicit(&p->word, memory_order_acquire);
	return *word >> STATE_BITS == handle_gen(h) ? p : NULL;
}

/* false: not a pair, or of an earlier generation. */
static bool pair_get(handle_t h, handle_t *ours, void **theirs)
{
	uint64_t word;
	struct pair *p = pair_find(h, &word);

	if (!p)
		return false;
	/* acquire, so that the word is read after them: another may have taken the place meanwhile */
	*ours = atomic_load_explicit(&p->ours, memory_order_acquire);
	*theirs = atomic_load_explicit(&p->theirs, memory_order_acquire);
	return atomic_load_explicit(&p->word, memory_order_relaxed) == word;
}

/* Its place may be taken by another from now on.  Returns false if it was stopped already. */
static bool pair_stop(handle_t h)
{
	uint64_t word;
	struct pair *p = pair_find(h, &word);

	return p && (word & ((1 << STATE_BITS) - 1)) == PAIR_OPEN &&
	       atomic_compare_exchange_strong(&p->word, &word,
					      handle_gen(h) << STATE_BITS | PAIR_FREE);
}

static struct {
	const struct profiler *its;
	int version;			/* its */
	bool tried;
	int mask;			/* it may change it at any time */
} chain;

bool chain_on(void)
{
	return chain.its;
}

static void *chain_open(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	char file[256];

	if (lib || strchr(name, '/'))
		return lib;
	snprintf(file, sizeof(file), "libnccl-profiler-%.200s.so", name);
	return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static const struct profiler *find_table(void *lib, int version)
{
	int oldest = version == 3 ? 3 : 4;
	char symbol[32];

	for (int v = version; v >= oldest; v--) {
		const struct profiler *its;

		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", v);
		its = dlsym(lib, symbol);
		chain.version = v;
		if (its && its->init.v3 && its->start && its->stop && its->record && its->finalize)
			return its;
	}
	return NULL;
}

void chain_load(const char *name, int version, int (*own_finalize)(void *ctx))
{
	const struct profiler *its;
	void *lib;

	if (!name || chain.tried)
		return;
	chain.tried = true;
	lib = chain_open(name);
	if (!lib) {
		log_line(NCCL_LOG_WARN, "MLCC_CHAIN_PLUGIN: %s", dlerror());
		return;
	}
	its = find_table(lib, version);
	if (its && its->finalize != own_finalize) {
		chain.its = its;
		return;
	}
	log_line(NCCL_LOG_WARN, its ? "MLCC_CHAIN_PLUGIN=%.80s: that is this plugin itself" :
		 "MLCC_CHAIN_PLUGIN=%.80s: has no profiler that goes with version %d", name, version);
	dlclose(lib);
}

int chain_init(struct comm *c, const char *name, int rank, nccl_logger log)
{
	int err;

	if (!chain.its)
		return 0;
	if (chain.version == 3)
		err = chain.its->init.v3(&c->chain_ctx, &chain.mask);
	else if (chain.version == 4)
		err = chain.its->init.v4(&c->chain_ctx, &chain.mask, name, c->id, c->nodes,
					 c->ranks, rank, log);
	else
		err = chain.its->init.v5(&c->chain_ctx, c->id, &chain.mask, name, c->nodes,
					 c->ranks, rank, log);
	c->chained = !err;
	if (err)
		log_line(NCCL_LOG_WARN, "MLCC_CHAIN_PLUGIN: its init failed with %d", err);
	return err ? 0 : __atomic_load_n(&chain.mask, __ATOMIC_RELAXED);
}

void chain_finalize(struct comm *c)
{
	if (!c->chained)
		return;
	c->chained = false;
	pairs_return(c - comms);
	chain.its->finalize(c->chain_ctx);
}

handle_t chain_ours(handle_t h)
{
	handle_t ours;
	void *theirs;

	if (handle_tag(h) != TAG_PAIR)
		return h;
	return pair_get(h, &ours, &theirs) ? ours : 0;
}

static void *its_handle(const void *h)
{
	handle_t ours;
	void *theirs;

	return pair_get((handle_t)h, &ours, &theirs) ? theirs : NULL;
}

/* An event comes with its parents, so these are wanted, too. */
static uint64_t with_parents(uint64_t mask)
{
	if (mask & EV_NET_PLUGIN)
		mask |= EV_PROXY_STEP;
	if (mask & EV_PROXY_STEP)
		mask |= EV_PROXY_OP;
	if (mask & EV_KERNEL_PHASE)
		mask |= EV_KERNEL_CH;
	if (mask & (EV_PROXY_OP | EV_KERNEL_CH))
		mask |= EV_COLL | EV_P2P;
	if (mask & (EV_CE_SYNC | EV_CE_BATCH))
		mask |= EV_CE_COLL;
	if (mask & EV_COLL)
		mask |= EV_COLL_API;
	if (mask & EV_P2P)
		mask |= EV_P2P_API;
	if (mask & (EV_COLL | EV_P2P | EV_COLL_API | EV_P2P_API | EV_KERNEL_LAUNCH | EV_CE_COLL))
		mask |= EV_GROUP | EV_GROUP_API;
	return mask;
}

static bool chain_wanted(uint64_t type)
{
	uint64_t mask = (unsigned int)__atomic_load_n(&chain.mask, __ATOMIC_RELAXED);

	return type & with_parents(mask) & descr_events(chain.version);
}

/* A copy for it, as long as its version has it, with its own handles as parents. */
static void *start_its(const struct comm *c, uint64_t type, const struct descr *d)
{
	union {
		struct descr d;
		char room[DESCR_MAX];
	} copy;
	void *theirs = NULL;

	memcpy(&copy, d, descr_size(chain.version));
	copy.d.parent = its_handle(d->parent);
	/* a step of an operation that was not passed on */
	if (type == EV_PROXY_STEP && !copy.d.parent)
		return NULL;
	if (chain.version > 4 && type == EV_COLL)
		copy.d.coll.parent_group = its_handle(d->coll.parent_group);
	if (chain.version > 4 && type == EV_P2P)
		copy.d.p2p.parent_group = its_handle(d->p2p.parent_group);
	chain.its->start(c->chain_ctx, &theirs, &copy.d);
	return theirs;
}

handle_t chain_start(int version, uint32_t comm, handle_t ours, const struct descr *d)
{
	uint64_t type = descr_type(d, version);
	void *theirs = NULL;
	handle_t pair;

	if (comm != COMM_NONE && comms[comm].chained && chain_wanted(type))
		theirs = start_its(&comms[comm], type, d);
	if (!theirs)
		return ours;
	pair = pair_make(comm, ours, theirs);
	if (pair)
		return pair;
	chain.its->stop(theirs);
	return ours;
}

void chain_record(handle_t h, int state, struct state_args *args)
{
	void *theirs = its_handle((void *)h);

	if (theirs)
		chain.its->record(theirs, state, args);
}

void chain_stop(handle_t h)
{
	void *theirs = its_handle((void *)h);

	if (pair_stop(h) && theirs)
		chain.its->stop(theirs);
}

uint64_t chain_lost(void)
{
	return atomic_load_explicit(&pairs_lost, memory_order_relaxed);
}
