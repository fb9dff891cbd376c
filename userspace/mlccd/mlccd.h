/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The daemon's parts, tied together. */
#ifndef MLCCD_H
#define MLCCD_H

#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "../../include/mlcc/uapi/mlcc_ring.h"
#include "../common/clock.h"
#include "account.h"
#include "carrier.h"
#include "cgroup.h"
#include "config.h"
#include "../common/err.h"
#include "jobs.h"

#define MLCCD_VERSION	"0.1"
#define MLCCD_RUN_DIR	"/run/mlcc"
#define MLCCD_CONFIG	"/etc/mlcc/mlccd.conf"
#define NEVER		UINT64_MAX

/* Something epoll watches; the first member of what it is part of. */
struct source {
	int fd;
	void (*ready)(struct mlccd *d, struct source *s, uint32_t events);
};

/* Shown by "status" and as metrics. */
struct counters {
	uint64_t requests, refused, limited, dropped_peers;
	uint64_t records, records_bad, records_late, records_limited, records_overrun;
};

struct peer;
struct ring;
struct scrape;
struct rdma;

struct mlccd {
	struct config config;
	const char *config_path;
	int epfd;
	bool stop, reload;
	struct carrier carrier;
	struct cgroups cgroups;
	struct jobs jobs;
	struct accounts accounts;
	struct counters counters;
	struct peer *peers;
	unsigned int peer_count;
	struct ring *rings;		/* all of them */
	struct scrape *scrapes;
	unsigned int scrape_count;
	struct rdma *rdma;		/* as last looked at, for "show" */
	uint64_t rdma_at;
	int rxe_error;			/* why its rules could not be written, as last told */
	uint64_t poll_at;		/* when cgroups are looked for next, ms */
};

/* loop.c */
int source_add(struct mlccd *d, struct source *s, uint32_t events);
void source_mod(struct mlccd *d, struct source *s, uint32_t events);
void source_del(struct mlccd *d, struct source *s);	/* closes it, too */
int loop_run(struct mlccd *d);

/* peer.c: the control socket */
int peers_listen(struct mlccd *d, int fd);
void peers_close(struct mlccd *d);
/* When it has to be called next, in microseconds. */
uint64_t peers_tick(struct mlccd *d, uint64_t now);

/* ring.c: hints in shared memory */
#define RING_FDS	2	/* the memfd, the eventfd */

/* Takes copies of the descriptors.  @job: whose time-shift the ring shows, 0: none. */
int ring_open(struct mlccd *d, const struct who *who, struct account *account,
	      const int fds[RING_FDS], uint32_t job, struct ring **ring, struct err *e);
/* Makes both descriptors. */
int ring_make(uint32_t slots, int fds[RING_FDS], struct err *e);
void ring_close(struct mlccd *d, struct ring *r);
uint64_t rings_tick(struct mlccd *d, uint64_t now);

/* The job's time-shift, or its absence, for all rings that were opened for it. */
void rings_publish(struct mlccd *d, uint32_t job);
/* What a process says of it.  False: none has asked for it. */
bool rings_said(struct mlccd *d, uint32_t job, struct mlcc_ring_said *said);

/* transport.c: what jobs send by */
struct json_object;

/* Adds members to what is shown of a job; @info: NULL, the carrier does not know it. */
void transport_json(struct mlccd *d, struct json_object *o, uint32_t job,
		    const struct mlcc_job_info *info);
void transport_free(struct mlccd *d);

/* rxe.c: soft-RoCE's rules, where its driver has them */
/* Every job's queue pairs are the job's. */
void rxe_set(struct mlccd *d);
/* Those of this job, which is about to go, are nobody's. */
void rxe_remove(struct mlccd *d, const struct job *job);

/* metrics_rdma.c */
void metrics_rdma(struct mlccd *d, FILE *f);

/* metrics.c, http.c */
void metrics_head(FILE *f, const char *name, const char *type, const char *unit,
		  const char *help);
char *metrics_text(struct mlccd *d, size_t *len);
int metrics_listen(struct mlccd *d, int fd);
void metrics_close(struct mlccd *d);
uint64_t metrics_tick(struct mlccd *d, uint64_t now);

#endif /* MLCCD_H */
