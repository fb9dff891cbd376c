/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * observe: whether jobs wait for the network, by reading what the kernel counts.
 *
 *	observe.c		options, and when to look
 *	observe_diag.c		sockets, by netlink
 *	observe_allowance.c	devices that hold up what an instance may not send
 *	observe_jobs.c		which sockets are a job, and who sends while who else does
 *	observe_split.c		what a job's time goes to
 *	observe_show.c		table, JSON, metrics, a picture
 *	observe_record.c	sockets as a file, and back
 */
#ifndef MLCC_CTL_OBSERVE_H
#define MLCC_CTL_OBSERVE_H

#include <linux/inet_diag.h>
#include <signal.h>

#include "../libmlcc/skip.h"
#include "observe_split.h"

/*
 * A phase of a training job takes tens of milliseconds or more, and the kernel counts what happens
 * between looks: ten milliseconds tell silences within a phase from those between phases.
 */
#define OBSERVE_INTERVAL_US	10000
#define OBSERVE_SKIP	"lo,443,988,2049,3260,4420"	/* what is storage, or no network */

#define OBSERVE_JOBS	256
#define OBSERVE_BATCH	32
#define OBSERVE_SPANS	1024

struct observe_socket {
	struct observe_flow flow;	/* the first, in its job's list */
	struct inet_diag_sockid id;
	uint64_t device;		/* its bit */
	unsigned int search;		/* the last that has found it */
	uint8_t family;
	bool gone;
};

/* What was added to the causes of a job at once: of a phase and the silence behind it. */
struct observe_span {
	uint64_t end_us;
	uint32_t us[OBSERVE_CAUSES];
};

/* Sockets of a cgroup and of those below it that count as one with it. */
struct observe_group {
	struct observe_job job;
	char path[256];			/* its cgroup, from the root, of letters that no format escapes */
	const char *name;		/* the end of that */
	bool given;			/* somebody asks for it, as one job */
	uint64_t active_us;		/* when it has last sent */
	uint64_t devices;		/* bits of those that it has sent through, in the last look */
	struct observe_span *spans;	/* the last OBSERVE_SPANS of as many as were, for --plot */
	unsigned long span_count;
	uint64_t spanned_us[OBSERVE_CAUSES];
};

struct observe {
	uint64_t interval_us;		/* options */
	struct mlcc_skip skip;
	const char *cgroup, *metrics, *plot, *record;
	bool all;
	bool others;			/* than "cgroup", too */
	struct observe_group *groups[OBSERVE_JOBS];
	unsigned int count, search;
	uint64_t begin_us, now_us, looks;	/* the first, the last, and how many */
	uint64_t since_1970_us;		/* when their clock began */
	uint64_t search_us;		/* when to look for sockets next */
	double look_cost;		/* CPU time of a look, us */
	struct {
		uint64_t us, devices;
	} overlap[OBSERVE_JOBS][OBSERVE_JOBS];	/* of the lower with the higher */
};

/* observe.c: opens all; SIGINT and SIGTERM, @end, are blocked from then on */
void observe_begin(struct observe *o, sigset_t *end);
/* Looks until @until; false: one of @end has come. */
bool observe_until(struct observe *o, const sigset_t *end, uint64_t until);

/* observe_diag.c: any failure of netlink ends the program */
void observe_open(void);
/* Calls observe_found() for all connections of this network namespace. */
void observe_search(struct observe *o);
/* Fills "now" of @n sockets, OBSERVE_BATCH at most, or sets "gone". */
void observe_ask(struct observe_socket **sockets, unsigned int n);
/* The bit of the device that packets to the peer leave by; 0: unknown. */
uint64_t observe_device(uint8_t family, const struct inet_diag_sockid *id);
uint64_t observe_device_bit(const char *name);
/* The name of that of the lowest bit. */
const char *observe_device_name(uint64_t devices);

/* observe_allowance.c: which flows are over a device that has, since the last call */
void observe_allowances(struct observe *o);

/* observe_jobs.c: before all; a --cgroup that is none ends the program */
void observe_cgroups(struct observe *o);
/* Into the network namespace of a process of @cgroup, where it may be: that of a container. */
void observe_enter(const char *cgroup);
/* In a path that begins with a slash, a Slurm step's tasks and a pod's containers are one job. */
void observe_cut(char *path);
/* Of letters that no format escapes. */
void observe_clean(char *s);
/* What is known of a cgroup, or will be. */
struct observe_group *observe_group(struct observe *o, const char *path);
/* A connection; @cgroup 0: the kernel does not say. */
void observe_found(struct observe *o, const struct inet_diag_msg *m, uint64_t cgroup);
/* One that was found before, and has been again; one that --skip leaves out; a new one. */
struct observe_socket *observe_known(struct observe *o, const struct inet_diag_sockid *id);
bool observe_left_out(const struct observe *o, uint8_t family, const struct inet_diag_sockid *id);
struct observe_socket *observe_add(struct observe *o, struct observe_group *g, uint8_t family,
				   const struct inet_diag_sockid *id);
/* Forgets those that the last searches, more than @age of them, have not found. */
void observe_drop(struct observe *o, unsigned int age);
/* New connections, and those that are gone. */
void observe_refresh(struct observe *o);
/* Looks at the jobs that are due. */
void observe_all(struct observe *o);
/* What follows from the sockets that are fresh. */
void observe_looked(struct observe *o, uint64_t now);

/* observe_record.c: a look at the sockets that are fresh, into --record */
void observe_write(struct observe *o, uint64_t now);
/* All looks of a file, which are refused as a whole. */
void observe_from(struct observe *o, const char *name);

/* observe_show.c: to standard output, --metrics and --plot */
void observe_show(const struct observe *o);
/* For --plot: what a look has added to the causes. */
void observe_span(struct observe_group *g);

#endif /* MLCC_CTL_OBSERVE_H */
