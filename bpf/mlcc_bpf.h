/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the BPF carrier and its loader share: the layout of the maps. */
#ifndef MLCC_BPF_H
#define MLCC_BPF_H

#include "../include/mlcc/types.h"
#include "../include/mlcc/rule.h"
#include "../include/mlcc/phase.h"

#define MLCC_SLOTS		16384	/* jobs with open flows at one time, a power of two */
#define MLCC_PROFILES_MAX	16

/* config map, one entry */
struct mlcc_config {
	u32 mark_mask;		/* bits of the socket mark that hold the job's id */
	u32 mark_shift;		/* lowest of them */
	u32 profile;		/* of jobs that have no rule of their own */
	u32 spare;
};

/* rules map: what userspace said of a job, by the job's id */
struct mlcc_job_rule {
	u64 phase_bytes;	/* hint, 0: learn */
	u32 profile;
	u32 gen;		/* changes with every change */
};

/* slots map: a job as this host sees it */
struct mlcc_slot {
	struct mlcc_job job;
	u64 key;		/* network namespace and id, 0: free */
	u32 users;		/* open flows */
	u32 id;
	u32 profile;		/* index in the profiles map */
	u32 gen;		/* of the rule that was applied */
};

#endif /* MLCC_BPF_H */
