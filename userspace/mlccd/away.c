// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../common/clock.h"
#include "away.h"
#include "pass.h"
#include "porter.h"

#define WORKERS		8	/* of which we still hope that they come back */
#define LOST_US		1000000	/* after that we do not */
#define LATE_US		100000	/* a task that takes longer is interrupted, */
#define CROWDED		32	/* and where so many wait */
#define LATE_CROWDED_US	1000	/* one that takes longer than this */
#define AGAIN_US	100000	/* to look for another worker */
#define IDLE_US		2000000	/* after that a worker ends */

enum kind { CLOSE, DISCARD, FETCH };

/* To a worker, with the connection.  Its answer is a byte, as is what it says when it is there. */
struct order {
	enum kind kind;
	uint32_t patience_us;
};

/* Of a worker that has received something; then comes the byte. */
struct answer {
	int32_t err;			/* 0: descriptors come with it */
	char why[ERR_LEN];
};

struct task {
	TAILQ_ENTRY(task) entry;
	enum kind kind;
	int fd;
	away_answer *answer;		/* NULL: it has come, or none is wanted */
	away_done *done;
	void *arg;
};

struct worker {
	LIST_ENTRY(worker) entry;
	struct away *all;
	int fd;
	sd_event_source *io;
	bool there;
	struct task *task;		/* NULL: it is idle */
	uint64_t since_us;		/* it has the task, or none, or was asked for */
};

struct away {
	sd_event *events;
	struct porter *porter;
	TAILQ_HEAD(, task) wanted;
	LIST_HEAD(, worker) workers;
	unsigned int count, waiting, most;
	uint64_t lost_us;		/* for which we hope that a task ends */
	uint64_t start_us;		/* no other worker before that */
	sd_event_source *again;
};

/*** A worker ***/

static void nothing(int signal)
{
}

/* Again and again: the first one may come before what it is to end. */
static void interrupt_after(uint32_t us)
{
	struct itimerval t = {
		.it_value = { us / 1000000, us % 1000000 }, .it_interval = { 0, us ? 10000 : 0 },
	};

	setitimer(ITIMER_REAL, &t, NULL);
}

/* The descriptors with the next packet of @from, if they are what a ring is made of. */
static void receive_ring(int control, int from)
{
	int fds[PASS_FDS], flags = MSG_DONTWAIT;
	struct answer a = { };
	struct err e = { "" };
	unsigned int count;
	char byte;
	ssize_t n;

	n = pass_receive(from, &byte, sizeof(byte), fds, &count, &flags);
	if (n < 0)
		a.err = fail(&e, n, "the descriptors: %s", strerror(-n));
	else if (flags & MSG_CTRUNC)
		a.err = fail(&e, -EINVAL, "at most two descriptors are taken");
	else if (count != RING_FDS)
		a.err = fail(&e, -EINVAL,
			     "two descriptors are wanted: the memfd and the eventfd");
	else
		a.err = ring_check(fds, &e);
	strcpy(a.why, e.text);
	pass_send(control, &a, sizeof(a), fds, a.err ? 0 : RING_FDS, 0);
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
}

static bool work_one(int fd)
{
	int fds[PASS_FDS], flags = 0;
	struct order o;
	unsigned int count;
	char byte;

	if (pass_receive(fd, &o, sizeof(o), fds, &count, &flags) != sizeof(o) || count != 1)
		return false;
	/* mlccd has closed its own one first: ours is the last */
	if (o.kind == CLOSE && recv(fd, &byte, sizeof(byte), 0) != sizeof(byte))
		return false;
	interrupt_after(o.patience_us);
	if (o.kind == DISCARD)
		recv(fds[0], &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC);
	else if (o.kind == FETCH)
		receive_ring(fd, fds[0]);
	close(fds[0]);
	interrupt_after(0);
	return send(fd, "", 1, MSG_NOSIGNAL) == 1;
}

void away_work(int fd)
{
	const struct sigaction act = { .sa_handler = nothing };
	sigset_t set;

	prctl(PR_SET_NAME, "mlccd-worker");
	sigaction(SIGALRM, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (send(fd, "", 1, MSG_NOSIGNAL) == 1)
		while (work_one(fd))
			;
	_exit(0);
}

/*** mlccd ***/

static void away_dispatch(struct away *a);

static void task_done(struct task *t)
{
	if (t->done)
		t->done(t->arg);
	free(t);
}

/* Whose connection it is that a packet is taken off may have gone. */
static void task_drop(struct task *t)
{
	if (t && t->kind != DISCARD)
		task_done(t);
	else
		free(t);
}

static void worker_free(struct worker *w)
{
	LIST_REMOVE(w, entry);
	w->all->count--;
	sd_event_source_disable_unref(w->io);
	close(w->fd);
	free(w);
}

/* False: it is none; the worker has done its task, or is of no more use. */
static bool take_answer(struct worker *w, bool *ended)
{
	int fds[PASS_FDS], flags = MSG_DONTWAIT;
	away_answer *answer = w->task ? w->task->answer : NULL;
	unsigned int count;
	struct answer a;
	ssize_t n = pass_receive(w->fd, &a, sizeof(a), fds, &count, &flags);

	*ended = n != 1;
	if (n == sizeof(a) && answer && (a.err || count == RING_FDS)) {
		w->task->answer = NULL;
		answer(w->task->arg, a.err, a.why, fds);
		return true;
	}
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
	return false;
}

static int away_answered(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	struct worker *w = arg;
	struct away *a = w->all;
	struct task *t = w->task;
	bool ended;

	if (take_answer(w, &ended))
		return 0;
	w->task = NULL;
	w->since_us = now_us();
	/* with its end that of what it was at has come as well; it may not even have begun */
	if (!ended) {
		w->there = true;
	} else {
		a->start_us = w->there ? 0 : w->since_us + AGAIN_US;
		worker_free(w);
	}
	if (t)
		task_done(t);
	away_dispatch(a);
	return 0;
}

static bool worker_start(struct away *a)
{
	struct worker *w = calloc(1, sizeof(*w));
	int pair[2], err;

	if (!w || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(w);
		return false;
	}
	*w = (struct worker){ .all = a, .fd = pair[0], .since_us = now_us() };
	err = porter_worker(a->porter, pair[1]);
	close(pair[1]);
	if (!err)
		err = sd_event_add_io(a->events, &w->io, w->fd, EPOLLIN, away_answered, w);
	if (err < 0) {
		close(w->fd);
		free(w);
		return false;
	}
	LIST_INSERT_HEAD(&a->workers, w, entry);
	a->count++;
	return true;
}

static bool is_idle(const struct worker *w)
{
	return w->there && !w->task;
}

/* One that is idle.  @hoped: how many others will be. */
static struct worker *worker_idle(struct away *a, unsigned int *hoped)
{
	uint64_t now = now_us();
	struct worker *w;

	*hoped = 0;
	LIST_FOREACH(w, &a->workers, entry) {
		if (is_idle(w))
			return w;
		*hoped += now < w->since_us + (w->task ? a->lost_us : LOST_US);
	}
	return NULL;
}

static bool order(struct away *a, struct worker *w, struct task *t)
{
	const struct order o = {
		.kind = t->kind,
		.patience_us = a->waiting > CROWDED ? LATE_CROWDED_US : LATE_US,
	};

	if (pass_send(w->fd, &o, sizeof(o), &t->fd, 1, MSG_DONTWAIT))
		return false;
	w->task = t;
	w->since_us = now_us();
	TAILQ_REMOVE(&a->wanted, t, entry);
	a->waiting--;
	if (t->kind != CLOSE)
		return true;
	close(t->fd);
	send(w->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	return true;
}

static void look_again(struct away *a)
{
	uint64_t us = a->waiting ? AGAIN_US : 0;
	struct worker *w;

	LIST_FOREACH(w, &a->workers, entry)
		if (!us && is_idle(w))
			us = IDLE_US;
	sd_event_source_set_time(a->again, now_us() + us);
	sd_event_source_set_enabled(a->again, us ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void away_dispatch(struct away *a)
{
	struct worker *w = NULL;
	struct task *t;
	unsigned int hoped;

	while ((t = TAILQ_FIRST(&a->wanted))) {
		w = worker_idle(a, &hoped);
		if (!w || !order(a, w, t))
			break;
	}
	if (t && !w && hoped < WORKERS && hoped < a->waiting && a->count < a->most &&
	    now_us() >= a->start_us)
		worker_start(a);
	look_again(a);
}

/* Those that have been idle for @us. */
static void end_idle(struct away *a, uint64_t us)
{
	uint64_t now = now_us();
	struct worker *w, *next;

	for (w = LIST_FIRST(&a->workers); w; w = next) {
		next = LIST_NEXT(w, entry);
		if (is_idle(w) && now >= w->since_us + us)
			worker_free(w);
	}
}

void away_lost(struct away *a)
{
	end_idle(a, 0);
}

static int again(sd_event_source *s, uint64_t at, void *arg)
{
	struct away *a = arg;

	if (!a->waiting)
		end_idle(a, IDLE_US);
	away_dispatch(a);
	return 0;
}

struct away *away_new(sd_event *events, struct porter *porter, unsigned int most, bool waits)
{
	struct away *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->events = events;
	a->porter = porter;
	a->most = most;
	a->lost_us = waits ? LOST_US : 0;
	TAILQ_INIT(&a->wanted);
	LIST_INIT(&a->workers);
	if (sd_event_add_time(events, &a->again, CLOCK_MONOTONIC, 0, 1000, again, a) < 0) {
		free(a);
		return NULL;
	}
	sd_event_source_set_enabled(a->again, SD_EVENT_OFF);
	return a;
}

void away_free(struct away *a)
{
	struct worker *w;
	struct task *t;

	if (!a)
		return;
	while ((w = LIST_FIRST(&a->workers))) {
		task_drop(w->task);
		worker_free(w);
	}
	while ((t = TAILQ_FIRST(&a->wanted))) {
		TAILQ_REMOVE(&a->wanted, t, entry);
		task_drop(t);
	}
	sd_event_source_unref(a->again);
	free(a);
}

static void do_here(enum kind kind, int fd)
{
	char byte;

	if (kind == CLOSE)
		close(fd);
	else
		recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC);
}

static void away_add(struct away *a, const struct task *wanted)
{
	struct task *t = a->porter ? malloc(sizeof(*t)) : NULL;

	if (!t) {
		do_here(wanted->kind, wanted->fd);
		if (wanted->done)
			wanted->done(wanted->arg);
		return;
	}
	*t = *wanted;
	TAILQ_INSERT_TAIL(&a->wanted, t, entry);
	a->waiting++;
	away_dispatch(a);
}

unsigned int away_waiting(const struct away *a)
{
	return a->waiting;
}

void away_close(struct away *a, int fd, away_done *done, void *arg)
{
	away_add(a, &(struct task){ .kind = CLOSE, .fd = fd, .done = done, .arg = arg });
}

void away_discard(struct away *a, int fd, away_done *done, void *arg)
{
	away_add(a, &(struct task){ .kind = DISCARD, .fd = fd, .done = done, .arg = arg });
}

void away_fetch(struct away *a, int fd, away_answer *answer, away_done *done, void *arg)
{
	away_add(a, &(struct task){
		.kind = FETCH, .fd = fd, .answer = answer, .done = done, .arg = arg,
	});
}
