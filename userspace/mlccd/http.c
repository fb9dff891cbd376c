// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * HTTP is libmicrohttpd's, which runs in the daemon's event loop: it has an epoll descriptor that
 * is ready when there is something to do, and a time by which it wants to be called at the latest.
 *
 * Whoever reaches the port can connect to it, unasked.  So that none keeps others out, by
 * connections that ask for nothing, or slowly, the oldest one ends when there are many.  So that
 * none keeps the daemon busy, an answer serves all who ask for ten times as long as it took to
 * write; they have one copy of it.  Who takes his slowly ends, lest each keeps another copy.
 */
#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "../common/clock.h"
#include "http.h"

#define SCRAPES		64U	/* at one time; more wait */
#define SCRAPES_KEPT	32U	/* before the oldest one ends */
#define REQUEST_BYTES	((size_t)8192)
#define SNDBUF		65536	/* the kernel doubles it; left alone it grows to megabytes */
#define TIMEOUT_S	5U
#define SERVES		10	/* times what an answer took to write */
#define COPIES		3	/* after so many newer answers, */
#define SLOW_US		1000000	/* and so long, who has not taken his ends */
#define TYPE		"application/openmetrics-text; version=1.0.0; charset=utf-8"

struct scrape {
	TAILQ_ENTRY(scrape) entry;
	int fd;
	uint64_t answered_us;	/* 0: it is not */
	unsigned int copy;	/* by which of the answers */
};

struct http {
	TAILQ_HEAD(, scrape) scrapes;	/* the oldest one first, without those that are to end */
	unsigned int count;
	struct MHD_Daemon *daemon;
	sd_event_source *ready, *timer;
	http_text *text;
	void *arg;
	struct MHD_Response *last;	/* what all are answered until then; NULL: none */
	uint64_t last_until;
	unsigned int copies;	/* that there were */
};

static enum MHD_Result http_refuse(struct MHD_Connection *c, unsigned int status, const char *why)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(why), (void *)why,
								 MHD_RESPMEM_PERSISTENT);
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	MHD_add_response_header(r, "Content-Type", "text/plain");
	done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

static void scrape_remove(struct http *h, struct scrape *s)
{
	if (s->fd < 0)
		return;
	TAILQ_REMOVE(&h->scrapes, s, entry);
	h->count--;
	s->fd = -1;
}

static void scrape_end(struct http *h, struct scrape *s)
{
	shutdown(s->fd, SHUT_RDWR);
	scrape_remove(h, s);
}

static void scrape_begins(struct http *h, struct MHD_Connection *c, struct scrape *s)
{
	int size = SNDBUF;

	s->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	/* what is queued is ours, and to queue it takes as long */
	setsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	TAILQ_INSERT_TAIL(&h->scrapes, s, entry);
	if (++h->count > SCRAPES_KEPT)
		scrape_end(h, TAILQ_FIRST(&h->scrapes));
}

static void http_end_slow(struct http *h)
{
	struct scrape *s, *next;

	for (s = TAILQ_FIRST(&h->scrapes); s; s = next) {
		next = TAILQ_NEXT(s, entry);
		if (s->answered_us && h->copies - s->copy > COPIES &&
		    now_us() > s->answered_us + SLOW_US)
			scrape_end(h, s);
	}
}

static void notify(void *arg, struct MHD_Connection *c, void **context,
		   enum MHD_ConnectionNotificationCode code)
{
	struct http *h = arg;
	struct scrape *s = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		s = calloc(1, sizeof(*s));
		*context = s;
		if (s)
			scrape_begins(h, c, s);
	} else if (s) {
		scrape_remove(h, s);
		free(s);
	}
}

static void http_renew(struct http *h)
{
	uint64_t begin = now_us();
	size_t len;
	char *text;

	if (h->last)
		MHD_destroy_response(h->last);
	text = h->text(h->arg, &len);
	h->last = text ? MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;
	if (h->last)
		MHD_add_response_header(h->last, "Content-Type", TYPE);
	else
		free(text);
	h->last_until = now_us() + SERVES * (now_us() - begin);
	h->copies++;
	http_end_slow(h);
}

static enum MHD_Result http_answer(void *arg, struct MHD_Connection *c, const char *url,
				   const char *method, const char *version, const char *data,
				   size_t *data_len, void **con)
{
	const union MHD_ConnectionInfo *of;
	struct http *h = arg;
	struct scrape *s;

	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return http_refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD is wanted\n");
	if (strcmp(url, "/metrics") && strcmp(url, "/"))
		return http_refuse(c, MHD_HTTP_NOT_FOUND, "/metrics is here\n");
	if (now_us() >= h->last_until)
		http_renew(h);
	if (!h->last)
		return http_refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory\n");
	of = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	s = of ? of->socket_context : NULL;
	if (s) {
		s->answered_us = now_us();
		s->copy = h->copies;
	}
	return MHD_queue_response(c, MHD_HTTP_OK, h->last);
}

/* Lets the library do what there is, and call again when it wants to. */
static void http_run(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	MHD_run(h->daemon);
	if (MHD_get_timeout(h->daemon, &ms) != MHD_YES) {
		sd_event_source_set_enabled(h->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(h->timer, now_us() + ms * 1000);
	sd_event_source_set_enabled(h->timer, SD_EVENT_ONESHOT);
}

static int ready(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	http_run(arg);
	return 0;
}

static int timed(sd_event_source *s, uint64_t at, void *arg)
{
	http_run(arg);
	return 0;
}

static bool http_watch(struct http *h, sd_event *events)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	return info && sd_event_add_io(events, &h->ready, info->epoll_fd, EPOLLIN, ready, h) >= 0 &&
	       sd_event_add_time(events, &h->timer, CLOCK_MONOTONIC, 0, 1, timed, h) >= 0;
}

struct http *http_listen(sd_event *events, int fd, http_text *text, void *arg)
{
	struct http *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->text = text;
	h->arg = arg;
	TAILQ_INIT(&h->scrapes);
	h->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, http_answer, h,
				     MHD_OPTION_LISTEN_SOCKET, fd,
				     MHD_OPTION_CONNECTION_LIMIT, SCRAPES,
				     MHD_OPTION_NOTIFY_CONNECTION, notify, h,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES,
				     MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_END);
	if (h->daemon && http_watch(h, events))
		return h;
	http_close(h);
	return NULL;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	sd_event_source_unref(h->ready);
	sd_event_source_unref(h->timer);
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	if (h->last)
		MHD_destroy_response(h->last);
	free(h);
}
