// SPDX-License-Identifier: GPL-2.0
/*
 * What requests may hold.  Each command has its own policy, strictly validated by the core: what a
 * command does not use is refused, not ignored.  Limits are those of include/mlcc/rule.h.
 */
#include "netlink.h"
#include "profile.h"

/* strings are checked against what there is, so this only bounds them */
#define MLCC_WORD_MAX	15

#define MLCC_READ_ONLY { .type = NLA_REJECT, .reject_message = "only the kernel says this" }

/* not const: older kernels' policies do not say that they leave them alone */
static struct netlink_range_validation mlcc_range_id = { 1, MLCC_JOB_ID_MAX };
static struct netlink_range_validation mlcc_range_bytes = { 0, MLCC_PHASE_BYTES_MAX };
static struct netlink_range_validation mlcc_range_floor = { MLCC_GROW_MIN, MLCC_GROW_MAX / 2 };
static struct netlink_range_validation mlcc_range_slope = { 0, MLCC_GROW_MAX / 2 };
static struct netlink_range_validation mlcc_range_hold = { 0, MLCC_HOLD_MAX };

static const struct nla_policy mlcc_set_policy[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID]		= NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_range_id),
	[MLCC_JOB_NAME]		= { .type = NLA_NUL_STRING, .len = MLCC_JOB_NAME_MAX },
	[MLCC_JOB_PROFILE]	= { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_JOB_PHASE_BYTES]	= NLA_POLICY_FULL_RANGE(NLA_U64, &mlcc_range_bytes),
	[MLCC_JOB_FLOWS ... MLCC_JOB_MAX] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_id_policy[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID]		= NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_range_id),
	[MLCC_JOB_FLOWS ... MLCC_JOB_MAX] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_start_policy[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID]		= NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_range_id),
	[MLCC_JOB_PHASE_BYTES]	= NLA_POLICY_FULL_RANGE(NLA_U64, &mlcc_range_bytes),
	[MLCC_JOB_FLOWS ... MLCC_JOB_MAX] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_name_policy[MLCC_PROFILE_ATTR_MAX + 1] = {
	[MLCC_PROFILE_ATTR_NAME]	= { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
};

static const struct nla_policy mlcc_tune_policy[MLCC_PROFILE_ATTR_MAX + 1] = {
	[MLCC_PROFILE_ATTR_NAME]	= { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_PROFILE_ATTR_FLOOR]	= NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_range_floor),
	[MLCC_PROFILE_ATTR_SLOPE]	= NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_range_slope),
	[MLCC_PROFILE_ATTR_HOLD]	= NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_range_hold),
	[MLCC_PROFILE_ATTR_SHAPE]	= NLA_POLICY_RANGE(NLA_U32, 1, MLCC_SHAPE_MAX),
	[MLCC_PROFILE_ATTR_BASE]	= { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_PROFILE_ATTR_RESTART]	= { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_PROFILE_ATTR_DEFAULT]	= { .type = NLA_FLAG },
};

const struct nla_policy mlcc_nl_job_set[MLCC_ATTR_JOB + 1] = {
	[MLCC_ATTR_JOB] = NLA_POLICY_NESTED(mlcc_set_policy),
};

const struct nla_policy mlcc_nl_job_id[MLCC_ATTR_JOB + 1] = {
	[MLCC_ATTR_JOB] = NLA_POLICY_NESTED(mlcc_id_policy),
};

const struct nla_policy mlcc_nl_job_start[MLCC_ATTR_JOB + 1] = {
	[MLCC_ATTR_JOB] = NLA_POLICY_NESTED(mlcc_start_policy),
};

const struct nla_policy mlcc_nl_profile_name[MLCC_ATTR_PROFILE + 1] = {
	[MLCC_ATTR_PROFILE] = NLA_POLICY_NESTED(mlcc_name_policy),
};

const struct nla_policy mlcc_nl_profile_set[MLCC_ATTR_PROFILE + 1] = {
	[MLCC_ATTR_PROFILE] = NLA_POLICY_NESTED(mlcc_tune_policy),
};

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
		NL_SET_ERR_MSG(info->extack, "the nest with the job or the profile is missing");
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

int mlcc_nl_dump_start(struct netlink_callback *cb)
{
	if (!nlmsg_attrlen(cb->nlh, GENL_HDRLEN))
		return 0;
	NL_SET_ERR_MSG(cb->extack, "a dump is of everything: no attributes are wanted");
	return -EINVAL;
}
