/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * D_phase from the model: the bytes that one worker sends to exchange its gradients once.
 *
 * P parameters of b bytes among N workers:
 *
 *	ring		2 (N-1)/N P b	reduce-scatter, then all-gather, each of (N-1)/N
 *	tree		2 (N-1)/N P b	N-1 edges carry P up and P down; the mean of the workers
 *	all-to-all	2 (N-1)/N P b	every worker sends every other its shard, then gathers
 *	ps		P b		a worker pushes its gradients to servers on other hosts
 *	ps-shared	2 (N-1)/N P b	each worker is the server of one shard, too
 *
 * A host with several workers in one ring sends as much as one: the ring leaves it once.
 */
#ifndef MLCC_CTL_MODEL_H
#define MLCC_CTL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model {
	const char *name;
	uint64_t parameters;
	const char *source;
};

extern const struct model models[];
extern const size_t model_count;

/* NULL: none of that name */
const struct model *model_find(const char *name);

/*
 * Rounded up; @elsewhere: servers are on other hosts.  -ERANGE: nothing is sent (one worker), or
 * more than a phase can have.
 */
int model_phase_bytes(uint64_t parameters, unsigned int bytes, uint64_t workers, bool elsewhere,
		      uint64_t *phase);

#endif /* MLCC_CTL_MODEL_H */
