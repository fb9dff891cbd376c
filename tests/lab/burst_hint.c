// SPDX-License-Identifier: GPL-2.0
/*
 * Announces the job's phases to mlccd, as a launcher or a plugin does that knows its phases: by
 * libmlcc-hint.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../../userspace/libmlcc-hint/mlcc_hint.h"
#include "burst.h"

#define ATTACH_MS	5000

static struct {
	struct mlcc_hint *h;	/* NULL: phases are not announced */
	bool open;
	double claim;		/* announced bytes / true ones */
	uint64_t bytes;		/* announced of the phase that lasts; 0: none does */
} hint;

/* Without mlccd from the start there is nothing to measure; one that goes later is only said. */
static void say(void *arg, bool warning, const char *line)
{
	(void)arg;
	if (warning && !hint.open)
		die(EXIT_SYSTEM, "--hint: %s", line);
	if (warning)
		fprintf(stderr, "mlcc-burst: --hint: %s\n", line);
}

/* What a liar says in the middle of a transfer. */
static void phase_again(struct watch *watch, uint32_t events)
{
	uint64_t expired;

	(void)events;
	if (read(watch->fd, &expired, sizeof(expired)) < 0 || !hint.bytes)
		return;
	mlcc_hint_end(hint.h);
	mlcc_hint_start(hint.h, hint.bytes);
}

static void restart_every(double ms)
{
	static struct watch restart = { .ready = phase_again };
	const int64_t ns = ms_to_ns(ms);
	const struct timespec every = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	const struct itimerspec timer = { .it_interval = every, .it_value = every };

	restart.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (restart.fd < 0 || timerfd_settime(restart.fd, 0, &timer, NULL))
		die(EXIT_SYSTEM, "--restart-ms: %s", strerror(errno));
	loop_add(&restart, EPOLLIN);
}

void hint_open(const struct options *opt)
{
	struct mlcc_hint_options options = { .socket = opt->hint.socket, .log = say };
	char job[16];

	if (!opt->hint.socket)
		return;
	snprintf(job, sizeof(job), "%u", opt->hint.job);
	options.job = job;
	hint.h = mlcc_hint_new(&options);
	mlcc_hint_attach(hint.h, ATTACH_MS);
	hint.open = true;
	hint.claim = opt->hint.claim;
	if (opt->hint.restart_ms > 0.0)
		restart_every(opt->hint.restart_ms);
}

void hint_start(uint64_t bytes)
{
	hint.bytes = (uint64_t)((double)bytes * hint.claim);
	mlcc_hint_start(hint.h, hint.bytes);
}

void hint_end(void)
{
	hint.bytes = 0;
	mlcc_hint_end(hint.h);
}
