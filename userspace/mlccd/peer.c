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

#include "request.h"

#define LIMITED_MAX	64	/* refusals for the rate, then the connection is closed */

struct peer {
	struct source s;
	struct peer *next;
	struct who who;
	struct account *account;
	struct ring *ring;
	struct json_object *reply;	/* that the peer has not taken */
	int out[RING_FDS];
	unsigned int out_count, limited;
	uint64_t drop_at;
};

static struct source listener = { .fd = -1 };
static int spare = -1;

static void close_all(int *fds, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
}

static void reply_done(struct peer *p)
{
	json_object_put(p->reply);
	close_all(p->out, p->out_count);
	p->reply = NULL;
	p->out_count = 0;
}

static void peer_close(struct mlccd *d, struct peer *p)
{
	struct peer **at = &d->peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (p->ring)
		ring_close(d, p->ring);
	reply_done(p);
	source_del(d, &p->s);
	p->account->connections--;
	d->peer_count--;
	free(p);
}

/* 0, or a negative error number; -EAGAIN: it does not fit now. */
static int send_reply(struct peer *p)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * RING_FDS)];
	} control = { };
	struct iovec io;
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
	struct cmsghdr *c;
	size_t len;

	io.iov_base = (char *)json_object_to_json_string_length(p->reply, JSON_STYLE,
								&len);
	io.iov_len = len;
	if (p->out_count) {
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * p->out_count);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * p->out_count);
		memcpy(CMSG_DATA(c), p->out, sizeof(int) * p->out_count);
	}
	if (len > REPLY_MAX) {
		json_object_put(p->reply);
		p->reply = reply_error(-EMSGSIZE, "the reply would be too long");
		return send_reply(p);
	}
	return sendmsg(p->s.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Sends, or keeps; closes the peer if that is gone. */
static void flush_reply(struct mlccd *d, struct peer *p)
{
	int err = send_reply(p);

	if (err == -EAGAIN || err == -ENOBUFS) {
		if (p->drop_at == NEVER) {
			p->drop_at = now_us() + d->config.peer_timeout_ms * 1000ULL;
			source_mod(d, &p->s, EPOLLOUT);
		}
		return;
	}
	if (err) {
		peer_close(d, p);
		return;
	}
	reply_done(p);
	if (p->drop_at != NEVER)
		source_mod(d, &p->s, EPOLLIN);
	p->drop_at = NEVER;
	if (p->limited > LIMITED_MAX) {
		d->counters.dropped_peers++;
		peer_close(d, p);
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

static struct json_object *answer(struct mlccd *d, struct peer *p, struct msghdr *m, size_t len)
{
	struct request r = {
		.d = d, .who = &p->who, .account = p->account, .ring = &p->ring,
	};
	const struct config *c = &d->config;
	struct json_object *reply;

	r.fd_count = received_fds(m, r.fds);
	if (!p->who.admin && !bucket_take(&p->account->requests, c->requests_per_second,
					  c->requests_burst, now_us())) {
		p->limited++;
		d->counters.limited++;
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
	memcpy(p->out, r.out, sizeof(p->out));
	p->out_count = r.out_count;
	return reply;
}

static void peer_read(struct mlccd *d, struct peer *p)
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

	n = recvmsg(p->s.fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* an empty packet looks like the end, and is none of ours */
	if (n <= 0) {
		peer_close(d, p);
		return;
	}
	p->reply = answer(d, p, &m, n);
	flush_reply(d, p);
}

static void peer_ready(struct mlccd *d, struct source *s, uint32_t events)
{
	struct peer *p = (struct peer *)s;

	if (p->reply && events & EPOLLOUT)
		flush_reply(d, p);
	else if (p->reply || !(events & EPOLLIN))
		peer_close(d, p);	/* EPOLLHUP or EPOLLERR */
	else
		peer_read(d, p);
}

static const char *refuse(struct mlccd *d, const struct who *who, struct account *a)
{
	const struct config *c = &d->config;

	if (!a)
		return "no memory";
	if (who->admin)
		return NULL;
	/* a tenth is kept for root */
	if (d->peer_count >= c->connections - c->connections / 10)
		return "too many connections";
	if (a->connections >= c->connections_per_user)
		return "too many connections of this user";
	if (!bucket_take(&a->requests, c->requests_per_second, c->requests_burst, now_us()))
		return "too many requests: wait";
	return NULL;
}

static int peer_new(struct mlccd *d, int fd, const struct who *who, struct account *a)
{
	struct peer *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->s = (struct source){ fd, peer_ready };
	p->who = *who;
	p->account = a;
	p->drop_at = NEVER;
	err = source_add(d, &p->s, EPOLLIN);
	if (err) {
		free(p);
		return err;
	}
	a->connections++;
	d->peer_count++;
	p->next = d->peers;
	d->peers = p;
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
static void out_of_descriptors(struct source *s)
{
	close(spare);
	close(accept4(s->fd, NULL, NULL, SOCK_CLOEXEC));
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accepted(struct mlccd *d, struct source *s, uint32_t events)
{
	struct account *a = NULL;
	const char *why;
	struct who who;
	int fd;

	(void)events;
	fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && errno == EMFILE)
		out_of_descriptors(s);
	if (fd < 0)
		return;
	if (!who_of(fd, &who))
		a = account_get(&d->accounts, who.uid, &d->config, now_us());
	why = refuse(d, &who, a);
	if (why) {
		d->counters.limited++;
		say_refused(fd, why);
	}
	if (why || peer_new(d, fd, &who, a))
		close(fd);
}

int peers_listen(struct mlccd *d, int fd)
{
	listener = (struct source){ fd, accepted };
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return source_add(d, &listener, EPOLLIN);
}

uint64_t peers_tick(struct mlccd *d, uint64_t now)
{
	struct peer *p, *next;
	uint64_t due = NEVER;

	for (p = d->peers; p; p = next) {
		next = p->next;
		if (p->drop_at <= now) {
			note(5, "drops process %d of user %u, which does not read", p->who.pid,
			     p->who.uid);
			d->counters.dropped_peers++;
			peer_close(d, p);
		} else if (p->drop_at < due) {
			due = p->drop_at;
		}
	}
	return due;
}

void peers_close(struct mlccd *d)
{
	while (d->peers)
		peer_close(d, d->peers);
	if (listener.fd >= 0)
		source_del(d, &listener);
}
