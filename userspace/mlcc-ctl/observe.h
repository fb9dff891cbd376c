/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * observe: whether jobs wait for the network, by reading what the kernel counts.
 *
 *	observe.c		options, and when to look
 *	observe_diag.c		sockets, by netlink
 *	observe_jobs.c		which sockets are a job, and who sends while who else does
 *	observe_split.c		what a job's time goes to
 *	observe_show.c		table, JSON, metrics
 */
#ifndef MLCC_CTL_OBSERVE_H
#define MLCC_CTL_OBSERVE_H

#include <linux/inet_diag.h>

#include "../libmlcc/skip.h"
#include "observe_split.h"

#define OBSERVE_JOBS	256
#define OBSERVE_BATCH	32

struct observe_socket {
	struct observe_flow flow;	/* the first, in its job's list */
	struct inet_diag_sockid id;
	uint64_t device;		/* its bit */
	unsigned int search;		/* the last that has found it */
	uint8_t family;
	bool gone;
};

/* Sockets of a cgroup and of those below it that count as one with it. */
struct observe_group {
	struct observe_job job;
	char path[256];			/* its cgroup, from the root, of letters that no format escapes */
	const char *name;		/* the end of that */
	uint64_t active_us;		/* when it has last sent */
	uint64_t devices;		/* bits of those that it has sent through, in the last look */
};

struct observe {
	uint64_t interval_us;		/* options */
	struct mlcc_skip skip;
	const char *cgroup, *metrics;
	bool all;
	struct observe_group *groups[OBSERVE_JOBS];
	unsigned int count, search;
	uint64_t begin_us, looks;
	struct {
		uint64_t us, devices;
	} overlap[OBSERVE_JOBS][OBSERVE_JOBS];	/* of the lower with the higher */
};

/* observe_diag.c: any failure of netlink ends the program */
void observe_open(void);
/* Calls observe_found() for all connections of this network namespace. */
void observe_search(struct observe *o);
/* Fills "now" of @n sockets, OBSERVE_BATCH at most, or sets "gone". */
void observe_ask(struct observe_socket **sockets, unsigned int n);
/* The bit of the device that packets to the peer leave by; 0: unknown. */
uint64_t observe_device(uint8_t family, const struct inet_diag_sockid *id);
/* The name of that of the lowest bit. */
const char *observe_device_name(uint64_t devices);

/* observe_jobs.c: before all; a --cgroup that is none ends the program */
void observe_cgroups(struct observe *o);
/* A connection; @cgroup 0: the kernel does not say. */
void observe_found(struct observe *o, const struct inet_diag_msg *m, uint64_t cgroup);
/* New connections, and those that are gone. */
void observe_refresh(struct observe *o);
/* Looks at the jobs that are due. */
void observe_all(struct observe *o);

/* observe_show.c: to standard output, and --metrics */
void observe_show(const struct observe *o);

#endif /* MLCC_CTL_OBSERVE_H */
