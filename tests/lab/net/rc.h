/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reliable connection (RC) over verbs, as mlcc-burst and the lab's network plugin have it.  The
 * ends find each other over TCP; the device is the one with the address of that connection.
 */
#ifndef LAB_NET_RC_H
#define LAB_NET_RC_H

#include <infiniband/verbs.h>
#include <stdbool.h>

struct rc {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;	/* NULL: completions are polled for */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	union ibv_gid gid;
	int gid_index;
};

/* What the ends tell each other over TCP, once. */
struct rc_address {
	uint32_t qpn;
	uint8_t gid[16];
} __attribute__((packed));

/* 0, or -1 and errno. */
int rc_open(struct rc *rc, int tcp, uint32_t sends, uint32_t receives, bool events);
int rc_tell(const struct rc *rc, int tcp);
int rc_connect(struct rc *rc, const struct rc_address *peer);

/* 1: here it is, 0: not yet, -1: the other end is gone. */
int rc_hear(int tcp, struct rc_address *peer);

#endif
