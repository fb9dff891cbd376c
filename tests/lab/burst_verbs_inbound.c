// SPDX-License-Identifier: GPL-2.0
/* The receiving side of mlcc-burst over verbs, with the interface of burst_inbound.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "burst_verbs.h"

struct verbs_inbound {
	struct verbs verbs;	/* first, as completions get it */
	struct inbound in;	/* the TCP connection */
	bool opened;
};

static void receive_done(struct verbs *v, const struct ibv_wc *wc)
{
	struct verbs_inbound *vin = (struct verbs_inbound *)v;

	inbound_received(wc->byte_len);
	vin->in.messages += ntohl(wc->imm_data) == VERBS_LAST;
	verbs_post_receive(v);
}

static void greeted(struct verbs_inbound *v, const struct rc_address *peer)
{
	int i, fd = v->in.watch.fd;

	verbs_open(&v->verbs, fd, receive_done);
	v->opened = true;
	for (i = 0; i < VERBS_RECEIVES; i++)
		verbs_post_receive(&v->verbs);
	verbs_connect(&v->verbs, peer);
	if (rc_tell(&v->verbs.rc, fd))
		die(EXIT_SYSTEM, "verbs: %s", strerror(errno));
}

static void inbound_ready(struct watch *watch, uint32_t events)
{
	struct inbound *in = (struct inbound *)watch;
	struct verbs_inbound *v =
		(struct verbs_inbound *)((char *)in - offsetof(struct verbs_inbound, in));
	struct rc_address peer;
	int heard = rc_hear(watch->fd, &peer);

	(void)events;
	if (!heard)
		return;
	if (heard > 0 && !v->opened) {
		greeted(v, &peer);
		return;
	}
	inbound_closed(in, 0);
	/* events of its completion channel may be on their way: its memory stays */
	if (v->opened)
		verbs_close(&v->verbs);
}

struct inbound *inbound_new(void)
{
	struct verbs_inbound *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->in.watch.ready = inbound_ready;
	return &v->in;
}
