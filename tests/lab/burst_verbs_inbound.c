// SPDX-License-Identifier: GPL-2.0
/* The receiving side of mlcc-burst over verbs, with the interface of burst_inbound.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burst_verbs.h"

struct inbound {
	struct verbs verbs;	/* first, as completions get it */
	struct watch watch;	/* the TCP connection */
	LIST_ENTRY(inbound) link;
	uint64_t messages;	/* complete ones */
	bool opened;
};

static LIST_HEAD(, inbound) connections = LIST_HEAD_INITIALIZER(connections);
static const struct options *options;
static uint64_t received;

uint64_t inbound_bytes(void)
{
	return received;
}

bool inbound_reached(uint32_t n, uint64_t messages)
{
	struct inbound *in;
	uint32_t reached = 0;

	LIST_FOREACH(in, &connections, link)
		reached += in->messages >= messages;
	return reached >= n;
}

static void receive_done(struct verbs *v, const struct ibv_wc *wc)
{
	struct inbound *in = (struct inbound *)v;

	received += wc->byte_len;
	in->messages += ntohl(wc->imm_data) == VERBS_LAST;
	verbs_post_receive(v);
}

static void greeted(struct inbound *in, const struct verbs_address *peer)
{
	struct verbs_address mine;
	int i;

	verbs_open(&in->verbs, in->watch.fd, receive_done);
	in->opened = true;
	for (i = 0; i < VERBS_RECEIVES; i++)
		verbs_post_receive(&in->verbs);
	verbs_connect(&in->verbs, peer);
	verbs_address(&in->verbs, &mine);
	if (send(in->watch.fd, &mine, sizeof(mine), MSG_NOSIGNAL) != sizeof(mine))
		die(EXIT_SYSTEM, "verbs: %s", strerror(errno));
}

static void inbound_close(struct inbound *in)
{
	if (options->inbound && !loop_stopped())
		die(EXIT_SYSTEM, "job %s: another worker closed its flow", options->job);
	LIST_REMOVE(in, link);
	close(in->watch.fd);
	if (in->opened)
		verbs_close(&in->verbs);
	/* events of its completion channel may be on their way: its memory stays */
}

static void inbound_ready(struct watch *watch, uint32_t events)
{
	struct inbound *in = (struct inbound *)((char *)watch - offsetof(struct inbound, watch));
	struct verbs_address peer;
	ssize_t got = recv(watch->fd, &peer, sizeof(peer), MSG_DONTWAIT);

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == sizeof(peer) && !in->opened)
		greeted(in, &peer);
	else
		inbound_close(in);
}

static void accept_ready(struct watch *watch, uint32_t events)
{
	struct inbound *in;
	int fd;

	(void)events;
	fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	in = calloc(1, sizeof(*in));
	if (!in)
		die(EXIT_SYSTEM, "out of memory");
	in->watch.fd = fd;
	in->watch.ready = inbound_ready;
	LIST_INSERT_HEAD(&connections, in, link);
	loop_add(&in->watch, EPOLLIN | EPOLLRDHUP);
}

void inbound_open(const struct options *opt)
{
	static struct watch listener = { .ready = accept_ready };

	options = opt;
	listener.fd = socket_listen(opt);
	loop_add(&listener, EPOLLIN);
}
