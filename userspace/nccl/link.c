// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../include/mlcc/uapi/mlcc_ring.h"
#include "clock.h"
#include "link.h"
#include "log.h"
#include "reply.h"
#include "ring.h"

#define DEADLINE_NS	(200 * MS_NS)
#define AGAIN_NS	(2000 * MS_NS)
#define REPLY_LEN	4096

enum link_state {
	LINK_DOWN,
	LINK_ASKED,
	LINK_UP,
};

static struct {
	enum link_state state;
	bool pending;			/* records that nobody was woken for */
	bool warned;
	bool shift;			/* takes part in plans */
	int fd;
	int leader;			/* a socket whose name is held: it is we who wait for slots */
	uint32_t job;			/* 0: never attached */
	uint64_t again_ns;		/* when to try next */
	uint64_t lead_ns;		/* the same, to become the leader */
	uint64_t hung_ns;		/* until then init does not wait again */
	struct sockaddr_un addr;
} l = { .fd = -1, .leader = -1 };

static void drop_link(uint64_t now)
{
	if (l.fd >= 0)
		close(l.fd);
	l.fd = -1;
	l.state = LINK_DOWN;
	l.again_ns = now + AGAIN_NS;
}

static int set_address(const char *path)
{
	if (strlen(path) >= sizeof(l.addr.sun_path)) {
		log_line(NCCL_LOG_WARN, "MLCC_SOCKET: longer than %zu characters",
			 sizeof(l.addr.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	l.addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(l.addr.sun_path, path);
	return 0;
}

/* -EAGAIN: mlccd has not accepted those before us yet. */
static int try_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&l.addr, sizeof(l.addr))) {
		l.fd = fd;
		return 0;
	}
	err = -errno;
	close(fd);
	return err;
}

static int send_packet(const char *text, const int *fds)
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = { };
	struct iovec iov = { .iov_base = (char *)text, .iov_len = strlen(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fds) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(c), fds, 2 * sizeof(int));
	}
	return sendmsg(l.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Without room for descriptors: should some come, the kernel closes them. */
static int receive(char reply[REPLY_LEN])
{
	ssize_t n = recv(l.fd, reply, REPLY_LEN - 1, MSG_DONTWAIT);

	reply[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : n ? -errno : -ECONNRESET;
}

static int send_ring(void)
{
	char request[64] = "{\"op\":\"open-ring\"}";
	int fds[2];

	/* who asks for no plan is not shown as one that follows it */
	if (l.shift)
		snprintf(request, sizeof(request), "{\"op\":\"open-ring\",\"job\":%u}", l.job);
	ring_fds(fds);
	return send_packet(request, fds);
}

/* What only init does: it may wait until @deadline */

static int patient_connect(uint64_t deadline)
{
	const struct timespec pause = { .tv_nsec = 5 * MS_NS };
	int err;

	while ((err = try_connect()) == -EAGAIN && now_ns() < deadline)
		nanosleep(&pause, NULL);
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

static int patient_receive(char reply[REPLY_LEN], uint64_t deadline)
{
	struct pollfd p = { .fd = l.fd, .events = POLLIN };
	uint64_t now;
	int err;

	while ((err = receive(reply)) == -EAGAIN || err == -EINTR) {
		now = now_ns();
		if (now >= deadline)
			return -ETIMEDOUT;
		poll(&p, 1, (deadline - now) / MS_NS + 1);
	}
	return err;
}

/* 0, -EREMOTEIO when mlccd refused (@reply says why), or another error. */
static int ask(const char *request, char reply[REPLY_LEN], uint64_t deadline)
{
	int err = send_packet(request, NULL);

	err = err ? err : patient_receive(reply, deadline);
	return err ? err : reply_ok(reply) ? 0 : -EREMOTEIO;
}

static bool name_ok(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-";

	return *name && strlen(name) < 64 && !name[strspn(name, allowed)];
}

static int job_by_name(const char *name, char reply[REPLY_LEN], uint64_t deadline)
{
	char request[128];

	if (!name_ok(name)) {
		snprintf(reply, REPLY_LEN, "{\"error\":\"MLCC_JOB: no such name can be\"}");
		return -EREMOTEIO;
	}
	snprintf(request, sizeof(request), "{\"op\":\"show\",\"job\":\"%s\"}", name);
	return ask(request, reply, deadline);
}

/* mlccd knows which cgroup we are in, also where a container shows us another path. */
static int job_by_cgroup(char reply[REPLY_LEN], uint64_t deadline)
{
	return ask("{\"op\":\"show\",\"self\":true}", reply, deadline);
}

static int find_job(const char *name, char reply[REPLY_LEN], uint64_t deadline)
{
	int err;

	err = name ? job_by_name(name, reply, deadline) : job_by_cgroup(reply, deadline);
	if (err)
		return err;
	l.job = reply_id(reply);
	if (l.job)
		return 0;
	snprintf(reply, REPLY_LEN, "{\"error\":\"mlccd names no job\"}");
	return -EREMOTEIO;
}

static int hand_over(char reply[REPLY_LEN], uint64_t deadline)
{
	int err = ring_make();

	err = err ? err : send_ring();
	err = err ? err : patient_receive(reply, deadline);
	return err ? err : reply_ok(reply) ? 0 : -EREMOTEIO;
}

static void complain(int err, const char *reply)
{
	char why[128] = "";

	if (err == -EREMOTEIO)
		reply_error(reply, why, sizeof(why));
	log_line(NCCL_LOG_WARN, "no phases are announced: mlccd at %s: %s", l.addr.sun_path,
		 *why ? why : err == -EREMOTEIO ? "a reply that is none" : strerror(-err));
}

/* The name was another job's. */
static void resign(void)
{
	if (l.leader >= 0)
		close(l.leader);
	l.leader = -1;
	l.lead_ns = 0;
}

bool link_attached(void)
{
	return l.job;
}

int link_attach(const struct settings *s)
{
	uint64_t now = now_ns(), deadline = now + DEADLINE_NS;
	uint32_t before = l.job;
	char reply[REPLY_LEN] = "";
	int err;

	if (l.state == LINK_UP)
		link_edge(now);
	if (l.state == LINK_UP || now < l.hung_ns)
		return l.state == LINK_UP ? 0 : -ETIMEDOUT;
	drop_link(now);
	l.shift = s->shift;
	err = set_address(s->socket);
	if (err)
		return err;
	err = patient_connect(deadline);
	err = err ? err : find_job(s->job, reply, deadline);
	err = err ? err : hand_over(reply, deadline);
	if (!err) {
		l.state = LINK_UP;
		l.warned = false;
		if (l.job != before)
			resign();
		log_line(NCCL_LOG_INFO, "announces the phases of job %u", l.job);
		return 0;
	}
	complain(err, reply);
	drop_link(now_ns());
	/* the job that we once had is tried again at the edges */
	l.job = before;
	if (err == -ETIMEDOUT)
		l.hung_ns = now_ns() + 5 * AGAIN_NS;
	return err;
}

/* What the edges do */

static void lost(uint64_t now)
{
	drop_link(now);
	if (!l.warned)
		log_line(NCCL_LOG_WARN, "mlccd at %s has gone: phases are announced when it is back",
			 l.addr.sun_path);
	l.warned = true;
}

static void look(uint64_t now)
{
	char reply[REPLY_LEN];
	int err = receive(reply);

	if (err == -EAGAIN || err == -EINTR) {
		if (l.state == LINK_ASKED && now >= l.again_ns)
			drop_link(now);
	} else if (err || (l.state == LINK_ASKED && !reply_ok(reply))) {
		lost(now);
	} else if (l.state == LINK_ASKED) {
		l.state = LINK_UP;
		l.warned = false;
		log_line(NCCL_LOG_INFO, "mlccd is back");
	}
}

static void again(uint64_t now)
{
	l.again_ns = now + AGAIN_NS;
	if (try_connect())
		return;
	if (send_ring())
		drop_link(now);
	else
		l.state = LINK_ASKED;
}

static uint64_t hash_of(const char *s)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	return h;
}

/* To be who waits; by a name that ends with its process, whatever way, and needs no file. */
static void lead(uint64_t now)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int n, fd;

	if (l.leader >= 0 || now < l.lead_ns)
		return;
	l.lead_ns = now + AGAIN_NS;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "mlcc-nccl-%u-%016llx-%u",
		     getuid(), (unsigned long long)hash_of(l.addr.sun_path), l.job);
	if (!bind(fd, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + 1 + n))
		l.leader = fd;
	else
		close(fd);
}

void link_edge(uint64_t now)
{
	if (!l.job)
		return;
	if (l.shift)
		lead(now);
	if (l.state != LINK_DOWN)
		look(now);
	if (l.state == LINK_DOWN && now >= l.again_ns)
		again(now);
}

static void tell(uint16_t type, uint64_t bytes, uint64_t now)
{
	if (l.state == LINK_DOWN)
		return;
	ring_put(type, l.job, bytes, now);
	l.pending = true;
}

void link_start(uint64_t bytes, uint64_t now)
{
	tell(MLCC_RING_PHASE_START, bytes < 1ULL << 48 ? bytes : 0, now);
}

void link_end(uint64_t now)
{
	tell(MLCC_RING_PHASE_END, 0, now);
}

struct mlcc_ring *link_plan(void)
{
	return l.shift && l.state == LINK_UP && l.leader >= 0 ? ring_map() : NULL;
}

void link_wake(void)
{
	if (l.pending)
		ring_wake();
	l.pending = false;
}
