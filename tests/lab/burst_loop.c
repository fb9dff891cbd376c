// SPDX-License-Identifier: GPL-2.0
/*
 * The event loop of mlcc-burst: an epoll set, a deadline and a stop flag.
 *
 * Signals come in through a signalfd, so that a stop can never slip between a
 * test of the flag and the wait. Callers write straight-line code: "run the
 * loop until this time", "step it until that condition".
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>

#include "burst.h"

#define NS_PER_S	1000000000LL
#define MAX_EVENTS	64

static int epoll_fd = -1;
static bool stopped;
static const char *sample_job;
static int64_t sample_period_ns;
static int64_t next_sample_ns = INT64_MAX;

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t ms_to_ns(double ms)
{
	return (int64_t)(ms * 1e6);
}

/* Of the work: after the common start, or after now. */
int64_t start_ns(const struct options *opt)
{
	return (opt->at_ns ? opt->at_ns : now_ns()) + ms_to_ns(opt->start_ms);
}

static void stop(struct watch *watch, uint32_t events)
{
	(void)watch;
	(void)events;
	stopped = true;
}

bool loop_stopped(void)
{
	return stopped;
}

void loop_add(struct watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, watch->fd, &event))
		die(EXIT_SYSTEM, "epoll: %s", strerror(errno));
}

void loop_open(void)
{
	static struct watch signals = { .ready = stop };
	sigset_t set;

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		die(EXIT_SYSTEM, "epoll: %s", strerror(errno));

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals.fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals.fd < 0)
		die(EXIT_SYSTEM, "signalfd: %s", strerror(errno));
	loop_add(&signals, EPOLLIN);
}

void loop_sample_every(const struct options *opt)
{
	if (!opt->sample_ms)
		return;
	sample_job = opt->job;
	sample_period_ns = ms_to_ns(opt->sample_ms);
	next_sample_ns = now_ns();
}

static void sample_if_due(void)
{
	int64_t now;

	if (next_sample_ns == INT64_MAX)
		return;
	now = now_ns();
	if (now < next_sample_ns)
		return;
	printf("{\"job\":\"%s\",\"sample_ns\":%lld,\"received_bytes\":%llu}\n",
	       sample_job, (long long)now, (unsigned long long)inbound_bytes());
	/* Late by more than a period: skip, never emit a burst of samples. */
	next_sample_ns += sample_period_ns;
	if (next_sample_ns <= now)
		next_sample_ns = now + sample_period_ns;
}

static int wait_events(struct epoll_event *events, int64_t deadline)
{
	struct timespec timeout, *wait = NULL;
	int64_t left;

	if (deadline != INT64_MAX) {
		left = deadline - now_ns();
		if (left < 0)
			left = 0;
		timeout.tv_sec = left / NS_PER_S;
		timeout.tv_nsec = left % NS_PER_S;
		wait = &timeout;
	}
	return epoll_pwait2(epoll_fd, events, MAX_EVENTS, wait, NULL);
}

/* Handles what is ready. False: asked to stop, or the deadline has passed. */
bool loop_step(int64_t deadline)
{
	struct epoll_event events[MAX_EVENTS];
	int64_t wake = deadline < next_sample_ns ? deadline : next_sample_ns;
	struct watch *watch;
	int i, ready;

	ready = wait_events(events, wake);
	if (ready < 0 && errno != EINTR)
		die(EXIT_SYSTEM, "epoll: %s", strerror(errno));
	for (i = 0; i < ready; i++) {
		watch = events[i].data.ptr;
		watch->ready(watch, events[i].events);
	}
	sample_if_due();
	return !stopped && (deadline == INT64_MAX || now_ns() < deadline);
}

void loop_until(int64_t deadline)
{
	while (!stopped && now_ns() < deadline)
		loop_step(deadline);
}
