/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family: what its files share. */
#ifndef MLCC_NETLINK_H
#define MLCC_NETLINK_H

#include <net/genetlink.h>

#include "netlink_policy.h"
#include "settings.h"

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
/* Which of the words it is; @wrong, a constant, says which there are to whoever gave none. */
int mlcc_nl_word(const struct nlattr *attr, const char *const *words, int count, u32 *to,
		 const char *wrong, struct netlink_ext_ack *extack);
int mlcc_nl_profile(const struct nlattr *attr, u32 *id, struct netlink_ext_ack *extack);
/* netlink_put.c: attributes of a job; the caller is in an RCU read-side section */
int mlcc_put_u64(struct sk_buff *skb, int type, u64 value);
int mlcc_put_name(struct sk_buff *skb, const struct mlcc_setting *set);
int mlcc_put_job(struct sk_buff *skb, const struct mlcc_setting *set);

#endif /* MLCC_NETLINK_H */
