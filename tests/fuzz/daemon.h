/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A daemon without sockets, on a carrier that is memory and a folder that plays the cgroups. */
#ifndef FUZZ_DAEMON_H
#define FUZZ_DAEMON_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keeper.h"
#include "kept.h"
#include "mlccd.h"
#include "state.h"

static struct mlccd fuzz_daemon;
static struct kept fuzz_kept;
static char fuzz_dir[] = "/tmp/mlcc-fuzz-XXXXXX";

static void fuzz_make(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fuzz_dir, name);
	mkdir(path, 0755);
	strcat(path, "/cgroup.procs");
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	if (fd >= 0)
		close(fd);
}

static void fuzz_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", fuzz_dir);
	if (system(command))
		perror(command);
}

static struct mlccd *fuzz_start(void)
{
	struct mlccd *d = &fuzz_daemon;
	sd_event *events;
	char jobs[64];
	struct err e;
	int fd;

	if (d->events)
		return d;
	/* nothing is to be said for each of millions */
	if (!freopen("/dev/null", "w", stdout))
		abort();
	config_default(&d->config);
	d->config.jobs_per_user = 4;
	d->config.hints_burst = 1000000;
	if (sd_event_new(&events) < 0)
		abort();
	mlccd_init(d, events);
	if (!mkdtemp(fuzz_dir))
		abort();
	atexit(fuzz_remove);
	fuzz_make("a");
	fuzz_make("b");
	fuzz_make("a/c");
	d->cgroups.root = open(fuzz_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	strcpy(d->cgroups.mount, "/sys/fs/cgroup");
	snprintf(jobs, sizeof(jobs), "%s/jobs", fuzz_dir);
	fd = state_open(jobs, &e);
	if (fd < 0)
		abort();
	kept_init(&fuzz_kept, &d->cgroups, "/dev/null", d->config.mark_mask);
	keep_by(-1, keeper_answer, &fuzz_kept);
	jobs_init(&d->jobs, fd);
	return d;
}

#endif /* FUZZ_DAEMON_H */
