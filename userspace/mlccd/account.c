// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "account.h"
#include "cgroup.h"
#include "config.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77	/* since Linux 6.5; newer than Debian 12's header */
#endif

#define TOKEN	1000000ULL

/* Capabilities are those of a user namespace, and anybody has all of them in one of his own. */
static bool is_in_our_userns(pid_t pid)
{
	struct stat ours, theirs;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/ns/user", pid);
	return !stat("/proc/self/ns/user", &ours) && !stat(name, &theirs) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static bool has_net_admin(pid_t pid)
{
	unsigned long long caps = 0;
	char name[64], line[256];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	f = fopen(name, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	fclose(f);
	return caps >> CAP_NET_ADMIN & 1;
}

/* A pidfd is readable once its process has ended. */
bool who_lives(const struct who *who)
{
	struct pollfd p = { .fd = who->pidfd, .events = POLLIN };

	return who->pidfd >= 0 && !poll(&p, 1, 0);
}

/* Before Linux 6.5 the number may be another's by now, if who has connected has ended. */
static int pidfd_of(int fd, pid_t pid)
{
	int pidfd;
	socklen_t len = sizeof(pidfd);

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len))
		return pidfd;
	return errno == ENOPROTOOPT && pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

int who_of(int fd, struct who *who)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	who->fd = fd;
	who->pidfd = pidfd_of(fd, cred.pid);
	who->cgroup = cgroup_watch_pid(cred.pid);
	who->uid = cred.uid;
	who->pid = cred.pid;
	/* the uid is as seen from here: of root in a user namespace it is the one before */
	who->admin = !cred.uid && cred.pid > 0 && has_net_admin(cred.pid) &&
		     is_in_our_userns(cred.pid) && who_lives(who);
	return 0;
}

void who_free(struct who *who)
{
	if (who->pidfd >= 0)
		close(who->pidfd);
	if (who->cgroup >= 0)
		close(who->cgroup);
	who->pidfd = -1;
	who->cgroup = -1;
}

bool who_is_in(const struct who *who, gid_t gid)
{
	static gid_t groups[NGROUPS_MAX];
	socklen_t len = sizeof(struct ucred);
	struct ucred cred;

	if (!getsockopt(who->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) && cred.gid == gid)
		return true;
	len = sizeof(groups);
	if (getsockopt(who->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		return false;
	for (size_t i = 0; i < len / sizeof(*groups); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

struct account *account_get(struct accounts *all, uid_t uid, const struct config *c,
			    uint64_t now_us)
{
	struct account *a;

	for (a = all->first; a; a = a->next)
		if (a->uid == uid)
			return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->uid = uid;
	a->requests = (struct bucket){ c->requests_burst * TOKEN, now_us };
	a->hints = (struct bucket){ c->hints_burst * TOKEN, now_us };
	a->next = all->first;
	all->first = a;
	return a;
}

static void bucket_fill(struct bucket *b, uint32_t per_second, uint32_t burst, uint64_t now_us)
{
	uint64_t passed = now_us - b->at_us;

	/* an hour fills any bucket, and does not overflow */
	if (passed > 3600 * TOKEN)
		passed = 3600 * TOKEN;
	b->tokens += passed * per_second;
	if (b->tokens > burst * TOKEN)
		b->tokens = burst * TOKEN;
	b->at_us = now_us;
}

bool bucket_take(struct bucket *b, uint32_t per_second, uint32_t burst, uint64_t now_us)
{
	bucket_fill(b, per_second, burst, now_us);
	if (b->tokens < TOKEN)
		return false;
	b->tokens -= TOKEN;
	return true;
}

void accounts_prune(struct accounts *all, const struct config *c, uint64_t now_us)
{
	struct account **p = &all->first, *a;

	while ((a = *p)) {
		bucket_fill(&a->requests, c->requests_per_second, c->requests_burst, now_us);
		bucket_fill(&a->hints, c->hints_per_second, c->hints_burst, now_us);
		if (a->connections || a->rings || a->fetches || a->requests.tokens < c->requests_burst * TOKEN ||
		    a->hints.tokens < c->hints_burst * TOKEN) {
			p = &a->next;
			continue;
		}
		*p = a->next;
		free(a);
	}
}
