// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "mlcc", as Documentation/netlink/mlcc.yaml defines it: what its
 * commands take, and what they share.
 *
 * Profiles are free to read; what is about jobs, events as well, or changes something needs
 * CAP_NET_ADMIN in the user namespace of the network namespace.
 * Who may not, or asks for what is not allowed, learns why from the extended ACK, and has changed
 * nothing.  Each command has its own policy, strictly validated by the core: what a command does
 * not use is refused, not ignored.
 */
#include <linux/module.h>

#include "compat.h"
#include "mlcc.h"
#include "netlink.h"

#define MLCC_READ_ONLY \
	{ .type = NLA_REJECT, .reject_message = "only the kernel says this" }

/* not const: older kernels' policies do not say that they leave it alone */
#define MLCC_RANGE(type, from, to) \
	NLA_POLICY_FULL_RANGE(type, (&(struct netlink_range_validation){ .min = from, .max = to }))
#define MLCC_TEXT(most)		{ .type = NLA_NUL_STRING, .len = most }

/* The core takes the last of several attributes of a type; here that is an error. */
static int mlcc_nl_once(const struct nlattr *head, int len, struct netlink_ext_ack *extack)
{
	const struct nlattr *attr;
	u32 bit, seen = 0;
	int rem;

	BUILD_BUG_ON(MLCC_JOB_MAX > 31 || MLCC_PROFILE_ATTR_MAX > 31);
	nla_for_each_attr(attr, head, len, rem) {
		bit = 1U << (nla_type(attr) & 31);
		if (seen & bit) {
			NL_SET_ERR_MSG_ATTR(extack, attr, "this attribute may come only once");
			return -EINVAL;
		}
		seen |= bit;
	}
	return 0;
}

int mlcc_nl_nest(const struct genl_info *info, int type, struct nlattr **tb, int max)
{
	const struct nlattr *attr = info->attrs[type];
	int err;

	if (!attr) {
		NL_SET_ERR_MSG(info->extack, "the nest with what the command is about is missing");
		return -EINVAL;
	}
	err = mlcc_nl_once(genlmsg_data(info->genlhdr), genlmsg_len(info->genlhdr), info->extack);
	if (!err)
		err = mlcc_nl_once(nla_data(attr), nla_len(attr), info->extack);
	/* validated by the command's policy already */
	return err ?: nla_parse(tb, max, nla_data(attr), nla_len(attr), NULL, info->extack);
}

int mlcc_nl_text(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	if (strnlen(nla_data(attr), nla_len(attr)) == nla_len(attr) - 1)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "the string goes on after its end");
	return -EINVAL;
}

int mlcc_nl_word(const struct nlattr *attr, const char *const *words, int count, u32 *to,
		 int none, const char *wrong, struct netlink_ext_ack *extack)
{
	int err = mlcc_nl_text(attr, extack);
	int i;

	if (err)
		return err;
	i = match_string(words, count, nla_data(attr));
	if (i < 0) {
		NL_SET_BAD_ATTR(extack, attr);
		extack->_msg = wrong;
		return none;
	}
	*to = i;
	return 0;
}

static int mlcc_nl_fill(struct sk_buff *skb, void *head, int attr, mlcc_nl_put put,
			struct net *net, u32 id)
{
	struct nlattr *nest = head ? nla_nest_start(skb, attr) : NULL;
	int err = nest ? put(skb, net, id) : -EMSGSIZE;

	if (err) {
		genlmsg_cancel(skb, head);
		return err;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, head);
	return 0;
}

int mlcc_nl_reply(struct genl_info *info, int attr, mlcc_nl_put put, u32 id)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *head;
	int err;

	if (!skb) {
		NL_SET_ERR_MSG(info->extack, "out of memory");
		return -ENOMEM;
	}
	head = genlmsg_put_reply(skb, info, &mlcc_family, 0, info->genlhdr->cmd);
	err = mlcc_nl_fill(skb, head, attr, put, genl_info_net(info), id);
	if (!err)
		return genlmsg_reply(skb, info);
	nlmsg_free(skb);
	return err;
}

int mlcc_nl_dump(struct sk_buff *skb, struct netlink_callback *cb, int attr, mlcc_nl_put put,
		 u32 id)
{
	const struct genlmsghdr *request = nlmsg_data(cb->nlh);
	void *head = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &mlcc_family,
				 NLM_F_MULTI, request->cmd);

	return mlcc_nl_fill(skb, head, attr, put, sock_net(skb->sk), id);
}

/* Dumps are of everything: their requests have no attributes. */
static int mlcc_nl_dump_start(struct netlink_callback *cb)
{
	if (!nlmsg_attrlen(cb->nlh, GENL_HDRLEN))
		return 0;
	NL_SET_ERR_MSG(cb->extack, "a dump is of everything: no attributes are wanted");
	return -EINVAL;
}

static const struct nla_policy mlcc_job_new_nest[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID] = MLCC_RANGE(NLA_U32, 1, MLCC_JOB_ID_MAX),
	[MLCC_JOB_NAME] = MLCC_TEXT(MLCC_JOB_NAME_MAX),
	[MLCC_JOB_PROFILE] = MLCC_TEXT(MLCC_WORD_MAX),
	[MLCC_JOB_PHASE_BYTES] = MLCC_RANGE(NLA_U64, 0, MLCC_PHASE_BYTES_MAX),
	[MLCC_JOB_CLASS] = MLCC_TEXT(MLCC_WORD_MAX),
	[MLCC_JOB_FLOWS ... MLCC_JOB_HINTED] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_job_del_nest[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID] = MLCC_RANGE(NLA_U32, 1, MLCC_JOB_ID_MAX),
	[MLCC_JOB_FLOWS ... MLCC_JOB_HINTED] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_phase_start_nest[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID] = MLCC_RANGE(NLA_U32, 1, MLCC_JOB_ID_MAX),
	[MLCC_JOB_PHASE_BYTES] = MLCC_RANGE(NLA_U64, 0, MLCC_PHASE_BYTES_MAX),
	[MLCC_JOB_FLOWS ... MLCC_JOB_HINTED] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_profile_get_nest[MLCC_PROFILE_ATTR_MAX + 1] = {
	[MLCC_PROFILE_ATTR_NAME] = MLCC_TEXT(MLCC_WORD_MAX),
};

static const struct nla_policy mlcc_profile_set_nest[MLCC_PROFILE_ATTR_MAX + 1] = {
	[MLCC_PROFILE_ATTR_NAME] = MLCC_TEXT(MLCC_WORD_MAX),
	[MLCC_PROFILE_ATTR_FLOOR] = MLCC_RANGE(NLA_U32, MLCC_GROW_MIN, MLCC_FLOOR_MAX),
	[MLCC_PROFILE_ATTR_SLOPE] = MLCC_RANGE(NLA_U32, 0, MLCC_SLOPE_MAX),
	[MLCC_PROFILE_ATTR_HOLD] = MLCC_RANGE(NLA_U32, 0, MLCC_HOLD_MAX),
	[MLCC_PROFILE_ATTR_SHAPE] = MLCC_RANGE(NLA_U32, 1, MLCC_SHAPE_MAX),
	[MLCC_PROFILE_ATTR_BASE] = MLCC_TEXT(MLCC_WORD_MAX),
	[MLCC_PROFILE_ATTR_RESTART] = MLCC_TEXT(MLCC_WORD_MAX),
	[MLCC_PROFILE_ATTR_DEFAULT] = { .type = NLA_FLAG },
};

static const struct nla_policy mlcc_job_hear_nest[MLCC_ANSWER_MAX + 1] = {
	[MLCC_ANSWER_ID] = MLCC_RANGE(NLA_U32, 1, MLCC_JOB_ID_MAX),
	[MLCC_ANSWER_PROGRESS] = { .type = NLA_U32 },
	[MLCC_ANSWER_BEST_US] = { .type = NLA_U32 },
	[MLCC_ANSWER_GAP_US] = { .type = NLA_U32 },
	[MLCC_ANSWER_AGE_US] = { .type = NLA_U32 },
};

#define MLCC_COMMAND(what, perm, handler, about, nest, ...)				\
	{										\
		.cmd = MLCC_CMD_##what,							\
		.flags = perm,								\
		.doit = handler,							\
		.policy = (const struct nla_policy[]){					\
			[MLCC_ATTR_##about] = NLA_POLICY_NESTED(nest)			\
		},									\
		.maxattr = MLCC_ATTR_##about,						\
		__VA_ARGS__								\
	}

#define MLCC_DUMP(handler)	.start = mlcc_nl_dump_start, .dumpit = handler

static const struct genl_ops mlcc_commands[] = {
	MLCC_COMMAND(JOB_NEW, GENL_UNS_ADMIN_PERM, mlcc_nl_job_new_doit, JOB, mlcc_job_new_nest),
	MLCC_COMMAND(JOB_SET, GENL_UNS_ADMIN_PERM, mlcc_nl_job_set_doit, JOB, mlcc_job_new_nest),
	MLCC_COMMAND(JOB_DEL, GENL_UNS_ADMIN_PERM, mlcc_nl_job_del_doit, JOB, mlcc_job_del_nest),
	MLCC_COMMAND(JOB_GET, GENL_UNS_ADMIN_PERM, mlcc_nl_job_get_doit, JOB,
		     mlcc_job_del_nest, MLCC_DUMP(mlcc_nl_job_get_dumpit)),
	MLCC_COMMAND(PHASE_START, GENL_UNS_ADMIN_PERM, mlcc_nl_phase_start_doit, JOB,
		     mlcc_phase_start_nest),
	MLCC_COMMAND(PHASE_END, GENL_UNS_ADMIN_PERM, mlcc_nl_phase_end_doit, JOB,
		     mlcc_job_del_nest),
	MLCC_COMMAND(PROFILE_GET, 0, mlcc_nl_profile_get_doit, PROFILE,
		     mlcc_profile_get_nest, MLCC_DUMP(mlcc_nl_profile_get_dumpit)),
	MLCC_COMMAND(PROFILE_SET, GENL_UNS_ADMIN_PERM, mlcc_nl_profile_set_doit, PROFILE,
		     mlcc_profile_set_nest),
	MLCC_COMMAND(JOB_HEAR, GENL_UNS_ADMIN_PERM, mlcc_nl_job_hear_doit, ANSWER,
		     mlcc_job_hear_nest),
};

static const struct genl_multicast_group mlcc_groups[] = {
	[MLCC_GROUP_EVENTS] = {
		.name	= MLCC_GENL_MCGRP_EVENTS,
		.flags	= GENL_MCAST_CAP_NET_ADMIN,
	},
};

struct genl_family mlcc_family __ro_after_init = {
	.name		= MLCC_GENL_NAME,
	.version	= MLCC_GENL_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.ops		= mlcc_commands,
	.n_ops		= ARRAY_SIZE(mlcc_commands),
	.mcgrps		= mlcc_groups,
	.n_mcgrps	= ARRAY_SIZE(mlcc_groups),
	MLCC_RESV_START_OP(MLCC_CMD_UNSPEC + 1)
	.module		= THIS_MODULE,
};

int __init mlcc_netlink_init(void)
{
	return genl_register_family(&mlcc_family);
}

void mlcc_netlink_exit(void)
{
	genl_unregister_family(&mlcc_family);
}
