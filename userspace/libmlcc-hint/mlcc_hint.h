/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmlcc-hint: tells mlccd where the communication phases of a training process begin and end.
 *
 *	struct mlcc_hint *h = mlcc_hint_new(NULL);
 *
 *	mlcc_hint_attach(h, 200);
 *	for each iteration {
 *		compute();
 *		mlcc_hint_wait(h);		// for the slot of a plan, where there is one
 *		mlcc_hint_start(h, bytes);	// what this process is about to send
 *		communicate();
 *		mlcc_hint_end(h);
 *	}
 *
 * Each process of a job announces its own part; mlccd makes one phase of them.  Nothing but
 * mlcc_hint_attach() and mlcc_hint_wait() ever waits, and nothing fails in a way that training
 * would have to know of: without mlccd there is one line in the log, and an mlccd that comes
 * later, or comes back, is found at the next phase, every 2 s at most.
 *
 * One thread at a time, but for mlcc_hint_sent().  A child of fork() says nothing with its parent's
 * handle.  A NULL for a handle is one that says nothing.
 */
#ifndef MLCC_HINT_H
#define MLCC_HINT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MLCC_HINT_API	__attribute__((visibility("default")))

struct mlcc_hint;

/* One line without its end.  @warning: what is wrong; else what is. */
typedef void mlcc_hint_log(void *arg, bool warning, const char *line);

/* Zeroes are the defaults. */
struct mlcc_hint_options {
	const char *socket;	/* NULL: MLCC_SOCKET, else /run/mlcc/mlccd.sock */
	const char *job;	/* name or id; NULL: MLCC_JOB, else MLCC_JOB_ID; "": cgroup's job */
	bool no_plan;		/* never waits for slots; so does MLCC_SHIFT=0 */
	int64_t clock_ns;	/* how far the hosts' common clock is from CLOCK_REALTIME */
	mlcc_hint_log *log;	/* NULL: nothing is said */
	void *arg;
};

/*
 * @o: NULL: the defaults.  NULL, with errno and a line in the log: ENAMETOOLONG, the socket;
 * EINVAL, no job can be called so; ENOMEM, EMFILE and what else memfd_create() and eventfd() fail
 * with.
 */
MLCC_HINT_API struct mlcc_hint *mlcc_hint_new(const struct mlcc_hint_options *o);
MLCC_HINT_API void mlcc_hint_free(struct mlcc_hint *h);

/*
 * Finds mlccd and the job, and waits for that, for @timeout_ms at most.  0, or a negative error
 * number: -EREMOTEIO, mlccd refuses, else what connect() has said.  After -ETIMEDOUT the next
 * calls, for 10 s, do not wait.  Without this the first phase begins to look for it.
 */
MLCC_HINT_API int mlcc_hint_attach(struct mlcc_hint *h, unsigned int timeout_ms);

/* Whether mlccd takes hints, as far as is known. */
MLCC_HINT_API bool mlcc_hint_linked(const struct mlcc_hint *h);

/* A phase begins, in which this process sends @bytes, to 2^48 - 1; 0: it does not know. */
MLCC_HINT_API void mlcc_hint_start(struct mlcc_hint *h, uint64_t bytes);
/* It is over. */
MLCC_HINT_API void mlcc_hint_end(struct mlcc_hint *h);

/* @bytes more have been handed to the network.  From any thread. */
MLCC_HINT_API void mlcc_hint_sent(struct mlcc_hint *h, uint64_t bytes);
/* The sum of them. */
MLCC_HINT_API uint64_t mlcc_hint_sent_bytes(const struct mlcc_hint *h);

/*
 * Before mlcc_hint_start(): until when the phase has to wait for the slot that a plan gives the
 * job, by CLOCK_MONOTONIC, in ns; 0: it begins now.  Less than a period ahead, 30 s at least from
 * one wait to the next; of the processes of a host only one waits, the others in the collective.
 * @iteration: what begins is not the phase but the iteration, with computing first.
 */
MLCC_HINT_API uint64_t mlcc_hint_slot(struct mlcc_hint *h, bool iteration);
/* The same, and waits. */
MLCC_HINT_API void mlcc_hint_wait(struct mlcc_hint *h);

#ifdef __cplusplus
}
#endif

#endif /* MLCC_HINT_H */
