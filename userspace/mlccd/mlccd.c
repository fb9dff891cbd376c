// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mlccd.h"

void mlccd_init(struct mlccd *d, sd_event *events)
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
