/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Whose a job's flows are, by what the tagger tells both carriers of TCP. */
#ifndef MLCC_OWNER_H
#define MLCC_OWNER_H

#include "types.h"

/*
 * In a network namespace that the initial user namespace does not own, users mark sockets as they
 * like: these belong to no job of the host's, unless the tagger has given them their mark.
 */
enum mlcc_whose {
	MLCC_OF_HOST,		/* the initial user namespace owns the network namespace */
	MLCC_OF_JOB,		/* it does not, but the tagger knows them */
	MLCC_OF_USER,
	MLCC_WHOSE_COUNT
};

/*
 * Socket storage by this name: what the tagger has given a socket, and what it had before.  Writing
 * it takes the right to load BPF; the carriers read it.
 */
#define MLCC_TAGGED_MAP		"sockets"

struct mlcc_tagged {
	u64 cgroup;		/* whose tag it is */
	u32 job;		/* 0: none, mlcc was refused */
	u32 mark;		/* before */
	u32 priority;		/* before */
	u8 tos;			/* before */
	u8 class;		/* DSCP class + 1, or MLCC_DSCP_FIXED | DSCP; 0: as before */
	u8 rtt;			/* round trips are reported because of us */
	u8 saved;		/* the values before are there */
	u8 listener;		/* it listens; in the copy for what it accepts: its parent does */
	char cc[16];		/* before */
};

/*
 * Whether the owner of @used of the @busy ones of @all may have one more: of what is for jobs and
 * users in namespaces of users each has at most as many as it leaves to others.
 */
static __always_inline bool mlcc_share_has_room(u32 all, u32 busy, u32 used)
{
	return busy + used + 2 <= all;
}

#endif /* MLCC_OWNER_H */
