/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the tagger shares with libmlcc: the layout of its maps; "sockets" is in owner.h. */
#ifndef MLCC_TAGGER_BPF_H
#define MLCC_TAGGER_BPF_H

#include "../include/mlcc/uapi/mlcc_skip.h"
#include "mlcc_bpf.h"

#define MLCC_TAGGER_LAYOUT	7U	/* changes with everything below */
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
	u32 unused;
};

/* jobs map: by the id of the cgroup, or MLCC_TAG_OTHER */
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

#endif /* MLCC_TAGGER_BPF_H */
