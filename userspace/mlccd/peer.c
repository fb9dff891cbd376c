// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The control socket: SEQPACKET, a JSON object each way in a packet.
 *
 * Nothing here waits.  A reply that does not fit into the socket is kept, and the peer is not
 * listened to until it has taken it; one that does not within the time-out is dropped.  So a peer
 * holds one reply at most, and each gets its turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/clock.h"
#include "request.h"

#define LIMITED_MAX	64	/* refusals for the rate, then the connection is closed */

struct peer {
	struct mlccd *d;
	struct peer *next;
	int fd;				/* the source's, which closes it */
	sd_event_source *io;
	sd_event_source *late;		/* when it is dropped; off: it takes what it is sent */
	struct who who;
	struct account *account;
	struct ring *ring;
	struct json_object *reply;	/* that the peer has not taken */
	unsigned int limited;
};

static int spare = -1;

static void close_all(int *fds, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
}

static void reply_done(struct peer *p)
{
	json_object_put(p->reply);
	p->reply = NULL;
}

static void peer_close(struct peer *p)
{
	struct peers *all = &p->d->peers;
	struct peer **at = &all->first;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (p->ring)
		ring_close(p->ring);
	reply_done(p);
	sd_event_source_unref(p->late);
	sd_event_source_unref(p->io);
	who_free(&p->who);
	p->account->connections--;
	all->count--;
	free(p);
}

/* 0, or a negative error number; -EAGAIN: it does not fit now. */
static int send_reply(struct peer *p)
{
	const char *text;
	size_t len;

	text = json_object_to_json_string_length(p->reply, JSON_STYLE, &len);
	if (len > REPLY_MAX) {
		json_object_put(p->reply);
		p->reply = reply_error(-EMSGSIZE, "the reply would be too long");
		return send_reply(p);
	}
	return send(p->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Listens to the peer, or waits until it has room for its reply, but not for ever. */
static void peer_waits(struct peer *p, bool for_room)
{
	uint64_t timeout = p->d->config.peer_timeout_ms * 1000ULL;

	sd_event_source_set_io_events(p->io, for_room ? EPOLLOUT : EPOLLIN);
	sd_event_source_set_time(p->late, now_us() + timeout);
	sd_event_source_set_enabled(p->late, for_room ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* Sends, or keeps; closes the peer if that is gone.  @again: it has been kept before. */
static void flush_reply(struct peer *p, bool again)
{
	int err = send_reply(p);

	if (err == -EAGAIN || err == -ENOBUFS) {
		if (!again)
			peer_waits(p, true);
		return;
	}
	if (err) {
		peer_close(p);
		return;
	}
	reply_done(p);
	if (again)
		peer_waits(p, false);
	if (p->limited > LIMITED_MAX) {
		p->d->peers.dropped++;
		peer_close(p);
	}
}

/* The descriptors of a packet; more than fit are closed by the kernel, with MSG_CTRUNC. */
static unsigned int received_fds(struct msghdr *m, int fds[RING_FDS])
{
	unsigned int count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		unsigned int n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (unsigned int i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (count < RING_FDS)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	return count;
}

static struct json_object *answer(struct peer *p, struct msghdr *m, size_t len)
{
	struct mlccd *d = p->d;
	struct request r = {
		.d = d, .who = &p->who, .account = p->account, .ring = &p->ring,
	};
	const struct config *c = &d->config;
	struct json_object *reply;

	r.fd_count = received_fds(m, r.fds);
	if (!p->who.admin && !bucket_take(&p->account->requests, c->requests_per_second,
					  c->requests_burst, now_us())) {
		p->limited++;
		d->peers.limited++;
		reply = reply_error(-EAGAIN, "too many requests: wait");
	} else if (m->msg_flags & MSG_TRUNC) {
		reply = reply_error(-EMSGSIZE, "a request has at most 65536 bytes");
	} else if (m->msg_flags & MSG_CTRUNC) {
		reply = reply_error(-EINVAL, "at most two descriptors are taken");
	} else {
		p->limited = 0;
		reply = request_handle(&r, m->msg_iov->iov_base, len);
	}
	close_all(r.fds, r.fd_count);
	return reply;
}

static void peer_read(struct peer *p)
{
	static char text[REQUEST_MAX];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * RING_FDS)];
	} control;
	struct iovec io = { .iov_base = text, .iov_len = sizeof(text) };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1,
		.msg_control = control.space, .msg_controllen = sizeof(control.space),
	};
	ssize_t n;

	n = recvmsg(p->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* an empty packet looks like the end, and is none of ours */
	if (n <= 0) {
		peer_close(p);
		return;
	}
	p->reply = answer(p, &m, n);
	flush_reply(p, false);
}

static int peer_ready(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	struct peer *p = arg;

	if (p->reply && events & EPOLLOUT)
		flush_reply(p, true);
	else if (p->reply || !(events & EPOLLIN))
		peer_close(p);	/* EPOLLHUP or EPOLLERR */
	else
		peer_read(p);
	return 0;
}

static int peer_late(sd_event_source *s, uint64_t at, void *arg)
{
	struct peer *p = arg;

	note(5, "drops process %d of user %u, which does not read", p->who.pid, p->who.uid);
	p->d->peers.dropped++;
	peer_close(p);
	return 0;
}

static const char *refuse(struct mlccd *d, const struct who *who, struct account *a)
{
	const struct config *c = &d->config;

	if (!a)
		return "no memory";
	if (who->admin)
		return NULL;
	/* a tenth is kept for root */
	if (d->peers.count >= c->connections - c->connections / 10)
		return "too many connections";
	if (a->connections >= c->connections_per_user)
		return "too many connections of this user";
	if (!bucket_take(&a->requests, c->requests_per_second, c->requests_burst, now_us()))
		return "too many requests: wait";
	return NULL;
}

static int peer_watch(struct peer *p)
{
	sd_event *events = p->d->events;
	int err;

	err = sd_event_add_time(events, &p->late, CLOCK_MONOTONIC, 0, 1000, peer_late, p);
	if (err >= 0)
		err = sd_event_source_set_enabled(p->late, SD_EVENT_OFF);
	if (err >= 0)
		err = sd_event_add_io(events, &p->io, p->fd, EPOLLIN, peer_ready, p);
	return err < 0 ? err : 0;
}

/* Takes over @fd, unless that fails. */
static int peer_new(struct mlccd *d, int fd, const struct who *who, struct account *a)
{
	struct peer *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->d = d;
	p->fd = fd;
	p->who = *who;
	p->account = a;
	err = peer_watch(p);
	if (err) {
		sd_event_source_unref(p->late);
		free(p);
		return err;
	}
	sd_event_source_set_io_fd_own(p->io, true);
	a->connections++;
	p->next = d->peers.first;
	d->peers.first = p;
	d->peers.count++;
	return 0;
}

static void say_refused(int fd, const char *why)
{
	struct json_object *o = reply_error(-EAGAIN, why);
	const char *text = json_object_to_json_string_ext(o, JSON_STYLE);

	send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
	json_object_put(o);
}

/* One that waits for ever would wake us for ever: it is turned away instead. */
static void out_of_descriptors(int listener)
{
	close(spare);
	close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int accepted(sd_event_source *s, int listener, uint32_t events, void *arg)
{
	struct who who = { .pidfd = -1, .cgroup = -1 };
	struct account *a = NULL;
	struct mlccd *d = arg;
	const char *why;
	int fd;

	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		out_of_descriptors(listener);
	if (fd < 0)
		return 0;
	if (!who_of(fd, &who))
		a = account_get(&d->accounts, who.uid, &d->config, now_us());
	why = refuse(d, &who, a);
	if (why) {
		d->peers.limited++;
		say_refused(fd, why);
	}
	if (why || peer_new(d, fd, &who, a)) {
		who_free(&who);
		close(fd);
	}
	return 0;
}

int peers_listen(struct mlccd *d, int fd)
{
	int err = sd_event_add_io(d->events, &d->peers.listener, fd, EPOLLIN, accepted, d);

	if (err < 0)
		return err;
	sd_event_source_set_io_fd_own(d->peers.listener, true);
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

void peers_close(struct mlccd *d)
{
	while (d->peers.first)
		peer_close(d->peers.first);
	sd_event_source_unref(d->peers.listener);
}
