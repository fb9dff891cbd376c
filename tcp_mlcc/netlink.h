/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family: what its files share. */
#ifndef MLCC_NETLINK_H
#define MLCC_NETLINK_H

#include <net/genetlink.h>

#include "settings.h"

enum {
	MLCC_GROUP_EVENTS,
};

extern struct genl_family mlcc_family;

int mlcc_netlink_init(void);
void mlcc_netlink_exit(void);

/*
 * The nest @type of a request, which the core has validated, into @tb.  Refuses what the core lets
 * pass: attributes that come twice, or no nest at all.
 */
int mlcc_nl_nest(const struct genl_info *info, int type, struct nlattr **tb, int max);
/* A string without anything after its end. */
int mlcc_nl_text(const struct nlattr *attr, struct netlink_ext_ack *extack);
/* Which of the words it is, or @none; @wrong, a constant, says which there are. */
int mlcc_nl_word(const struct nlattr *attr, const char *const *words, int count, u32 *to,
		 int none, const char *wrong, struct netlink_ext_ack *extack);
int mlcc_nl_profile(const struct nlattr *attr, u32 *id, struct netlink_ext_ack *extack);

/* Puts the attributes of job or profile @id.  -EMSGSIZE: no room. */
typedef int (*mlcc_nl_put)(struct sk_buff *skb, struct net *net, u32 id);

/* Answers with a nest @attr of what @put puts, or adds that to a dump. */
int mlcc_nl_reply(struct genl_info *info, int attr, mlcc_nl_put put, u32 id);
int mlcc_nl_dump(struct sk_buff *skb, struct netlink_callback *cb, int attr, mlcc_nl_put put,
		 u32 id);

/* netlink_job.c, netlink_profile.c: commands */
int mlcc_nl_job_new_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_set_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_del_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_get_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int mlcc_nl_phase_start_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_phase_end_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_job_hear_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info);
int mlcc_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int mlcc_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info);

/* netlink_put.c: attributes of a job; the caller is in an RCU read-side section */
int mlcc_put_u64(struct sk_buff *skb, int type, u64 value);
int mlcc_put_name(struct sk_buff *skb, const struct mlcc_setting *set);
int mlcc_put_job(struct sk_buff *skb, const struct mlcc_setting *set);

#endif /* MLCC_NETLINK_H */
