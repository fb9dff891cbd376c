/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a job sends for.
 *
 *	training	computes, sends, computes: phases and the rule, all of flow.h; the default
 *	latency		somebody waits for it (KV transfers of serving): its base, so it does not
 *			wait
 *	background	nobody does (checkpoints, loading of data): it takes what the others leave,
 *			background.h
 *
 * Only training has phases.  Bytes of the others count as the job's, but teach nothing.  A flow
 * follows a change of its job's class with its next ACK.
 */
#ifndef MLCC_CLASS_H
#define MLCC_CLASS_H

enum mlcc_class {
	MLCC_CLASS_TRAINING,	/* 0, so that it is the default */
	MLCC_CLASS_LATENCY,
	MLCC_CLASS_BACKGROUND,
	MLCC_CLASS_COUNT,
};

#define MLCC_CLASS_NAMES { "training", "latency", "background" }

/* For messages that refuse another one. */
#define MLCC_CLASS_ALLOWED "training, latency or background"

#endif /* MLCC_CLASS_H */
