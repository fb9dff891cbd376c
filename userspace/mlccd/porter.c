// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/clock.h"
#include "pass.h"
#include "porter.h"

#define CHILDREN	160	/* that have not ended; mlccd's limits are lower */
#define WORKER		0	/* of away.h, which is no packet's id */
#define LATE_MS		1000	/* one that has not ended by then is killed, if that ends it */
#define AGAIN_US	1000000	/* between one porter and the next */

struct porter {
	pid_t pid;
	int fd;
	struct porter_calls calls;
	porter_work *work;
	sd_event *events;
	sd_event_source *io, *death, *again;
	uint64_t since_us;		/* it is there, or the last one was */
};

enum what { TAKEN, ANSWER, ENDED };

struct answer {
	enum what what;
	uint32_t id;
	int32_t err;			/* 0: descriptors come with it */
	char why[ERR_LEN];
};

struct child {
	pid_t pid;			/* 0: none */
	uint32_t id;
	uint64_t since_us;
};

/*** One packet ***/

/* What is closed, or flushed, with the process comes after its answer. */
static void __attribute__((noreturn)) receive_one(int control, int fd, uint32_t id)
{
	struct answer a = { .what = ANSWER, .id = id };
	int fds[RING_FDS], flags = MSG_DONTWAIT;
	unsigned int count;
	struct err e = { "" };
	char byte;
	ssize_t n;

	n = pass_receive(fd, &byte, sizeof(byte), fds, &count, &flags);
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
	_exit(0);
}

/*** The porter ***/

static void porter_say(int control, enum what what, uint32_t id)
{
	struct answer a = { .what = what, .id = id };

	pass_send(control, &a, sizeof(a), NULL, 0, 0);
}

static struct child *child_of(struct child *all, pid_t pid)
{
	for (int i = 0; i < CHILDREN; i++)
		if (all[i].pid == pid)
			return &all[i];
	return NULL;
}

static void children_reap(int control, struct child *all)
{
	struct child *c;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		c = child_of(all, pid);
		if (!c)
			continue;
		if (c->id != WORKER)
			porter_say(control, ENDED, c->id);
		c->pid = 0;
	}
}

/* One that the kernel keeps at a file of its own stays.  Whether there are any. */
static bool children_kill(const struct child *all, uint64_t now)
{
	bool some = false;

	for (int i = 0; i < CHILDREN; i++) {
		if (!all[i].pid || all[i].id == WORKER)
			continue;
		some = true;
		if (now > all[i].since_us + LATE_MS * 1000)
			kill(all[i].pid, SIGKILL);
	}
	return some;
}

/* In a child: nobody else kills it when it is late. */
static void die_with(pid_t porter)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != porter)
		_exit(0);
}

static bool child_start(porter_work *work, int control, int fd, uint32_t id,
			struct child *all)
{
	pid_t porter = getpid(), pid = -1;
	struct child *c = child_of(all, 0);

	if (c)
		pid = fork();
	if (!pid) {
		die_with(porter);
		if (id != WORKER)
			receive_one(control, fd, id);
		/* it may stay for long: nothing else of the porter's does */
		dup2(fd, control);
		close_range(control + 1, ~0U, 0);
		work(control);
	}
	if (pid < 0)
		return false;
	*c = (struct child){ pid, id, now_us() };
	return true;
}

/* False: mlccd has gone. */
static bool take_order(porter_work *work, int control, struct child *all)
{
	int fds[RING_FDS], flags = 0;
	bool started = false;
	unsigned int count;
	uint32_t id;

	if (pass_receive(control, &id, sizeof(id), fds, &count, &flags) != sizeof(id))
		return false;
	if (count == 1)
		started = child_start(work, control, fds[0], id, all);
	/* not the last close: mlccd waits for what is said next */
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
	if (id == WORKER)
		return true;
	porter_say(control, TAKEN, id);
	if (!started)
		porter_say(control, ENDED, id);
	return true;
}

void porter_drop_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_capset, &head, none);
}

/* Its listener is systemd's and mlccd's; its signals are for mlccd. */
static int porter_prepare(int control, pid_t parent)
{
	sigset_t set;

	if (dup2(control, 3) != 3)
		return -1;
	close_range(4, ~0U, 0);
	prctl(PR_SET_NAME, "mlccd-porter");
	porter_drop_rights();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return -1;
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void __attribute__((noreturn)) porter_run(porter_work *work, int control,
							pid_t parent)
{
	struct child all[CHILDREN] = { };
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct signalfd_siginfo info;
	bool some = false;

	p[1].fd = porter_prepare(control, parent);
	p[0].fd = 3;
	while (p[1].fd >= 0) {
		int n = poll(p, 2, some ? LATE_MS : -1);

		if (p[1].revents & POLLIN && read(p[1].fd, &info, sizeof(info)) > 0)
			children_reap(p[0].fd, all);
		if (n > 0 && p[0].revents && !take_order(work, p[0].fd, all))
			break;
		some = children_kill(all, now_us());
	}
	_exit(0);
}

/*** mlccd ***/

/*
 * There may be threads: what is done in the child takes no lock that one of them may have had, but
 * the C library's own, which its fork() sees to.
 */
static int porter_fork(struct porter *p)
{
	pid_t parent = getpid();
	int pair[2], err;

	p->since_us = now_us();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	p->pid = fork();
	if (!p->pid)
		porter_run(p->work, pair[1], parent);
	err = p->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err)
		close(pair[0]);
	p->fd = err ? -1 : pair[0];
	return err;
}

struct porter *porter_start(porter_work *work)
{
	struct porter *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->work = work;
	if (!porter_fork(p))
		return p;
	free(p);
	return NULL;
}

static int porter_answered(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	struct porter *p = arg;
	int fds[RING_FDS], flags = MSG_DONTWAIT;
	unsigned int count;
	struct answer a;
	ssize_t n = pass_receive(fd, &a, sizeof(a), fds, &count, &flags);

	if (n == -EAGAIN || n == -EINTR)
		return 0;
	/* its end is seen by its pidfd, which does not wait for its children */
	if (n != sizeof(a) || (a.what == ANSWER && !a.err && count != RING_FDS))
		return sd_event_source_set_enabled(s, SD_EVENT_OFF);
	if (a.what == TAKEN)
		p->calls.taken(p->calls.arg, a.id);
	else if (a.what == ENDED)
		p->calls.ended(p->calls.arg, a.id);
	else
		p->calls.answer(p->calls.arg, a.id, a.err, a.why, fds);
	return 0;
}

static void unwatch(struct porter *p)
{
	p->io = sd_event_source_disable_unref(p->io);
	p->death = sd_event_source_disable_unref(p->death);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static int died(sd_event_source *s, int fd, uint32_t events, void *arg);

static int watch(struct porter *p)
{
	int pidfd = syscall(SYS_pidfd_open, p->pid, 0);
	int err = pidfd < 0 ? -errno : 0;

	if (!err)
		err = sd_event_add_io(p->events, &p->death, pidfd, EPOLLIN, died, p);
	if (err >= 0)
		sd_event_source_set_io_fd_own(p->death, true);
	else if (pidfd >= 0)
		close(pidfd);
	if (err >= 0)
		err = sd_event_add_io(p->events, &p->io, p->fd, EPOLLIN, porter_answered, p);
	return err < 0 ? err : 0;
}

static void try_later(struct porter *p)
{
	sd_event_source_set_time(p->again, p->since_us + AGAIN_US);
	sd_event_source_set_enabled(p->again, SD_EVENT_ONESHOT);
}

static int try_again(sd_event_source *s, uint64_t at, void *arg)
{
	struct porter *p = arg;
	int err = porter_fork(p);

	if (!err) {
		err = watch(p);
		if (err)
			unwatch(p);
	}
	if (err) {
		note(3, "no process that receives descriptors, so rings are refused: %s",
		     strerror(-err));
		try_later(p);
	}
	return 0;
}

/* Such as for want of memory.  There is another one, but not at once again and again. */
static int died(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	struct porter *p = arg;

	waitpid(p->pid, NULL, WNOHANG);
	unwatch(p);
	note(4, "the process that receives descriptors has ended");
	p->calls.lost(p->calls.arg);
	try_later(p);
	return 0;
}

int porter_watch(struct porter *p, sd_event *events, const struct porter_calls *calls)
{
	int err = sd_event_add_time(events, &p->again, CLOCK_MONOTONIC, 0, 1000, try_again, p);

	if (err < 0)
		return err;
	sd_event_source_set_enabled(p->again, SD_EVENT_OFF);
	p->events = events;
	p->calls = *calls;
	return watch(p);
}

void porter_end(struct porter *p)
{
	if (!p)
		return;
	unwatch(p);
	sd_event_source_unref(p->again);
	free(p);
}

int porter_fetch(struct porter *p, int fd, uint32_t id)
{
	return pass_send(p->fd, &id, sizeof(id), &fd, 1, MSG_DONTWAIT);
}

int porter_worker(struct porter *p, int fd)
{
	return porter_fetch(p, fd, WORKER);
}
