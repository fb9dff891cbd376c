/* SPDX-License-Identifier: GPL-2.0 */
/* mlcc-burst over verbs: what both ends of a connection share. */
#ifndef BURST_VERBS_H
#define BURST_VERBS_H

#include "burst.h"
#include "net/rc.h"

#define VERBS_CHUNK	65536	/* bytes of a SEND */
#define VERBS_RECEIVES	32	/* posted at a receiver */
#define VERBS_SENDS	4	/* posted at a sender: the transport's window is smaller */
#define VERBS_LAST	1	/* immediate data of a message's last chunk */

struct verbs {
	struct watch watch;	/* the completion channel; first, as handlers get it */
	struct rc rc;
	struct ibv_mr *mr;	/* of VERBS_CHUNK bytes that nobody looks at */
	void (*done)(struct verbs *v, const struct ibv_wc *wc);
};

void verbs_open(struct verbs *v, int tcp, void (*done)(struct verbs *v, const struct ibv_wc *wc));
void verbs_connect(struct verbs *v, const struct rc_address *peer);
void verbs_post_receive(struct verbs *v);
void verbs_post_send(struct verbs *v, uint32_t bytes, bool last);
void verbs_close(struct verbs *v);

#endif
