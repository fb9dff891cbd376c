/* SPDX-License-Identifier: GPL-2.0 */
/* What is done to jobs on behalf of people, who ask by netlink. */
#ifndef MLCC_CONTROL_H
#define MLCC_CONTROL_H

#include <net/net_namespace.h>

#include "mlcc.h"
#include "settings.h"

/*
 * Takes @set unless this fails.  @create: -EEXIST if there is one.  -ENOSPC: no room on the host,
 * or in all but the initial namespace; -EDQUOT: in the namespace, or of its user.
 */
int mlcc_control_set(struct net *net, struct mlcc_setting *set, bool create);

/* Flows of the job are neutral from now on.  -ENOENT. */
int mlcc_control_delete(struct net *net, u32 id);

/* Hints.  -ENOENT: there is no such job, -EBUSY: a flow has kept its phase to itself throughout. */
int mlcc_control_start(struct net *net, u32 id, u64 bytes);
int mlcc_control_end(struct net *net, u32 id);

/*
 * What the job's leader has answered, for its flows over RDMA (lead.h).  It is forgotten with the
 * job's last flow.  -ENOENT.
 */
int mlcc_control_hear(struct net *net, u32 id, const struct mlcc_lead_answer *answer);

#endif /* MLCC_CONTROL_H */
