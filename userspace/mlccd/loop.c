// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "mlccd.h"

int source_add(struct mlccd *d, struct source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(d->epfd, EPOLL_CTL_ADD, s->fd, &ev) ? -errno : 0;
}

void source_mod(struct mlccd *d, struct source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	epoll_ctl(d->epfd, EPOLL_CTL_MOD, s->fd, &ev);
}

/* Taken out by hand: a peer may hold a copy of the descriptor, which would keep it in the set. */
void source_del(struct mlccd *d, struct source *s)
{
	epoll_ctl(d->epfd, EPOLL_CTL_DEL, s->fd, NULL);
	close(s->fd);
	s->fd = -1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t poll_tick(struct mlccd *d, uint64_t now)
{
	if (now >= d->poll_at) {
		jobs_poll(d);
		accounts_prune(&d->accounts, &d->config, now);
		d->poll_at = now_us() + d->config.poll_ms * 1000ULL;
	}
	return d->poll_at;
}

/* Everything that has to be done at some time rather than upon an event; in how many ms again. */
static int ticks(struct mlccd *d)
{
	uint64_t now = now_us(), due;

	due = poll_tick(d, now);
	due = least(due, peers_tick(d, now));
	due = least(due, metrics_tick(d, now));
	due = least(due, rings_tick(d, now));
	now = now_us();
	return due <= now ? 0 : (int)((due - now) / 1000 + 1);
}

/*
 * One event at a time: what it is about may close other sources, whose events would point nowhere.
 * epoll takes them in turn, so nobody is left out.
 */
int loop_run(struct mlccd *d)
{
	struct epoll_event ev;
	int n;

	n = epoll_wait(d->epfd, &ev, 1, ticks(d));
	if (n < 0 && errno != EINTR)
		return -errno;
	if (n == 1) {
		struct source *s = ev.data.ptr;

		s->ready(d, s, ev.events);
	}
	return 0;
}
