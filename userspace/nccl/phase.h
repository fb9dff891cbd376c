/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From send operations to phases.
 *
 * An operation here is one send ProxyOp over the network: part of a collective, or of a send.
 *
 *	appended        begun                               done
 *	----|--------------|-----------------------------------|----->
 *	    NCCL's launch  its first byte                      its last byte was taken by the socket
 *
 * Appended counts for nothing: the host launches far ahead of the GPU.  "active" operations are
 * begun and not done, of any communicator: a stall in the middle of one is no gap.
 *
 *	 NONE --first byte--> RUNNING --done as expected--> OVER
 *	                      ^  |  ^                       |  |
 *	                      |  |  +--bytes within the gap-+  |
 *	                      |  +-----bytes after a gap----+  |
 *	                      |                             v  |
 *	                      +-----------(next phase)---------+
 *
 * Start: the first byte after nothing was active for a gap: 5 ms, or 5 % of the iteration where
 * that is longer, 100 ms at most.  It is told with the bytes that were measured in the phase of
 * the previous iteration which this one repeats (history.h); without them the first time.
 *
 * End: without a thread and a timer nothing happens when a gap has passed.  The end is told when
 * nothing is active and the operations done are those of the phase that this one repeats, else by
 * the next start, just before it.  Should bytes follow an end within the gap, the phase goes on,
 * without a word to mlccd, and what is learnt of it is the whole.
 *
 * Slots: where a plan has given the job a slot, the thread that opens a phase sleeps until then,
 * and announces the phase behind that.  It holds no lock meanwhile.  What is sent before the slot all
 * the same: the phase's first transfer, which NCCL reports when the network has it; what other
 * progress threads send (NCCL has one for each family of communicators that share resources); and
 * what other processes send, as far as the buffers between ranks let them run ahead.
 *
 * Threads: counters are atomic; everything else belongs to whoever holds "edge", a try-lock.  Who
 * does not get it goes on, as another thread is just looking.  Should that one have looked a
 * moment too early, the next byte, or the next operation, finds "running" unset and tries again.
 * Of a phase that two threads begin at once, the first transfers may be counted to the one before.
 */
#ifndef MLCC_NCCL_PHASE_H
#define MLCC_NCCL_PHASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../libmlcc-hint/mlcc_hint.h"

/* What each transfer touches. */
struct phase_hot {
	_Alignas(64) _Atomic uint32_t running;
	_Alignas(64) _Atomic uint32_t active;
};

extern struct phase_hot phase_hot;

/* What phases are announced by; under the lock, but for the count of bytes. */
extern struct mlcc_hint *phase_hint;

/* An operation begins to send; done, all of it has been taken.  @sig tells operations apart. */
void phase_begin(uint64_t sig);
void phase_done(uint64_t sig);

void phase_retry(uint64_t sig);

/* An operation with signature @sig hands @bytes to the network. */
static inline void plugin_phase_bytes(uint64_t sig, uint64_t bytes)
{
	if (!atomic_load_explicit(&phase_hot.running, memory_order_relaxed))
		phase_retry(sig);
	mlcc_hint_sent(phase_hint, bytes);
}

/* For init and finalize, which may wait for the edge lock. */
void phase_lock(void);
void phase_unlock(void);

/* The process sends no more for now: ends what runs.  Under the lock. */
void phase_stop(void);

/* Phases that have begun, ever. */
uint64_t phase_count(void);

#endif /* MLCC_NCCL_PHASE_H */
