/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the BPF carrier shares with its loader, libmlcc and the tagger: the layout of the maps.
 *
 * A job has a slot in each network namespace that has flows of it.  All slots of one id lie in one
 * group of MLCC_GROUP, so whoever has something to say to the job looks at no others.
 */
#ifndef MLCC_BPF_H
#define MLCC_BPF_H

#include "../include/mlcc/types.h"
#include "../include/mlcc/class.h"
#include "../include/mlcc/owner.h"
#include "../include/mlcc/rule.h"
#include "../include/mlcc/path.h"
#include "../include/mlcc/phase.h"

#define MLCC_LAYOUT		13U	/* changes with everything below */
#define MLCC_SLOTS		16384	/* jobs with open flows at one time, a power of two */
#define MLCC_GROUP		64	/* slots of one id: as many as "done" below has bits */
/*
 * Anybody may make user namespaces, network namespaces in them, and mark sockets there.  Of each group
 *
 *	0 .. 31		may be anybody's: each job, or user, has at most what he leaves to others
 *	32 .. 47	are kept for network namespaces that the initial user namespace owns, such as
 *			pods'; of these each may have eight of the first 48
 *	48 .. 63	are kept for the initial network namespace
 */
#define MLCC_GROUP_USERS	32
#define MLCC_GROUP_OTHERS	48
#define MLCC_GROUP_NETNS	8
#define MLCC_PROFILES_MAX	16
#define MLCC_PROFILE_NONE	(~0U)	/* the default profile, whichever it is */
#define MLCC_RULE_NAME		64	/* with the final NUL */

/*
 * The oldest layout whose settings, profiles, rules and struct mlcc_ctl are as they are now: from it
 * on an upgrade takes jobs over, and older versions are told what their flows are to know.
 */
#define MLCC_LAYOUT_KEPT	6U

/* config map, one entry */
struct mlcc_config {
	u32 mark_mask;		/* bits of the socket mark that hold the job's id */
	u32 mark_shift;		/* lowest of them */
	u32 profile;		/* of jobs that name none */
	u32 gen;		/* the last one that a rule was given */
	u32 layout;		/* MLCC_LAYOUT */
	u32 replaced;		/* another version takes the place of this one, or none does */
};

/* rules map: what userspace has set or announced of a job, by the job's id */
struct mlcc_setting {
	u64 phase_bytes;	/* hint, 0: learn */
	u64 announced;		/* bytes of the last phase that was announced, 0: none was */
	u32 hint_state;		/* enum mlcc_hint_state, for slots that come later */
	u32 profile;
	u32 gen;		/* of "phase_bytes", see mlcc_job_hint_gen() */
	u32 class;		/* enum mlcc_class; before layout 9 always 0 */
	char name[MLCC_RULE_NAME];
};

/* slots map: a job as this host sees it */
struct mlcc_slot {
	struct mlcc_job job;
	u64 net_cookie;		/* the network namespace; unlike its inode number never used again */
	u64 retrans;		/* segments sent again, as of the flows' last starts */
	u64 ce;			/* segments with an ECN mark, likewise */
	u32 users;		/* open flows */
	u32 id;			/* 0: free */
	u32 profile;		/* index in the profiles map */
	u32 gen;		/* of the hint that was taken over, 0: none */
	u32 deleted;		/* while it had flows: they are neutral */
	u32 netns;		/* inode number of the namespace, for people */
	u32 class;		/* enum mlcc_class */
	u32 whose;		/* enum mlcc_whose */
	u32 owner;		/* who is charged: of a job its id, of a user his */
	struct mlcc_path paths[MLCC_PATHS];
};

/*
 * What the program "control" is asked to do: all slots of a job follow in one run.  It returns 1 where
 * that is done, but this version is replaced.
 */
enum mlcc_ctl_op {
	MLCC_CTL_NEW,		/* -EEXIST if there is one */
	MLCC_CTL_SET,
	MLCC_CTL_DEL,
	MLCC_CTL_START,
	MLCC_CTL_END,
	MLCC_CTL_DEFAULT,	/* rule.profile becomes the default one; "id" may be any */
};

struct mlcc_ctl {
	u32 op;			/* enum mlcc_ctl_op */
	u32 id;
	u64 bytes;		/* of START */
	u64 done;		/* in, out: slots of the group that know, for a second try */
	struct mlcc_setting rule;
};

/* The first slot of the group of @id. */
static __always_inline u32 mlcc_group(u32 id)
{
	return (u32)((id * 0x9e3779b97f4a7c15ULL) >> 40) & (MLCC_SLOTS - MLCC_GROUP);
}

#endif /* MLCC_BPF_H */
