// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/err.h"
#include "pass.h"
#include "porter.h"
#include "split.h"

#define AGAIN_US	1000000	/* between one porter and the next */

struct porter {
	pid_t pid;
	int fd;
	porter_work *work;
	void (*lost)(void *arg);
	void *arg;
	sd_event *events;
	sd_event_source *death, *again;
	uint64_t since_us;		/* it is there, or the last one was */
};

/*** The porter ***/

/* It may stay for long: nothing of the porter's does, nor it without the porter. */
static void __attribute__((noreturn)) child_run(porter_work *work, int control, int fd, pid_t porter)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != porter)
		_exit(0);
	dup2(fd, control);
	close_range(control + 1, ~0U, 0);
	work(control);
	_exit(0);
}

/* Its listener is systemd's and mlccd's; its signals are for mlccd; it waits for no child. */
static bool porter_prepare(int control, pid_t parent)
{
	sigset_t set;

	if (dup2(control, 3) != 3)
		return false;
	close_range(4, ~0U, 0);
	prctl(PR_SET_NAME, "mlccd-porter");
	split_drop_rights();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	return getppid() == parent;
}

static void __attribute__((noreturn)) porter_run(porter_work *work, int control, pid_t parent)
{
	int fds[PASS_FDS], flags = 0;
	unsigned int count;
	pid_t own = getpid();
	char byte;

	if (!porter_prepare(control, parent))
		_exit(0);
	while (pass_receive(3, &byte, sizeof(byte), fds, &count, &flags) > 0) {
		if (count == 1 && !fork())
			child_run(work, 3, *fds, own);
		for (unsigned int i = 0; i < count; i++)
			close(fds[i]);
		flags = 0;
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

static void unwatch(struct porter *p)
{
	p->death = sd_event_source_disable_unref(p->death);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static int died(sd_event_source *s, const siginfo_t *info, void *arg);

static int watch(struct porter *p)
{
	int err = sd_event_add_child(p->events, &p->death, p->pid, WEXITED, died, p);

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
static int died(sd_event_source *s, const siginfo_t *info, void *arg)
{
	struct porter *p = arg;

	unwatch(p);
	note(4, "the process that receives descriptors has ended");
	p->lost(p->arg);
	try_later(p);
	return 0;
}

int porter_watch(struct porter *p, sd_event *events, void (*lost)(void *arg), void *arg)
{
	int err = sd_event_add_time(events, &p->again, CLOCK_MONOTONIC, 0, 1000, try_again, p);

	if (err < 0)
		return err;
	sd_event_source_set_enabled(p->again, SD_EVENT_OFF);
	p->events = events;
	p->lost = lost;
	p->arg = arg;
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

int porter_worker(struct porter *p, int fd)
{
	return pass_send(p->fd, "", 1, &fd, 1, MSG_DONTWAIT);
}
