/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the tagger shares with libmlcc: the layout of its maps. */
#ifndef MLCC_TAGGER_BPF_H
#define MLCC_TAGGER_BPF_H

#include "../include/mlcc/uapi/mlcc_skip.h"
#include "mlcc_bpf.h"

#define MLCC_TAGGER_LAYOUT	5U	/* changes with everything below */
#define MLCC_TAGS		16384
#define MLCC_CLASSES_MIN	2
#define MLCC_CLASSES_MAX	8
#define MLCC_DSCP_FIXED		0x80	/* in mlcc_tagged.class: the rest is the DSCP */

/* config map, one entry */
struct mlcc_tagger_config {
	u32 layout;		/* MLCC_TAGGER_LAYOUT */
	u32 mark_mask;		/* bits of the mark that hold the job's id, side by side */
	u32 mark_shift;		/* lowest of them */
	u32 carrier;		/* the last socket that asked for mlcc got it */
	u32 changes;		/* of the jobs map that all sockets have to follow, so far */
	u32 synced;		/* as many have been followed */
	u32 writing;		/* one is being made, whose sockets follow with it */
};

/* jobs map: by the id of the cgroup */
struct mlcc_tag {
	u32 job;
	u32 classes;		/* 0: DSCP is left alone; 1: it is dscp[0], whatever the progress */
	u8 dscp[MLCC_CLASSES_MAX];
	struct mlcc_skip skip;
};

/* counts map: likewise; outlives changes of the tag */
struct mlcc_tag_count {
	u64 tagged;
	u64 refused;
};

/* sockets map (socket storage): what a socket has been given, and what it had */
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

#endif /* MLCC_TAGGER_BPF_H */
