// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <string.h>

#include "mlccd.h"

/* What a ring shows of a job is what the job is. */
static void changed(void *arg, uint32_t id)
{
	struct mlccd *d = arg;

	rings_publish(&d->rings, id);
}

void mlccd_init(struct mlccd *d, sd_event *events)
{
	d->events = events;
	d->jobs.config = &d->config;
	d->jobs.carrier = &d->carrier;
	d->jobs.cgroups = &d->cgroups;
	d->jobs.changed = changed;
	d->jobs.changed_arg = d;
	d->overlap.config = &d->config;
	d->overlap.jobs = &d->jobs;
	d->rings.events = events;
	d->rings.config = &d->config;
	d->rings.carrier = &d->carrier;
	d->rings.jobs = &d->jobs;
}
