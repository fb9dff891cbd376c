// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * As much of HTTP as scraping takes: one GET or HEAD a connection, answered and closed.  The reply
 * is made once and sent as the peer takes it; one that is slow is dropped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mlccd.h"

#define SCRAPES		8	/* at one time */
#define HEAD_MAX	4096
#define LISTENERS	4
#define TIMEOUT_US	5000000ULL

struct scrape {
	struct source s;
	struct scrape *next;
	char head[HEAD_MAX + 1];
	size_t head_len;
	char *reply;
	size_t len, sent;
	bool done;			/* all is sent, the peer's end is waited for */
	uint64_t drop_at;
};

static struct source listeners[LISTENERS];
static unsigned int listener_count;

static void scrape_close(struct mlccd *d, struct scrape *c)
{
	struct scrape **at = &d->scrapes;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	source_del(d, &c->s);
	free(c->reply);
	free(c);
	d->scrape_count--;
}

static void send_some(struct mlccd *d, struct scrape *c)
{
	ssize_t n;

	n = send(c->s.fd, c->reply + c->sent, c->len - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->sent += n > 0 ? n : 0;
	if (n >= 0 && c->sent < c->len)
		return;
	if (n < 0) {
		scrape_close(d, c);
		return;
	}
	/* to close with something unread would be a reset, and the peer might lose the reply */
	shutdown(c->s.fd, SHUT_WR);
	c->done = true;
	source_mod(d, &c->s, EPOLLIN);
}

static void reply(struct mlccd *d, struct scrape *c, const char *status, const char *type,
		  const char *body, size_t len, bool with_body)
{
	FILE *f = open_memstream(&c->reply, &c->len);

	if (!f) {
		scrape_close(d, c);
		return;
	}
	fprintf(f, "HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", status, type, len);
	if (!strncmp(status, "405", 3))
		fputs("Allow: GET, HEAD\r\n", f);
	fputs("Connection: close\r\n\r\n", f);
	if (with_body)
		fwrite(body, 1, len, f);
	if (fclose(f)) {
		scrape_close(d, c);
		return;
	}
	source_mod(d, &c->s, EPOLLOUT);
	send_some(d, c);
}

static void reply_plain(struct mlccd *d, struct scrape *c, const char *status)
{
	char body[64];

	snprintf(body, sizeof(body), "%s\n", status);
	reply(d, c, status, "text/plain", body, strlen(body), true);
}

static void reply_metrics(struct mlccd *d, struct scrape *c, bool with_body)
{
	size_t len;
	char *text = metrics_text(d, &len);

	if (!text) {
		reply_plain(d, c, "503 Service Unavailable");
		return;
	}
	reply(d, c, "200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", text,
	      len, with_body);
	free(text);
}

/* The first line: METHOD TARGET HTTP/1.x */
static void request(struct mlccd *d, struct scrape *c)
{
	char method[8], target[128], version[12];
	bool head;

	c->head[strcspn(c->head, "\r\n")] = '\0';
	if (sscanf(c->head, "%7[A-Z] %127s %11s", method, target, version) != 3 ||
	    strncmp(version, "HTTP/1.", 7)) {
		reply_plain(d, c, "400 Bad Request");
		return;
	}
	head = !strcmp(method, "HEAD");
	target[strcspn(target, "?")] = '\0';
	if (!head && strcmp(method, "GET"))
		reply_plain(d, c, "405 Method Not Allowed");
	else if (strcmp(target, "/metrics") && strcmp(target, "/"))
		reply_plain(d, c, "404 Not Found");
	else
		reply_metrics(d, c, !head);
}

static void read_some(struct mlccd *d, struct scrape *c)
{
	ssize_t n;

	if (c->done)
		c->head_len = 0;
	n = recv(c->s.fd, c->head + c->head_len, HEAD_MAX - c->head_len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && c->done)
		return;
	if (n <= 0) {
		scrape_close(d, c);
		return;
	}
	c->head_len += n;
	c->head[c->head_len] = '\0';
	if (strlen(c->head) != c->head_len)
		reply_plain(d, c, "400 Bad Request");
	else if (strstr(c->head, "\r\n\r\n") || strstr(c->head, "\n\n"))
		request(d, c);
	else if (c->head_len == HEAD_MAX)
		reply_plain(d, c, "431 Request Header Fields Too Large");
}

static void scrape_ready(struct mlccd *d, struct source *s, uint32_t events)
{
	struct scrape *c = (struct scrape *)s;

	if (c->reply && !c->done && events & EPOLLOUT)
		send_some(d, c);
	else if ((c->reply && !c->done) || !(events & EPOLLIN))
		scrape_close(d, c);
	else
		read_some(d, c);
}

static void accepted(struct mlccd *d, struct source *s, uint32_t events)
{
	struct scrape *c;
	int fd;

	(void)events;
	fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	c = d->scrape_count < SCRAPES ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		close(fd);
		return;
	}
	c->s = (struct source){ fd, scrape_ready };
	c->drop_at = now_us() + TIMEOUT_US;
	if (source_add(d, &c->s, EPOLLIN)) {
		close(fd);
		free(c);
		return;
	}
	c->next = d->scrapes;
	d->scrapes = c;
	d->scrape_count++;
}

int metrics_listen(struct mlccd *d, int fd)
{
	if (listener_count == LISTENERS)
		return -ENOSPC;
	listeners[listener_count] = (struct source){ fd, accepted };
	return source_add(d, &listeners[listener_count++], EPOLLIN);
}

uint64_t metrics_tick(struct mlccd *d, uint64_t now)
{
	struct scrape *c, *next;
	uint64_t due = NEVER;

	for (c = d->scrapes; c; c = next) {
		next = c->next;
		if (c->drop_at <= now)
			scrape_close(d, c);
		else if (c->drop_at < due)
			due = c->drop_at;
	}
	return due;
}

void metrics_close(struct mlccd *d)
{
	while (d->scrapes)
		scrape_close(d, d->scrapes);
	while (listener_count)
		source_del(d, &listeners[--listener_count]);
}
