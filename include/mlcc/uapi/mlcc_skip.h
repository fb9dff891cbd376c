/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What of a cgroup's TCP connections is no part of its job: storage, checkpoints, what stays on
 * the host.  A connection that one of the rules below names is left as it is.
 */
#ifndef MLCC_UAPI_SKIP_H
#define MLCC_UAPI_SKIP_H

#include <linux/types.h>

#define MLCC_SKIPS	8	/* rules of a kind */

struct mlcc_skip {
	__u32 address[MLCC_SKIPS][4];	/* of the peer, in network order; IPv4 as ::ffff:a.b.c.d */
	__u32 mask[MLCC_SKIPS][4];	/* its bits that count */
	__u16 first[MLCC_SKIPS];	/* a port of either end, from here */
	__u16 last[MLCC_SKIPS];		/* to here */
	__u8 addresses, ports;		/* as many of these are rules */
	__u8 own;			/* peers on this host: 127.0.0.0/8, ::1, our own address */
	__u8 zero;
};

/*
 * No cgroup has this id.  Its tag is that of the connections which its rules name, of any job but
 * for what that skips: so they are another job's, which need not have a cgroup.
 */
#define MLCC_TAG_OTHER	(~0ULL)

#endif /* MLCC_UAPI_SKIP_H */
