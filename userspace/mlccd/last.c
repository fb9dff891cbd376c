// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "../common/err.h"
#include "last.h"
#include "porter.h"

#define STACK	16384

static struct {
	pid_t parent;
	int kept_first, kept_last;	/* the service manager's, who has them open, too */
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
	    option(fd, SO_DOMAIN) != AF_UNIX || option(fd, SO_TYPE) != SOCK_SEQPACKET)
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
	porter_drop_rights();
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (getppid() == start.parent)
		sigwaitinfo(&set, &info);
	close_what_closes();
	_exit(0);
}

void last_start(int sockets)
{
	static char stack[STACK] __attribute__((aligned(16)));

	start.parent = getpid();
	start.kept_first = SD_LISTEN_FDS_START;
	start.kept_last = SD_LISTEN_FDS_START + (sockets > 0 ? sockets : 0) - 1;
	if (clone(last_run, stack + STACK, CLONE_FILES | SIGCHLD, NULL) < 0)
		note(4, "no process that closes files after the end: %s", strerror(errno));
}
