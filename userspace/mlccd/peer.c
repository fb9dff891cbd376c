// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The control socket: SEQPACKET, a JSON object each way in a packet.
 *
 * Nothing here waits.  A reply that does not fit into the socket is kept, and the peer is not
 * listened to until it has taken it; one that does not within the time-out is dropped.  So each gets
 * its turn; what is queued is charged to mlccd, so the socket is as small as the longest reply allows.
 *
 * Packets may come with descriptors, which only open-ring wants.  They are neither received nor
 * closed here, as either may wait for what their sender likes (away.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/clock.h"
#include "pass.h"
#include "request.h"

#define LIMITED_MAX	64	/* refusals for the rate beyond what is answered, then it is closed */
#define ACCEPTS		4000	/* connections in a second, */
#define ACCEPTS_BURST	200
#define PAUSE_US	5000	/* and where there are more the next ones wait for so long */
#define ACCEPTS_AT_ONCE	8
#define AGAIN_US	20000	/* a process that was refused is not looked at again before */
#define QUEUED		16	/* packets that are taken off a connection before it is closed */
#define REST_US		50000	/* after a refusal for the rate */
#define TOKEN_BYTES	1024	/* of a request, for which a token more is taken */
#define SNDBUF		(REPLY_MAX / 2 + 64)	/* the kernel doubles it, and needs some */
#define ELSEWHERE_US	1000000	/* for what is received elsewhere */
#define FETCHES_OF_ONE	4	/* of descriptors, of a user, that have not ended */
#define FETCHES_ALL	128	/* of all, */
#define FETCHES		90	/* of those that are not root, */
#define FETCHES_LEFT	8	/* of which each leaves so many for each that he has */
#define KEPT_OF_ONE	4	/* replies that do not fit into the socket, of a user */
#define WAITING		128	/* connections that wait to be closed */
#define CLOSERS		64	/* workers that close them */

struct peer {
	struct mlccd *d;
	struct peer *next;
	int fd;
	sd_event_source *io;
	sd_event_source *late;		/* when it is dropped; off: it takes what it is sent */
	struct who who;
	struct account *account;
	struct ring *ring;
	uint32_t neutral;		/* the job that it has made so, or NEUTRAL_ALL; 0: none */
	struct json_object *reply;	/* that the peer has not taken */
	bool kept;			/* which counts for the account */
	bool held;			/* by a worker: the connection cannot be closed yet */
	bool gone;			/* it is to be closed then */
	unsigned int limited;
	bool rests;			/* not listened to: it asks too much */
};

/* What a worker receives. */
struct fetch {
	struct mlccd *d;
	struct peer *peer;		/* NULL: it has its answer */
	struct account *account;
	size_t len;
	char text[];			/* of the request that they are with */
};

static int spare = -1;

/*
 * Whether anything is queued on a connection that nobody can send on any more, beside a few packets
 * without descriptors: of an empty one, too, the credentials would be told.
 */
static bool holds_something(int fd)
{
	struct msghdr m = { };
	int one = 1;

	shutdown(fd, SHUT_RDWR);
	for (int i = 0; i < QUEUED; i++) {
		m.msg_flags = 0;
		if (recvmsg(fd, &m, MSG_PEEK | MSG_DONTWAIT) || m.msg_flags != MSG_TRUNC)
			break;
		recv(fd, NULL, 0, MSG_DONTWAIT);
	}
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	m.msg_flags = 0;
	return recvmsg(fd, &m, MSG_PEEK | MSG_DONTWAIT) || m.msg_flags;
}

/* Only what holds no descriptors of others is closed here (away.h). */
static void connection_close(struct mlccd *d, int fd, away_done *done, void *arg)
{
	if (holds_something(fd)) {
		away_close(d->peers.away, fd, done, arg);
		return;
	}
	close(fd);
	if (done)
		done(arg);
}

static void reply_done(struct peer *p)
{
	json_object_put(p->reply);
	p->reply = NULL;
	p->account->kept -= p->kept;
	p->kept = false;
}

/* Its connection counts for as long as it is there. */
static void peer_closed(void *arg)
{
	struct peer *p = arg;

	p->account->connections--;
	p->d->peers.users -= !p->who.admin;
	p->d->peers.count--;
	free(p);
}

static void peer_remove(struct peer *p)
{
	struct peer **at = &p->d->peers.first;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	connection_close(p->d, p->fd, peer_closed, p);
}

/* Jobs are as they were set again, however the one ends who has measured them. */
static void neutral_close(struct peer *p)
{
	struct jobs *jobs = &p->d->jobs;
	struct job *job = p->neutral < JOB_IDS ? jobs->by_id[p->neutral] : NULL;
	struct err e;
	int err = 0;

	if (p->neutral == NEUTRAL_ALL)
		err = jobs_neutral_all(jobs, false, &e);
	else if (job && job->neutral)
		err = jobs_neutral(jobs, job, false, &e);
	if (err)
		note(4, "jobs stay neutral until the carrier can be told: %s", e.text);
	p->neutral = 0;
}

static void peer_close(struct peer *p)
{
	if (p->gone)
		return;
	p->gone = true;
	if (p->ring)
		ring_close(p->ring);
	p->ring = NULL;
	neutral_close(p);
	reply_done(p);
	p->late = sd_event_source_disable_unref(p->late);
	p->io = sd_event_source_disable_unref(p->io);
	who_free(&p->who);
	if (!p->held)
		peer_remove(p);
}

/* False: that was all that it was kept for. */
static bool peer_release(struct peer *p)
{
	p->held = false;
	if (!p->gone)
		return true;
	peer_remove(p);
	return false;
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

static void peer_rests(struct peer *p, uint64_t timeout_us)
{
	sd_event_source_set_enabled(p->io, SD_EVENT_OFF);
	sd_event_source_set_time(p->late, now_us() + timeout_us);
	sd_event_source_set_enabled(p->late, SD_EVENT_ONESHOT);
}

/* Listens to the peer, or waits until it has room for its reply, but not for ever. */
static void peer_waits(struct peer *p, bool for_room)
{
	uint64_t timeout = p->d->config.peer_timeout_ms * 1000ULL;

	sd_event_source_set_io_events(p->io, for_room ? EPOLLOUT : EPOLLIN);
	sd_event_source_set_time(p->late, now_us() + timeout);
	sd_event_source_set_enabled(p->late, for_room ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* False: its user has enough of them, each as much memory as the longest reply has parts. */
static bool keep_reply(struct peer *p)
{
	if (!p->who.admin && p->account->kept >= KEPT_OF_ONE)
		return false;
	p->kept = true;
	p->account->kept++;
	peer_waits(p, true);
	return true;
}

/* Sends, or keeps; closes the peer if that is gone.  @again: it has been kept before. */
static void flush_reply(struct peer *p, bool again)
{
	int err = send_reply(p);

	if (err == -EAGAIN || err == -ENOBUFS) {
		if (again || keep_reply(p))
			return;
		p->d->peers.dropped++;
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
	} else if (p->rests) {
		/* a refusal costs nearly as much as an answer */
		peer_rests(p, REST_US);
	}
}

/*** Requests ***/

static void peer_goes_on(struct peer *p)
{
	sd_event_source_set_enabled(p->late, SD_EVENT_OFF);
	sd_event_source_set_enabled(p->io, SD_EVENT_ON);
	flush_reply(p, false);
}

static void discarded(void *arg)
{
	struct peer *p = arg;

	if (peer_release(p))
		peer_goes_on(p);
}

/* The packet that was looked at, with descriptors that are not wanted; then the reply. */
static void discard(struct peer *p)
{
	p->held = true;
	peer_rests(p, ELSEWHERE_US);
	away_discard(p->d->peers.away, p->fd, discarded, p);
}

static const char *no_fetch(const struct peer *p)
{
	const struct peers *all = &p->d->peers;
	const struct pool pool = { .size = FETCHES, .used = all->fetches };

	if (!all->porter)
		return "nobody can receive descriptors here";
	if (p->account->fetches >= FETCHES_OF_ONE)
		return "earlier descriptors of this user are not closed yet: wait";
	if (!p->who.admin && !pool_has(&pool, p->account->fetches * FETCHES_LEFT, 1))
		return "too many descriptors are not closed yet: wait";
	return NULL;
}

static void request_init(struct request *r, struct peer *p)
{
	*r = (struct request){
		.d = p->d, .who = &p->who, .account = p->account, .ring = &p->ring,
		.neutral = &p->neutral,
	};
}

static void fetch_answered(void *arg, int err, const char *why, const int fds[RING_FDS])
{
	struct fetch *f = arg;
	struct peer *p = f->peer;
	struct request r;

	f->peer = NULL;
	if (peer_release(p)) {
		request_init(&r, p);
		r.with_fds = true;
		r.fds = fds;
		p->d->refused += !!err;
		p->reply = err ? reply_error(err, why) : request_handle(&r, f->text, f->len);
		/* it has all that it may have */
		if (p->ring)
			pass_allow(p->fd, false);
		peer_goes_on(p);
	}
	for (int i = 0; !err && i < RING_FDS; i++)
		close(fds[i]);
}

static void fetch_ended(void *arg)
{
	struct fetch *f = arg;

	if (f->peer)
		fetch_answered(f, -EIO, "the descriptors could not be received", NULL);
	f->account->fetches--;
	f->d->peers.fetches--;
	free(f);
}

/* The packet that was looked at, with the descriptors of a ring. */
static void fetch(struct peer *p, const char *text, size_t len)
{
	struct peers *all = &p->d->peers;
	const char *why = no_fetch(p);
	struct fetch *f = why ? NULL : malloc(sizeof(*f) + len);

	if (!f) {
		p->reply = reply_error(-EAGAIN, why ? why : "no memory");
		discard(p);
		return;
	}
	*f = (struct fetch){ p->d, p, p->account, len };
	memcpy(f->text, text, len);
	all->fetches++;
	p->account->fetches++;
	p->held = true;
	peer_rests(p, ELSEWHERE_US);
	away_fetch(all->fetcher, p->fd, fetch_answered, fetch_ended, f);
}

/* NULL: the descriptors are wanted first. */
static struct json_object *peer_answer(struct peer *p, const char *text, size_t len, int flags)
{
	struct mlccd *d = p->d;
	const struct config *c = &d->config;
	struct request r;

	/* what is long takes longer to read */
	if (!p->who.admin && !bucket_take(&p->account->requests, c->requests_per_second,
					  c->requests_burst, now_us(), 1 + len / TOKEN_BYTES)) {
		p->limited++;
		p->rests = true;
		d->peers.limited++;
		return reply_error(-EAGAIN, "too many requests: wait");
	}
	if (flags & MSG_TRUNC)
		return reply_error(-EMSGSIZE, "a request has at most 65536 bytes");
	p->limited -= !!p->limited;
	request_init(&r, p);
	r.with_fds = flags & MSG_CTRUNC;
	return request_handle(&r, text, len);
}

/*
 * Looks at the next packet first, which takes nothing from it: what comes with it is for others to
 * receive (away.h).
 */
static void peer_read(struct peer *p)
{
	static char text[REQUEST_MAX];
	struct iovec io = { .iov_base = text, .iov_len = sizeof(text) };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
	ssize_t n;

	n = recvmsg(p->fd, &m, MSG_DONTWAIT | MSG_PEEK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* an empty packet looks like the end, and is none of ours */
	if (n <= 0) {
		peer_close(p);
		return;
	}
	if (!(m.msg_flags & MSG_CTRUNC))
		recv(p->fd, NULL, 0, MSG_DONTWAIT | MSG_TRUNC);
	p->reply = peer_answer(p, text, n, m.msg_flags);
	if (!p->reply)
		fetch(p, text, n);
	else if (m.msg_flags & MSG_CTRUNC)
		discard(p);
	else
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

	if (p->rests && !p->reply) {
		p->rests = false;
		return sd_event_source_set_enabled(p->io, SD_EVENT_ON);
	}
	note(5, "drops process %d of user %u, which %s", p->who.pid, p->who.uid,
	     p->held ? "sends what cannot be received" : "does not read");
	p->d->peers.dropped++;
	peer_close(p);
	return 0;
}

static const char *peer_refuse(struct mlccd *d, const struct who *who, struct account *a)
{
	const struct config *c = &d->config;
	const struct pool pool = {
		.size = c->connections, .kept = c->connections / 10, .used = d->peers.users,
	};

	if (!a)
		return "no memory";
	if (who->admin)
		return NULL;
	if (a->connections >= c->connections_per_user)
		return "too many connections of this user";
	if (!pool_has(&pool, a->connections, 1))
		return "too many connections";
	if (!bucket_take(&a->requests, c->requests_per_second, c->requests_burst, now_us(), 1))
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
	int size = SNDBUF, err;

	if (!p)
		return -ENOMEM;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	pass_allow(fd, true);
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
	a->connections++;
	d->peers.users += !who->admin;
	p->next = d->peers.first;
	d->peers.first = p;
	d->peers.count++;
	return 0;
}

/* @why: words of ours, in which nothing has to be quoted. */
static void say_refused(int fd, const char *why)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "{\"ok\":false,\"error\":\"%s\",\"code\":\"EAGAIN\"}",
			 why);

	send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void pause_accepting(struct mlccd *d)
{
	sd_event_source_set_enabled(d->peers.listener, SD_EVENT_OFF);
	sd_event_source_set_time(d->peers.pause, now_us() + PAUSE_US);
	sd_event_source_set_enabled(d->peers.pause, SD_EVENT_ONESHOT);
}

/* One that waits for ever would wake us for ever: it is turned away instead. */
static void out_of_descriptors(struct mlccd *d, int listener)
{
	int fd;

	if (spare >= 0)
		close(spare);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		connection_close(d, fd, NULL, NULL);
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pause_accepting(d);
}

static struct account *account_of(struct mlccd *d, const struct who *who)
{
	uint64_t cgroup = who->admin ? ACCOUNT_ADMIN : jobs_foreign(&d->jobs, who);

	return account_get(&d->accounts, who->uid, cgroup, &d->config, now_us());
}

/* Whoever connects again and again costs all others no more than a wait in the queue. */
static bool too_fast(struct mlccd *d)
{
	if (bucket_take(&d->peers.accepts, ACCEPTS, ACCEPTS_BURST, now_us(), 1))
		return false;
	pause_accepting(d);
	return true;
}

static int paused(sd_event_source *s, uint64_t at, void *arg)
{
	struct mlccd *d = arg;

	return sd_event_source_set_enabled(d->peers.listener, SD_EVENT_ON);
}

/*
 * To look at who connects costs most of a refusal. Who does it again and again is refused without
 * that: by the process, as others of the user may be in cgroups that have accounts of their own.
 */
static const char *refuse_again(struct mlccd *d, pid_t pid)
{
	const struct refusal *r = &d->peers.refusals[pid % REFUSALS];

	return pid && r->pid == pid && now_us() < r->until_us ? r->why : NULL;
}

static const char *admit(struct mlccd *d, int fd, pid_t pid)
{
	struct who who = { .pidfd = -1, .cgroup = -1, .cgroups = &d->cgroups };
	struct account *a = NULL;
	const char *why;

	if (!who_of(fd, &who))
		a = account_of(d, &who);
	why = peer_refuse(d, &who, a);
	if (!why && peer_new(d, fd, &who, a))
		why = "no memory";
	if (why) {
		who_free(&who);
		d->peers.refusals[pid % REFUSALS] = (struct refusal){ pid, why, now_us() + AGAIN_US };
	}
	return why;
}

/*
 * No account counts who was refused and cannot be closed yet: where there are many, nobody can have
 * anything closed whom we have not accepted.
 */
static void guard(struct mlccd *d, int listener)
{
	bool many = away_waiting(d->peers.away) >= WAITING;

	if (many != d->peers.guarded)
		pass_allow(listener, !many);
	d->peers.guarded = many;
}

/* False: there are no more, or they wait. */
static bool accept_one(struct mlccd *d, int listener)
{
	const char *why;
	pid_t pid;
	int fd;

	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		out_of_descriptors(d, listener);
	if (fd < 0)
		return false;
	pid = who_pid(fd);
	why = refuse_again(d, pid);
	why = why ? why : admit(d, fd, pid);
	if (why) {
		d->peers.limited++;
		say_refused(fd, why);
		connection_close(d, fd, NULL, NULL);
	}
	guard(d, listener);
	return !too_fast(d);
}

static int accepted(sd_event_source *s, int listener, uint32_t events, void *arg)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE && accept_one(arg, listener); i++)
		;
	return 0;
}

static void workers_lost(void *arg)
{
	struct peers *all = arg;

	away_lost(all->away);
	away_lost(all->fetcher);
}

int peers_listen(struct mlccd *d, int fd)
{
	struct peers *all = &d->peers;
	int err;

	/* systemd's waits */
	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		return -errno;
	/* what the last mlccd had refused */
	pass_allow(fd, true);
	err = sd_event_add_io(d->events, &d->peers.listener, fd, EPOLLIN, accepted, d);
	if (err < 0)
		return err;
	err = sd_event_add_time(d->events, &d->peers.pause, CLOCK_MONOTONIC, 0, 1000, paused, d);
	if (err < 0)
		return err;
	sd_event_source_set_enabled(d->peers.pause, SD_EVENT_OFF);
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	all->away = away_new(d->events, all->porter, CLOSERS, true);
	/* who has sent what others wait for is no reason to wait */
	all->fetcher = away_new(d->events, all->porter, FETCHES_ALL, false);
	if (!all->away || !all->fetcher)
		return -ENOMEM;
	return all->porter ? porter_watch(all->porter, d->events, workers_lost, all) : 0;
}

/*
 * Nobody gets a reply: they find the next mlccd.  Who is held for what is received or discarded stays
 * until that has its end.  Others are still queued on the listener (last.h).
 */
void peers_close(struct mlccd *d)
{
	struct peer *p, *next;

	for (p = d->peers.first; p; p = next) {
		next = p->next;
		peer_close(p);
	}
	away_free(d->peers.fetcher);
	while (d->peers.first)
		peer_remove(d->peers.first);
	sd_event_source_unref(d->peers.listener);
	sd_event_source_unref(d->peers.pause);
	porter_end(d->peers.porter);
	away_free(d->peers.away);
}
