// SPDX-License-Identifier: GPL-2.0
/* Commands about profiles.  They are the host's: only the initial namespace changes them. */
#include <linux/mutex.h>

#include "netlink.h"
#include "profile.h"

int mlcc_nl_profile(const struct nlattr *attr, u32 *id, struct netlink_ext_ack *extack)
{
	return mlcc_nl_word(attr, mlcc_profile_names, MLCC_PROFILE_COUNT, id, -ENOENT,
			    "no such profile: interleave, hotnets22 or mltcp", extack);
}

static int mlcc_nl_profile_nest(const struct genl_info *info, struct nlattr **tb, u32 *id)
{
	int err = mlcc_nl_nest(info, MLCC_ATTR_PROFILE, tb, MLCC_PROFILE_ATTR_MAX);

	if (err)
		return err;
	if (!tb[MLCC_PROFILE_ATTR_NAME]) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[MLCC_ATTR_PROFILE],
				    "the profile's name is missing");
		return -EINVAL;
	}
	return mlcc_nl_profile(tb[MLCC_PROFILE_ATTR_NAME], id, info->extack);
}

/* mlcc_nl_put */
static int mlcc_put_profile(struct sk_buff *skb, struct net *net, u32 id)
{
	struct mlcc_profile pr;

	mlcc_profile_read(id, &pr);
	if (nla_put_string(skb, MLCC_PROFILE_ATTR_NAME, mlcc_profile_names[id]) ||
	    nla_put_u32(skb, MLCC_PROFILE_ATTR_FLOOR, pr.floor) ||
	    nla_put_u32(skb, MLCC_PROFILE_ATTR_SLOPE, pr.slope) ||
	    nla_put_u32(skb, MLCC_PROFILE_ATTR_HOLD, pr.hold) ||
	    nla_put_u32(skb, MLCC_PROFILE_ATTR_SHAPE, pr.shape) ||
	    nla_put_string(skb, MLCC_PROFILE_ATTR_BASE, mlcc_base_names[pr.base]) ||
	    nla_put_string(skb, MLCC_PROFILE_ATTR_RESTART, mlcc_restart_names[pr.restart]) ||
	    (id == mlcc_profile_default() && nla_put_flag(skb, MLCC_PROFILE_ATTR_DEFAULT)))
		return -EMSGSIZE;
	return 0;
}

int mlcc_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[MLCC_PROFILE_ATTR_MAX + 1];
	int err;
	u32 id;

	err = mlcc_nl_profile_nest(info, tb, &id);
	return err ?: mlcc_nl_reply(info, MLCC_ATTR_PROFILE, mlcc_put_profile, id);
}

int mlcc_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	for (; cb->args[0] < MLCC_PROFILE_COUNT; cb->args[0]++)
		if (mlcc_nl_dump(skb, cb, MLCC_ATTR_PROFILE, mlcc_put_profile, cb->args[0]))
			break;
	return skb->len;
}

/* What is not given stays. */
static int mlcc_nl_tune(struct nlattr **tb, struct mlcc_profile *pr, struct netlink_ext_ack *extack)
{
	u32 base = pr->base, restart = pr->restart;
	int err = 0;

	if (tb[MLCC_PROFILE_ATTR_FLOOR])
		pr->floor = nla_get_u32(tb[MLCC_PROFILE_ATTR_FLOOR]);
	if (tb[MLCC_PROFILE_ATTR_SLOPE])
		pr->slope = nla_get_u32(tb[MLCC_PROFILE_ATTR_SLOPE]);
	if (tb[MLCC_PROFILE_ATTR_HOLD])
		pr->hold = nla_get_u32(tb[MLCC_PROFILE_ATTR_HOLD]);
	if (tb[MLCC_PROFILE_ATTR_SHAPE])
		pr->shape = nla_get_u32(tb[MLCC_PROFILE_ATTR_SHAPE]);
	if (tb[MLCC_PROFILE_ATTR_BASE])
		err = mlcc_nl_word(tb[MLCC_PROFILE_ATTR_BASE], mlcc_base_names, MLCC_BASE_COUNT,
				   &base, -EINVAL, "the base is reno or cubic", extack);
	if (!err && tb[MLCC_PROFILE_ATTR_RESTART])
		err = mlcc_nl_word(tb[MLCC_PROFILE_ATTR_RESTART], mlcc_restart_names,
				   MLCC_RESTART_COUNT, &restart, -EINVAL,
				   "restart is base or queue", extack);
	pr->base = base;
	pr->restart = restart;
	return err;
}

static DEFINE_MUTEX(mlcc_profile_lock);

/* Profiles are read, changed and written back one at a time. */
static int mlcc_nl_profile_apply(struct nlattr **tb, u32 id, struct netlink_ext_ack *extack)
{
	struct mlcc_profile pr;
	int err;

	mutex_lock(&mlcc_profile_lock);
	mlcc_profile_read(id, &pr);
	err = mlcc_nl_tune(tb, &pr, extack);
	if (!err) {
		mlcc_profile_change(id, &pr);
		if (tb[MLCC_PROFILE_ATTR_DEFAULT])
			mlcc_profile_set_default(id);
	}
	mutex_unlock(&mlcc_profile_lock);
	return err;
}

int mlcc_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[MLCC_PROFILE_ATTR_MAX + 1];
	int err;
	u32 id;

	if (!net_eq(genl_info_net(info), &init_net)) {
		NL_SET_ERR_MSG(info->extack,
			       "profiles are the host's: the initial network namespace sets them");
		return -EPERM;
	}
	err = mlcc_nl_profile_nest(info, tb, &id);
	return err ?: mlcc_nl_profile_apply(tb, id, info->extack);
}
