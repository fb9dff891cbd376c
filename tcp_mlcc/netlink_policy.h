/* SPDX-License-Identifier: GPL-2.0 */
/* The commands of the netlink family. */
#ifndef MLCC_NETLINK_POLICY_H
#define MLCC_NETLINK_POLICY_H

#include <net/genetlink.h>

#include "../include/mlcc/uapi/mlcc_netlink.h"

int mlcc_nl_job_new_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_set_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_del_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_get_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_dump_start(struct netlink_callback *cb);
int mlcc_nl_job_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int mlcc_nl_phase_start_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_phase_end_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int mlcc_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_hear_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	MLCC_GROUP_EVENTS,
};

extern const struct genl_ops mlcc_commands[9];
extern const struct genl_multicast_group mlcc_groups[1];

#endif /* MLCC_NETLINK_POLICY_H */
