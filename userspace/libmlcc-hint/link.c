// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "link.h"
#include "reply.h"

#define REPLY_LEN	4096

static bool link_name_ok(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-";

	return strlen(name) < 64 && !name[strspn(name, allowed)];
}

int link_init(struct link *l, const char *socket, const char *name, bool plans, struct ring *ring)
{
	*l = (struct link){
		.addr.sun_family = AF_UNIX, .plans = plans, .fd = -1, .ring = ring,
	};
	if (strlen(socket) >= sizeof(l->addr.sun_path))
		return -ENAMETOOLONG;
	if (!link_name_ok(name))
		return -EINVAL;
	strcpy(l->addr.sun_path, socket);
	strcpy(l->name, name);
	return 0;
}

void link_drop(struct link *l, uint64_t now)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	l->state = LINK_DOWN;
	l->again_ns = now + LINK_AGAIN_NS;
}

static int send_packet(const struct link *l, const char *text, const int *fds)
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
	return sendmsg(l->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/*
 * 0, -EREMOTEIO if mlccd refuses, or another error; -EAGAIN: there is no reply yet.  Without room
 * for descriptors: should some come, the kernel closes them.
 */
static int receive(struct link *l, char reply[REPLY_LEN])
{
	ssize_t n = recv(l->fd, reply, REPLY_LEN - 1, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (!n)
		return -ECONNRESET;
	reply[n] = '\0';
	if (reply_ok(reply))
		return 0;
	reply_why(reply, l->why, sizeof(l->why));
	return -EREMOTEIO;
}

static int link_ask_job(struct link *l)
{
	char request[128] = "{\"op\":\"show\",\"self\":true}";

	/* mlccd knows which cgroup we are in, also where a container shows us another path */
	if (*l->name && !l->name[strspn(l->name, "0123456789")])
		snprintf(request, sizeof(request), "{\"op\":\"show\",\"job\":%lu}",
			 strtoul(l->name, NULL, 10));
	else if (*l->name)
		snprintf(request, sizeof(request), "{\"op\":\"show\",\"job\":\"%s\"}", l->name);
	l->state = LINK_ASKED_JOB;
	return send_packet(l, request, NULL);
}

static int ask_ring(struct link *l)
{
	char request[64] = "{\"op\":\"open-ring\"}";
	int err = ring_renew(l->ring);

	if (err)
		return err;
	/* who asks for no plan is not shown as one that follows it */
	if (l->plans)
		snprintf(request, sizeof(request), "{\"op\":\"open-ring\",\"job\":%u}", l->job);
	l->state = LINK_ASKED_RING;
	return send_packet(l, request, l->ring->fds);
}

/* -EAGAIN: mlccd has not accepted those before us yet. */
static int look_for_it(struct link *l)
{
	int err;

	l->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&l->addr, sizeof(l->addr)))
		return -errno;
	err = l->job && !l->refused ? ask_ring(l) : -EPERM;
	/* it may take no descriptors of whom it has not accepted */
	return err == -EPERM ? link_ask_job(l) : err;
}

static int take_job(struct link *l)
{
	char reply[REPLY_LEN];
	uint32_t job;
	int err = receive(l, reply);

	if (err)
		return err;
	job = reply_id(reply);
	if (!job) {
		snprintf(l->why, sizeof(l->why), "mlccd names no job");
		return -EREMOTEIO;
	}
	l->job = job;
	l->refused = false;
	return ask_ring(l);
}

static int take_ring(struct link *l)
{
	char reply[REPLY_LEN];
	int err = receive(l, reply);

	l->refused = err == -EREMOTEIO;
	if (!err)
		l->state = LINK_UP;
	return err;
}

/* It says nothing without being asked, unless it goes. */
static int still_there(struct link *l)
{
	char reply[REPLY_LEN];
	int err = receive(l, reply);

	return err == -EREMOTEIO ? 0 : err;
}

static int (*const steps[])(struct link *l) = {
	[LINK_DOWN] = look_for_it,
	[LINK_ASKED_JOB] = take_job,
	[LINK_ASKED_RING] = take_ring,
	[LINK_UP] = still_there,
};

static void explain(struct link *l, int err)
{
	if (err == -ECONNRESET)
		snprintf(l->why, sizeof(l->why), "it has gone");
	else if (err != -EREMOTEIO)
		snprintf(l->why, sizeof(l->why), "%s", strerror(-err));
	else if (!*l->why)
		snprintf(l->why, sizeof(l->why), "a reply that is none");
}

int link_step(struct link *l, uint64_t now)
{
	enum link_state before = l->state;
	int err;

	if (before == LINK_DOWN && now < l->again_ns)
		return 0;
	if (before == LINK_DOWN)
		l->again_ns = now + LINK_AGAIN_NS;
	err = steps[before](l);
	if (err == -EAGAIN && before == LINK_DOWN) {
		link_drop(l, now);
		return 0;
	}
	if (!err || (err == -EAGAIN && (before == LINK_UP || now < l->again_ns)))
		return 0;
	err = err == -EAGAIN ? -ETIMEDOUT : err;
	explain(l, err);
	link_drop(l, now);
	return err;
}

/* For a reply; where there is nothing to wait for, a moment. */
static void wait_a_little(const struct link *l, uint64_t now, uint64_t deadline)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	if (l->fd < 0)
		poll(NULL, 0, 5);
	else
		poll(&p, 1, (deadline - now) / MS_NS + 1);
}

int link_attach(struct link *l, unsigned int timeout_ms)
{
	uint64_t now = clock_now_ns(), deadline = now + timeout_ms * MS_NS;
	int err;

	link_drop(l, now);
	for (; now < deadline; now = clock_now_ns()) {
		if (l->state == LINK_DOWN)
			l->again_ns = 0;
		err = link_step(l, now);
		if (err || l->state == LINK_UP)
			return err;
		wait_a_little(l, now, deadline);
	}
	explain(l, -ETIMEDOUT);
	link_drop(l, now);
	return -ETIMEDOUT;
}
