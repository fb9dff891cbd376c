/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection to mlccd: who our job is, and a ring that is handed over.
 *
 *	      looked for     the job             the ring
 *	DOWN ------------> ASKED_JOB -------> ASKED_RING -------> UP
 *	  ^ every 2 s at most  | refused, no reply  |  in 2 s      | closed by mlccd
 *	  +--------------------+--------------------+--------------+
 *
 * A job that was known before, to an mlccd that has gone, is not asked for again.
 */
#ifndef MLCC_HINT_LINK_H
#define MLCC_HINT_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "ring.h"

#define LINK_WHY	128
#define LINK_AGAIN_NS	(2000 * MS_NS)

enum link_state {
	LINK_DOWN,
	LINK_ASKED_JOB,
	LINK_ASKED_RING,
	LINK_UP,
};

struct link {
	enum link_state state;
	struct sockaddr_un addr;
	char name[64];			/* the job's, or its id; "": the one of our cgroup */
	bool plans;			/* takes part in them */
	bool refused;			/* that id, by the mlccd asked last */
	int fd;
	uint32_t job;			/* 0: not known */
	uint64_t again_ns;		/* when to look next, or to give a question up */
	struct ring *ring;
	char why[LINK_WHY];		/* of the last failure */
};

/* -ENAMETOOLONG, of the socket; -EINVAL: no such name can be. */
int link_init(struct link *l, const char *socket, const char *name, bool plans, struct ring *ring);

/* Does what can be done at once.  A negative error number: it has failed, and @why says how. */
int link_step(struct link *l, uint64_t now);

/* Goes on until it is up, has failed or @timeout_ms are over: -ETIMEDOUT. */
int link_attach(struct link *l, unsigned int timeout_ms);

void link_drop(struct link *l, uint64_t now);

#endif /* MLCC_HINT_LINK_H */
