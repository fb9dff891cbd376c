// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "mlcc", as Documentation/netlink/mlcc.yaml defines it, and what its
 * commands share.
 *
 * Profiles are free to read; what is about jobs, events as well, or changes something needs
 * CAP_NET_ADMIN in the user namespace of the network namespace.
 * Who may not, or asks for what is not allowed, learns why from the extended ACK, and has changed
 * nothing.  Each command has its own policy, strictly validated by the core: what a command does
 * not use is refused, not ignored.
 */
#include <linux/module.h>

#include "compat.h"
#include "netlink.h"
#include "profile.h"

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
		 const char *wrong, struct netlink_ext_ack *extack)
{
	int err = mlcc_nl_text(attr, extack);
	int i;

	if (err)
		return err;
	i = match_string(words, count, nla_data(attr));
	if (i < 0) {
		NL_SET_BAD_ATTR(extack, attr);
		extack->_msg = wrong;
		return -EINVAL;
	}
	*to = i;
	return 0;
}

int mlcc_nl_profile(const struct nlattr *attr, u32 *id, struct netlink_ext_ack *extack)
{
	int err = mlcc_nl_text(attr, extack);
	int i;

	if (err)
		return err;
	i = match_string(mlcc_profile_names, MLCC_PROFILE_COUNT, nla_data(attr));
	if (i < 0) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "no such profile: interleave, hotnets22 or mltcp");
		return -ENOENT;
	}
	*id = i;
	return 0;
}

/* Dumps are of everything: their requests have no attributes. */
int mlcc_nl_dump_start(struct netlink_callback *cb)
{
	if (!nlmsg_attrlen(cb->nlh, GENL_HDRLEN))
		return 0;
	NL_SET_ERR_MSG(cb->extack, "a dump is of everything: no attributes are wanted");
	return -EINVAL;
}

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
