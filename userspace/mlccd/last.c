// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/err.h"
#include "last.h"
#include "listen.h"
#include "pass.h"
#include "split.h"

#define STACK	16384
#define HOLD_US	30000000
#define LOOK_MS	1000	/* whether the folder is there */

static struct {
	pid_t parent;
	int kept_first, kept_last;	/* the service manager's, who has them open, too */
	int held;			/* likewise the other process's */
} start;

static int option(int fd, int which)
{
	socklen_t len = sizeof(int);
	int v = -1;

	return getsockopt(fd, SOL_SOCKET, which, &v, &len) ? -1 : v;
}

/* Whether something may be queued on it that a user has sent.  He is told that it is over. */
static bool may_hold(int fd)
{
	if (fd <= STDERR_FILENO || (fd >= start.kept_first && fd <= start.kept_last) ||
	    fd == start.held || option(fd, SO_DOMAIN) != AF_UNIX ||
	    option(fd, SO_TYPE) != SOCK_SEQPACKET)
		return false;
	shutdown(fd, SHUT_RDWR);
	return true;
}

static void close_what_closes(void)
{
	struct rlimit r;
	int max = 1 << 20;

	/* mlccd may have raised its own */
	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_max < (rlim_t)max)
		max = r.rlim_max;
	for (int fd = 0; fd < max; fd++)
		if (!may_hold(fd))
			close(fd);
}

/* Its memory is a copy, its files are not. */
static int last_run(void *arg)
{
	siginfo_t info;
	sigset_t set;

	prctl(PR_SET_NAME, "mlccd-last");
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	split_drop_rights();
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (getppid() == start.parent)
		sigwaitinfo(&set, &info);
	close_what_closes();
	_exit(0);
}

/*** The socket ***/

/* One byte for who asks, and the socket with it once mlccd has ended.  True: he has it. */
static bool give(int door, int control, bool ended)
{
	int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC), err;

	if (fd < 0)
		return false;
	err = pass_send(fd, "", 1, &control, ended, MSG_DONTWAIT);
	close(fd);
	return !err && ended;
}

static bool last_is_there(int door)
{
	struct sockaddr_un a = { };
	socklen_t len = sizeof(a);

	return getsockname(door, (struct sockaddr *)&a, &len) || !access(a.sun_path, F_OK) ||
	       errno != ENOENT;
}

static void __attribute__((noreturn)) hold_run(const struct listening *l, pid_t mlccd)
{
	struct pollfd p[2] = { { .fd = 1, .events = POLLIN }, { .events = POLLIN } };
	uint64_t until = 0;
	sigset_t set;

	/* neither a reader of what mlccd writes, nor who has a lock by it, waits for this */
	if (dup2(l->control, 0) || dup2(l->door, 1) != 1)
		_exit(0);
	close_range(2, ~0U, 0);
	prctl(PR_SET_NAME, "mlccd-holder");
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	p[1].fd = syscall(SYS_pidfd_open, mlccd, 0);
	if (getppid() != mlccd)
		until = now_us() + HOLD_US;
	while (!until || (now_us() < until && last_is_there(1))) {
		if (poll(p, 2, until ? LOOK_MS : -1) < 0)
			break;
		if (p[1].revents) {
			until = now_us() + HOLD_US;
			p[1].fd = -1;
		}
		if (p[0].revents && give(1, 0, until))
			break;
	}
	_exit(0);
}

static void hold_start(const struct listening *l)
{
	pid_t mlccd = getpid(), child;

	start.held = -1;
	if (l->door < 0)
		return;
	child = fork();
	if (!child)
		hold_run(l, mlccd);
	close(l->door);
	if (child > 0)
		start.held = l->control;
	else
		note(4, "no process that hands the socket to the next mlccd: %s", strerror(errno));
}

void last_start(int sockets, const struct listening *l)
{
	static char stack[STACK] __attribute__((aligned(16)));

	hold_start(l);
	start.parent = getpid();
	start.kept_first = SD_LISTEN_FDS_START;
	start.kept_last = SD_LISTEN_FDS_START + (sockets > 0 ? sockets : 0) - 1;
	if (clone(last_run, stack + STACK, CLONE_FILES | SIGCHLD, NULL) < 0)
		note(4, "no process that closes files after the end: %s", strerror(errno));
}
