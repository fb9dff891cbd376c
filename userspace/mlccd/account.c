// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/clock.h"
#include "../common/sysroot.h"
#include "account.h"
#include "cgroup.h"
#include "config.h"
#include "keep.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77	/* since Linux 6.5; newer than Debian 12's header */
#endif

#define TOKEN		1000000ULL
#define GROUPS		1024
#define SLOW		64	/* users whose cgroups took longer */
#define SLOW_US		1000	/* than this */
#define SLOW_PART	20	/* are looked at for one part of so many */
#define SUBUID_US	5000000		/* how long what is read is believed */
#define SUBUID_MAX	65536

static bool ns_of(const char *path, struct ns *ns)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	*ns = (struct ns){ st.st_dev, st.st_ino };
	return true;
}

static bool ns_is(pid_t pid, const char *which, const struct ns *wanted)
{
	char path[64];
	struct ns ns;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, which);
	return wanted->ino && ns_of(path, &ns) && ns.dev == wanted->dev && ns.ino == wanted->ino;
}

int home_find(struct home *h)
{
	AUTO_CLOSE int net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), owner = -1;
	struct stat st;

	*h = (struct home){ };
	ns_of("/proc/self/ns/cgroup", &h->cgroups);
	ns_of("/proc/self/ns/pid", &h->pids);
	owner = net < 0 ? -1 : ioctl(net, NS_GET_USERNS);
	if (owner < 0 || fstat(owner, &st) || !ns_of("/proc/self/ns/net", &h->net))
		return -errno;
	h->owner = (struct ns){ st.st_dev, st.st_ino };
	return 0;
}

/* Not by /proc: what a process may make long there, such as its groups, takes as long. */
static bool has_net_admin(pid_t pid)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, pid };
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &head, has) && has[0].effective >> CAP_NET_ADMIN & 1;
}

/* A pidfd is readable once its process has ended. */
bool who_lives(const struct who *who)
{
	struct pollfd p = { .fd = who->pidfd, .events = POLLIN };

	return who->pidfd >= 0 && !poll(&p, 1, 0);
}

bool who_has_our_pids(const struct who *who)
{
	const struct keep_ask a = { .op = KEEP_PIDS, .id = who->pid };

	return who->pid > 0 && !keep_ask(&a, NULL)->err;
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

bool home_has_admin(const struct home *h, pid_t pid)
{
	return has_net_admin(pid) && ns_is(pid, "user", &h->owner) && ns_is(pid, "net", &h->net);
}

bool home_has_cgroups(const struct home *h, pid_t pid)
{
	return ns_is(pid, "cgroup", &h->cgroups);
}

/* One that has ended is taken to have ours. */
bool home_has_pids(const struct home *h, pid_t pid)
{
	errno = 0;
	return ns_is(pid, "pid", &h->pids) || errno == ENOENT;
}

/* Namespaces of others' processes are not for everybody to see. */
static bool is_admin(pid_t pid)
{
	const struct keep_ask a = { .op = KEEP_ADMIN, .id = pid };

	return !keep_ask(&a, NULL)->err;
}

pid_t who_pid(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ? 0 : cred.pid;
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
	/*
	 * The uid is as seen from here: of root in a user namespace it is the one before.
	 * Capabilities are those of the process's own user namespace, over its network namespaces.
	 */
	who->admin = !cred.uid && cred.pid > 0 && is_admin(cred.pid) && who_lives(who);
	return 0;
}

/*
 * Of an account there is none yet, as it may be the cgroup's. Who is thousands deep, where the
 * kernel does not tell the id, keeps others waiting for a part of the time.
 */
int who_cgroup(const struct who *who, char path[PATH_MAX])
{
	static struct {
		uid_t uid;
		uint64_t until_us;
	} slow[SLOW], *s;
	uid_t uid = account_uid(who->uid);
	clock_t began, took;
	int err;

	s = &slow[uid % SLOW];
	if (who->cgroup < 0)
		return -ESRCH;
	if (s->uid == uid && now_us() < s->until_us)
		return -EAGAIN;
	began = clock();
	err = cgroup_watched(who->cgroup, who->pidfd, path);
	took = clock() - began;
	if (took > SLOW_US) {
		s->uid = uid;
		s->until_us = now_us() + SLOW_PART * took;
	}
	return err;
}

/* What was asked last: each record of a ring asks it again. */
static struct {
	int fd;
	gid_t gid;
	bool is_in;
} asked = { .fd = -1 };

void who_free(struct who *who)
{
	asked.fd = -1;
	if (who->pidfd >= 0)
		close(who->pidfd);
	if (who->cgroup >= 0)
		close(who->cgroup);
	who->pidfd = -1;
	who->cgroup = -1;
}

/* Who is in more groups, of which each takes a while, is in none of them. */
static bool account_is_in(const struct who *who, gid_t gid)
{
	gid_t groups[GROUPS];
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

bool who_is_in(const struct who *who, gid_t gid)
{
	if (asked.fd != who->fd || asked.gid != gid) {
		asked.is_in = account_is_in(who, gid);
		asked.fd = who->fd;
		asked.gid = gid;
	}
	return asked.is_in;
}

/*** Subordinate ids ***/

static struct range {
	uint32_t first, count;
} *ranges;
static size_t range_count;

/* A line is "NAME:FIRST:COUNT". */
static void ranges_parse(char *text)
{
	char *line;

	free(ranges);
	ranges = NULL;
	range_count = 0;
	while ((line = strsep(&text, "\n"))) {
		struct range r, *more;

		if (sscanf(line, "%*[^:]:%" SCNu32 ":%" SCNu32, &r.first, &r.count) != 2)
			continue;
		more = grow(ranges, range_count, sizeof(r));
		if (!more)
			return;
		ranges = more;
		ranges[range_count++] = r;
	}
}

/* Now and then: users are added while the daemon runs. */
static void ranges_read(void)
{
	static uint64_t looked_us;
	static char text[SUBUID_MAX];
	uint64_t now = now_us();

	if (looked_us && now < looked_us + SUBUID_US)
		return;
	looked_us = now;
	if (sysroot_read("etc/subuid", text, sizeof(text)) > 0)
		ranges_parse(text);
}

uid_t account_uid(uid_t uid)
{
	ranges_read();
	for (size_t i = 0; i < range_count; i++)
		if (uid >= ranges[i].first && uid - ranges[i].first < ranges[i].count)
			return ranges[i].first;
	return uid;
}

/*** Accounts ***/

struct account *account_get(struct accounts *all, uid_t uid, uint64_t cgroup,
			    const struct config *c, uint64_t now_us)
{
	struct account *a;

	uid = account_uid(uid);
	for (a = all->first; a; a = a->next)
		if (a->uid == uid && a->cgroup == cgroup)
			return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->uid = uid;
	a->cgroup = cgroup;
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

bool bucket_take(struct bucket *b, uint32_t per_second, uint32_t burst, uint64_t now_us,
		 uint32_t tokens)
{
	if (tokens > burst)
		tokens = burst;
	bucket_fill(b, per_second, burst, now_us);
	if (b->tokens < tokens * TOKEN)
		return false;
	b->tokens -= tokens * TOKEN;
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
