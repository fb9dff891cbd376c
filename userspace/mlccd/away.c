// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/clock.h"
#include "away.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83	/* newer than the headers of distributions */
#endif

#define THREADS		8
#define STACK		65536
#define LATE_US		100000	/* a task that takes longer is interrupted, */
#define CROWDED		32	/* and where so many wait */
#define LATE_CROWDED_US	1000	/* one that takes longer than this */

enum kind { CLOSE, DISCARD };

struct task {
	TAILQ_ENTRY(task) entry;
	enum kind kind;
	int fd;
	away_done *done;
	void *arg;
};

TAILQ_HEAD(tasks, task);

struct worker {
	struct away *all;
	pthread_t thread;
	struct task *task;		/* NULL: it is idle */
	uint64_t since_us;
};

struct away {
	pthread_mutex_t lock;		/* of all that follows */
	pthread_cond_t changed;
	struct tasks wanted, done;
	struct worker workers[THREADS];
	unsigned int count, idle, waiting;
	bool ends;
	int wake;			/* an eventfd: something is done */
	sd_event_source *woken, *late;
};

static void work(const struct task *t)
{
	char byte;

	if (t->kind == CLOSE)
		close(t->fd);
	else
		recv(t->fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC);
}

static void *worker(void *arg)
{
	struct worker *w = arg;
	struct away *a = w->all;

	pthread_mutex_lock(&a->lock);
	while (!a->ends) {
		w->task = TAILQ_FIRST(&a->wanted);
		if (!w->task) {
			a->idle++;
			pthread_cond_wait(&a->changed, &a->lock);
			a->idle--;
			continue;
		}
		TAILQ_REMOVE(&a->wanted, w->task, entry);
		a->waiting--;
		w->since_us = now_us();
		pthread_mutex_unlock(&a->lock);
		work(w->task);
		pthread_mutex_lock(&a->lock);
		TAILQ_INSERT_TAIL(&a->done, w->task, entry);
		w->task = NULL;
		eventfd_write(a->wake, 1);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Under the lock. */
static void worker_start(struct away *a)
{
	struct worker *w = &a->workers[a->count];
	pthread_attr_t attr;

	w->all = a;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	a->count += !pthread_create(&w->thread, &attr, worker, w);
	pthread_attr_destroy(&attr);
}

static uint64_t patience(const struct away *a)
{
	return a->waiting > CROWDED ? LATE_CROWDED_US : LATE_US;
}

/* A signal that is handled ends what waits, such as for what lingers. */
static void interrupt_late(struct away *a, uint64_t now)
{
	for (unsigned int i = 0; i < a->count; i++) {
		struct worker *w = &a->workers[i];

		if (w->task && now >= w->since_us + patience(a))
			pthread_kill(w->thread, SIGUSR1);
	}
}

static bool is_busy(const struct away *a)
{
	for (unsigned int i = 0; i < a->count; i++)
		if (a->workers[i].task)
			return true;
	return a->waiting;
}

static void look_again(struct away *a)
{
	bool busy;

	pthread_mutex_lock(&a->lock);
	busy = is_busy(a);
	if (busy)
		sd_event_source_set_time(a->late, now_us() + patience(a));
	pthread_mutex_unlock(&a->lock);
	sd_event_source_set_enabled(a->late, busy ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static int late(sd_event_source *s, uint64_t at, void *arg)
{
	struct away *a = arg;

	pthread_mutex_lock(&a->lock);
	interrupt_late(a, now_us());
	pthread_mutex_unlock(&a->lock);
	look_again(a);
	return 0;
}

static int woken(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	struct tasks done = TAILQ_HEAD_INITIALIZER(done);
	struct away *a = arg;
	eventfd_t count;
	struct task *t;

	eventfd_read(fd, &count);
	pthread_mutex_lock(&a->lock);
	TAILQ_CONCAT(&done, &a->done, entry);
	pthread_mutex_unlock(&a->lock);
	while ((t = TAILQ_FIRST(&done))) {
		TAILQ_REMOVE(&done, t, entry);
		if (t->done)
			t->done(t->arg);
		free(t);
	}
	look_again(a);
	return 0;
}

static void nothing(int signal)
{
}

struct away *away_new(sd_event *events)
{
	const struct sigaction act = { .sa_handler = nothing };
	struct away *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	TAILQ_INIT(&a->wanted);
	TAILQ_INIT(&a->done);
	sigaction(SIGUSR1, &act, NULL);
	a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = a->wake < 0 ? -1 : sd_event_add_io(events, &a->woken, a->wake, EPOLLIN, woken, a);
	if (err >= 0)
		err = sd_event_add_time(events, &a->late, CLOCK_MONOTONIC, 0, 1000, late, a);
	if (err >= 0)
		err = sd_event_source_set_enabled(a->late, SD_EVENT_OFF);
	if (err >= 0)
		return a;
	away_free(a);
	return NULL;
}

void away_free(struct away *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->ends = true;
	pthread_cond_broadcast(&a->changed);
	interrupt_late(a, UINT64_MAX);
	pthread_mutex_unlock(&a->lock);
	/* not joined: the process ends, which waits for nothing that lingers */
	sd_event_source_unref(a->woken);
	sd_event_source_unref(a->late);
}

/* Without memory for a task or any thread, here. */
static void add(struct away *a, enum kind kind, int fd, away_done *done, void *arg)
{
	struct task *t = malloc(sizeof(*t));
	struct task here = { .kind = kind, .fd = fd };
	bool taken = false;

	pthread_mutex_lock(&a->lock);
	if (t && a->waiting >= a->idle && a->count < THREADS)
		worker_start(a);
	if (t && a->count) {
		*t = (struct task){ .kind = kind, .fd = fd, .done = done, .arg = arg };
		TAILQ_INSERT_TAIL(&a->wanted, t, entry);
		a->waiting++;
		pthread_cond_signal(&a->changed);
		taken = true;
	}
	pthread_mutex_unlock(&a->lock);
	if (taken) {
		look_again(a);
		return;
	}
	free(t);
	work(&here);
	if (done)
		done(arg);
}

void away_refuse(int fd)
{
	int no = 0;

	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
}

void away_close(struct away *a, int fd, away_done *done, void *arg)
{
	add(a, CLOSE, fd, done, arg);
}

void away_discard(struct away *a, int fd, away_done *done, void *arg)
{
	add(a, DISCARD, fd, done, arg);
}
