// SPDX-License-Identifier: BSD-2-Clause
#include <stdatomic.h>
#include <stddef.h>

#include "pair.h"

#define PAIRS		16384U		/* a power of two, to 2^INDEX_BITS */
#define LOOKS		64
#define STATE_BITS	2

enum pair_state {
	PAIR_FREE,			/* or stopped */
	PAIR_OPEN,
	PAIR_TAKEN,
};

/* The turn goes on when the place is taken, not when it is stopped. */
struct pair {
	_Atomic uint64_t word;
	_Atomic uint64_t ours;
	_Atomic(void *) theirs;
};

static struct pair pairs[PAIRS];
static _Atomic uint32_t next;
static _Atomic uint64_t lost;

static struct pair *take(uint64_t *turn)
{
	uint32_t from = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);

	for (uint32_t i = from; i != from + LOOKS; i++) {
		struct pair *p = &pairs[i & (PAIRS - 1)];
		uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);

		*turn = ((word >> STATE_BITS) + 1) & TURN_MASK;
		if (!(word & ((1 << STATE_BITS) - 1)) &&
		    atomic_compare_exchange_strong(&p->word, &word,
						   *turn << STATE_BITS | PAIR_TAKEN))
			return p;
	}
	atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
	return NULL;
}

handle_t pair_make(handle_t ours, void *theirs)
{
	uint64_t turn;
	struct pair *p = take(&turn);

	if (!p)
		return 0;
	atomic_store_explicit(&p->ours, ours, memory_order_relaxed);
	atomic_store_explicit(&p->theirs, theirs, memory_order_relaxed);
	atomic_store_explicit(&p->word, turn << STATE_BITS | PAIR_OPEN, memory_order_release);
	return handle_make(turn, p - pairs, TAG_PAIR);
}

static struct pair *find(handle_t h, uint64_t *word)
{
	struct pair *p = &pairs[handle_index(h) & (PAIRS - 1)];

	if (handle_tag(h) != TAG_PAIR || handle_index(h) >= PAIRS)
		return NULL;
	*word = atomic_load_explicit(&p->word, memory_order_acquire);
	return *word >> STATE_BITS == handle_turn(h) ? p : NULL;
}

bool pair_get(handle_t h, handle_t *ours, void **theirs)
{
	uint64_t word;
	struct pair *p = find(h, &word);

	if (!p)
		return false;
	/* acquire, so that the word is read after them: another may have taken the place meanwhile */
	*ours = atomic_load_explicit(&p->ours, memory_order_acquire);
	*theirs = atomic_load_explicit(&p->theirs, memory_order_acquire);
	return atomic_load_explicit(&p->word, memory_order_relaxed) == word;
}

bool pair_stop(handle_t h)
{
	uint64_t word;
	struct pair *p = find(h, &word);

	return p && (word & ((1 << STATE_BITS) - 1)) == PAIR_OPEN &&
	       atomic_compare_exchange_strong(&p->word, &word,
					      handle_turn(h) << STATE_BITS | PAIR_FREE);
}

uint64_t pair_lost(void)
{
	return atomic_load_explicit(&lost, memory_order_relaxed);
}
