/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The daemon's parts, tied together, for what answers about all of them (request.c, metrics.c).
 * What each part needs of the others it is given when it starts (main.c).
 *
 * All of that is one thread, in which nothing waits for anybody: what may wait for a peer's files is
 * in processes (away, last), and walks over sockets are in another thread (carrier).
 */
#ifndef MLCCD_H
#define MLCCD_H

#include "account.h"
#include "carrier.h"
#include "cgroup.h"
#include "config.h"
#include "jobs.h"
#include "overlap.h"
#include "peers.h"
#include "ring.h"
#include "transport.h"

#define MLCCD_VERSION	"0.1"

struct mlccd {
	sd_event *events;
	struct config config;
	struct carrier carrier;
	struct cgroups cgroups;
	struct jobs jobs;
	struct accounts accounts;
	struct rings rings;
	struct overlap overlap;
	struct peers peers;
	struct transport transport;
	uint64_t requests, refused;	/* shown by "status" and as metrics */
};

/* Ties the parts together; the configuration is there. */
static inline void mlccd_init(struct mlccd *d, sd_event *events)
{
	d->events = events;
	d->jobs.config = &d->config;
	d->jobs.carrier = &d->carrier;
	d->jobs.cgroups = &d->cgroups;
	d->jobs.changed = rings_publish;
	d->jobs.changed_arg = &d->rings;
	d->overlap.jobs = &d->jobs;
	d->rings.events = events;
	d->rings.jobs = &d->jobs;
}

#endif /* MLCCD_H */
