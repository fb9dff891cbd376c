// SPDX-License-Identifier: BSD-2-Clause
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "comm.h"
#include "op.h"
#include "phase.h"
#include "task.h"

#define OPS		4096U		/* a power of two, to 2^INDEX_BITS */
#define LOOKS		64
#define BYTES_MAX	(1ULL << 40)	/* of an operation; more is nonsense */

_Static_assert(OPS <= 1U << INDEX_BITS, "the index has to fit the handle");

enum op_state {
	OP_FREE,
	OP_APPENDED,
	OP_BEGUN,
	OP_TAKEN,			/* by one who is filling it */
};

#define STATE_BITS	2

struct op {
	_Atomic uint64_t word;		/* generation and state */
	_Atomic uint64_t sig;
	_Atomic uint64_t bytes;		/* sent so far, by v3 */
	_Atomic uint32_t comm;
};

static struct op ops[OPS];
static _Atomic uint32_t next;
static _Atomic uint64_t lost, odd;

static uint64_t word_of(uint64_t gen, enum op_state state)
{
	return (gen & GEN_MASK) << STATE_BITS | state;
}

static enum op_state op_state_of(uint64_t word)
{
	return word & ((1 << STATE_BITS) - 1);
}

static void op_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static uint64_t get(_Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static void set(_Atomic uint64_t *v, uint64_t to)
{
	atomic_store_explicit(v, to, memory_order_relaxed);
}

static bool change(struct op *op, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(&op->word, &from, to, memory_order_acq_rel,
						       memory_order_relaxed);
}

/* The place, if the handle is of its present generation. */
static struct op *op_find(handle_t h, uint64_t *word)
{
	uint32_t index = handle_index(h);

	if (index >= OPS)
		return NULL;
	*word = atomic_load_explicit(&ops[index].word, memory_order_acquire);
	return *word >> STATE_BITS == handle_gen(h) ? &ops[index] : NULL;
}

/* Returns whether it was us who did.  Another thread may just begin it, once: so try twice. */
static bool stop_once(struct op *op, uint64_t word)
{
	uint64_t sig = get(&op->sig);
	enum op_state state = op_state_of(word);

	if (state != OP_APPENDED && state != OP_BEGUN)
		return false;
	if (!change(op, word, word_of((word >> STATE_BITS) + 1, OP_FREE)))
		return false;
	if (state == OP_BEGUN)
		phase_done(sig);
	return true;
}

static struct op *take_free(uint32_t from, uint64_t *word)
{
	for (uint32_t i = from; i != from + LOOKS; i++) {
		struct op *op = &ops[i & (OPS - 1)];

		*word = atomic_load_explicit(&op->word, memory_order_relaxed);
		if (op_state_of(*word) == OP_FREE && change(op, *word, *word | OP_TAKEN))
			return op;
	}
	return NULL;
}

/* Where none is free, the oldest one around has never been stopped. */
static struct op *op_take(uint64_t *word)
{
	uint32_t from = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
	struct op *op = take_free(from, word), *oldest = &ops[from & (OPS - 1)];

	if (op)
		return op;
	op_count(&lost);
	stop_once(oldest, atomic_load_explicit(&oldest->word, memory_order_acquire));
	return take_free(from, word);
}

handle_t op_start(uint32_t comm, handle_t task, uint64_t shape)
{
	uint64_t word;
	struct op *op = op_take(&word);

	if (!op)
		return 0;
	word >>= STATE_BITS;
	set(&op->sig, task_signature(task ? task : shape));
	set(&op->bytes, 0);
	atomic_store_explicit(&op->comm, comm, memory_order_relaxed);
	atomic_store_explicit(&op->word, word_of(word, OP_APPENDED), memory_order_release);
	return handle_make(word, op - ops, TAG_OP);
}

/* @op is @word, appended; whoever changes it does the rest. */
static void op_begin(struct op *op, uint64_t word)
{
	if (change(op, word, word_of(word >> STATE_BITS, OP_BEGUN)))
		phase_begin(get(&op->sig));
}

static struct op *find_begun(handle_t h)
{
	uint64_t word;
	struct op *op = op_find(h, &word);

	if (op && op_state_of(word) == OP_APPENDED) {
		op_begin(op, word);
		/* it may have waited for a slot, and its communicator have ended meanwhile */
		op = op_find(h, &word);
	}
	if (op && op_state_of(word) == OP_BEGUN)
		return op;
	op_count(&odd);
	return NULL;
}

void op_sent(handle_t h, uint64_t bytes)
{
	struct op *op;

	if (bytes > BYTES_MAX) {
		op_count(&odd);
		return;
	}
	op = find_begun(h);
	if (op)
		plugin_phase_bytes(get(&op->sig), bytes);
}

void op_sent_total(handle_t h, uint64_t bytes)
{
	struct op *op;
	uint64_t seen;

	if (!bytes || bytes > BYTES_MAX) {
		if (bytes)
			op_count(&odd);
		return;
	}
	op = find_begun(h);
	if (!op)
		return;
	seen = get(&op->bytes);
	if (bytes <= seen)
		return;
	set(&op->bytes, bytes);
	plugin_phase_bytes(get(&op->sig), bytes - seen);
}

static bool op_try_stop(handle_t h)
{
	uint64_t word;
	struct op *op = op_find(h, &word);

	return op && stop_once(op, word);
}

bool op_is_open(handle_t h)
{
	uint64_t word;

	return op_find(h, &word) && op_state_of(word) != OP_FREE;
}

void op_stop(handle_t h)
{
	if (!op_try_stop(h) && !op_try_stop(h))
		op_count(&odd);
}

void op_stop_all(uint32_t comm)
{
	for (struct op *op = ops; op < ops + OPS; op++) {
		uint64_t word = atomic_load_explicit(&op->word, memory_order_acquire);
		uint32_t its = atomic_load_explicit(&op->comm, memory_order_relaxed);

		if ((comm == COMM_NONE || comm == its) && !stop_once(op, word))
			op_try_stop(handle_make(word >> STATE_BITS, op - ops, TAG_OP));
	}
}

struct op_counters op_counters(void)
{
	return (struct op_counters){ get(&lost), get(&odd) };
}
