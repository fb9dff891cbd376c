/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mlcc-burst over verbs: what both ends of a connection share. The device is the one with the
 * address of the TCP connection over which the ends find each other.
 */
#ifndef BURST_VERBS_H
#define BURST_VERBS_H

#include <infiniband/verbs.h>

#include "burst.h"

#define VERBS_CHUNK	65536	/* bytes of a SEND */
#define VERBS_RECEIVES	32	/* posted at a receiver */
#define VERBS_SENDS	4	/* posted at a sender: the transport's window is smaller */
#define VERBS_LAST	1	/* immediate data of a message's last chunk */

/* What the ends tell each other over TCP, once. */
struct verbs_address {
	uint32_t qpn;
	uint8_t gid[16];
} __attribute__((packed));

struct verbs {
	struct watch watch;	/* the completion channel; first, as handlers get it */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;	/* of VERBS_CHUNK bytes that nobody looks at */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int gid_index;
	union ibv_gid gid;
	void (*done)(struct verbs *v, const struct ibv_wc *wc);
};

void verbs_open(struct verbs *v, int tcp, void (*done)(struct verbs *v, const struct ibv_wc *wc));
void verbs_address(const struct verbs *v, struct verbs_address *to);
void verbs_connect(struct verbs *v, const struct verbs_address *peer);
void verbs_post_receive(struct verbs *v);
void verbs_post_send(struct verbs *v, uint32_t bytes, bool last);
void verbs_close(struct verbs *v);

#endif
