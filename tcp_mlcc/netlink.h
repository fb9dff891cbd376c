/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family: what its files share. */
#ifndef MLCC_NETLINK_H
#define MLCC_NETLINK_H

#include <net/genetlink.h>

#include "rules.h"

#define MLCC_GROUP_EVENTS	0

extern struct genl_family mlcc_family;

int mlcc_netlink_init(void);
void mlcc_netlink_exit(void);

/* netlink_policy.c: a command's own top level, and what may be nested in it */
extern const struct nla_policy mlcc_nl_job_set[MLCC_ATTR_JOB + 1];
extern const struct nla_policy mlcc_nl_job_id[MLCC_ATTR_JOB + 1];
extern const struct nla_policy mlcc_nl_job_start[MLCC_ATTR_JOB + 1];
extern const struct nla_policy mlcc_nl_profile_name[MLCC_ATTR_PROFILE + 1];
extern const struct nla_policy mlcc_nl_profile_set[MLCC_ATTR_PROFILE + 1];

/*
 * The nest @type of a request, which the core has validated, into @tb.  Refuses what the core lets
 * pass: attributes that come twice, or no nest at all.
 */
int mlcc_nl_nest(const struct genl_info *info, int type, struct nlattr **tb, int max);
/* A string without anything after its end. */
int mlcc_nl_text(const struct nlattr *attr, struct netlink_ext_ack *extack);
int mlcc_nl_profile(const struct nlattr *attr, u32 *id, struct netlink_ext_ack *extack);
/* Dumps are of everything: their requests have no attributes. */
int mlcc_nl_dump_start(struct netlink_callback *cb);

/* netlink_job.c */
int mlcc_nl_job_new_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_set_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_del_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_get_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int mlcc_nl_phase_start_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_phase_end_doit(struct sk_buff *skb, struct genl_info *info);

/* netlink_profile.c */
int mlcc_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int mlcc_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info);

/* netlink_put.c: attributes of a job; the caller is in an RCU read-side section */
int mlcc_put_u64(struct sk_buff *skb, int type, u64 value);
int mlcc_put_name(struct sk_buff *skb, const struct mlcc_job_rule *r);
int mlcc_put_job(struct sk_buff *skb, const struct mlcc_job_rule *r);

#endif /* MLCC_NETLINK_H */
