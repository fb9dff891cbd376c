/* SPDX-License-Identifier: GPL-2.0 */
/* What is done to jobs on behalf of people: the module parameter and netlink come here. */
#ifndef MLCC_CONTROL_H
#define MLCC_CONTROL_H

#include <net/net_namespace.h>

#include "settings.h"

/* What is said of a job, complete and valid. */
struct mlcc_job_conf {
	u32 id;
	u32 profile;		/* or MLCC_PROFILE_NONE */
	u64 phase_bytes;
	const char *name;	/* or NULL */
};

/*
 * @create: -EEXIST if there is one.  -ENOSPC: no room on the host, or in all but the initial
 * namespace; -EDQUOT: in the namespace.
 */
int mlcc_control_set(struct net *net, const struct mlcc_job_conf *c, bool create);

/* @neutral: flows of the job are neutral from now on; else they are learnt again.  -ENOENT. */
int mlcc_control_delete(struct net *net, u32 id, bool neutral);

/* Hints.  -ENOENT: there is no such job, -EBUSY: a flow has kept its phase to itself throughout. */
int mlcc_control_start(struct net *net, u32 id, u64 bytes);
int mlcc_control_end(struct net *net, u32 id);

#endif /* MLCC_CONTROL_H */
