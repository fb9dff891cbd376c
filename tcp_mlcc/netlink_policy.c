// SPDX-License-Identifier: GPL-2.0
/* What each command takes: the policies that Documentation/netlink/mlcc.yaml asks for. */
#include "compat.h"
#include "mlcc.h"
#include "netlink_policy.h"

#define MLCC_READ_ONLY \
	{ .type = NLA_REJECT, .reject_message = "only the kernel says this" }

/* not const: older kernels' policies do not say that they leave them alone */
static struct netlink_range_validation mlcc_job_id_range = {
	.min = 1, .max = MLCC_JOB_ID_MAX
};

static struct netlink_range_validation mlcc_job_phase_bytes_range = {
	.min = 0, .max = MLCC_PHASE_BYTES_MAX
};

static struct netlink_range_validation mlcc_profile_attr_floor_range = {
	.min = MLCC_GROW_MIN, .max = MLCC_FLOOR_MAX
};

static struct netlink_range_validation mlcc_profile_attr_slope_range = {
	.min = 0, .max = MLCC_SLOPE_MAX
};

static struct netlink_range_validation mlcc_profile_attr_hold_range = {
	.min = 0, .max = MLCC_HOLD_MAX
};

static struct netlink_range_validation mlcc_profile_attr_shape_range = {
	.min = 1, .max = MLCC_SHAPE_MAX
};

static struct netlink_range_validation mlcc_answer_id_range = {
	.min = 1, .max = MLCC_JOB_ID_MAX
};

static const struct nla_policy mlcc_job_new_nest[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID] = NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_job_id_range),
	[MLCC_JOB_NAME] = { .type = NLA_NUL_STRING, .len = MLCC_JOB_NAME_MAX },
	[MLCC_JOB_PROFILE] = { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_JOB_PHASE_BYTES] = NLA_POLICY_FULL_RANGE(NLA_U64, &mlcc_job_phase_bytes_range),
	[MLCC_JOB_CLASS] = { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_JOB_FLOWS ... MLCC_JOB_HINTED] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_job_new_policy[MLCC_ATTR_JOB + 1] = {
	[MLCC_ATTR_JOB] = NLA_POLICY_NESTED(mlcc_job_new_nest),
};

static const struct nla_policy mlcc_job_del_nest[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID] = NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_job_id_range),
	[MLCC_JOB_FLOWS ... MLCC_JOB_HINTED] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_job_del_policy[MLCC_ATTR_JOB + 1] = {
	[MLCC_ATTR_JOB] = NLA_POLICY_NESTED(mlcc_job_del_nest),
};

static const struct nla_policy mlcc_phase_start_nest[MLCC_JOB_MAX + 1] = {
	[MLCC_JOB_ID] = NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_job_id_range),
	[MLCC_JOB_PHASE_BYTES] = NLA_POLICY_FULL_RANGE(NLA_U64, &mlcc_job_phase_bytes_range),
	[MLCC_JOB_FLOWS ... MLCC_JOB_HINTED] = MLCC_READ_ONLY,
};

static const struct nla_policy mlcc_phase_start_policy[MLCC_ATTR_JOB + 1] = {
	[MLCC_ATTR_JOB] = NLA_POLICY_NESTED(mlcc_phase_start_nest),
};

static const struct nla_policy mlcc_profile_get_nest[MLCC_PROFILE_ATTR_MAX + 1] = {
	[MLCC_PROFILE_ATTR_NAME] = { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
};

static const struct nla_policy mlcc_profile_get_policy[MLCC_ATTR_PROFILE + 1] = {
	[MLCC_ATTR_PROFILE] = NLA_POLICY_NESTED(mlcc_profile_get_nest),
};

static const struct nla_policy mlcc_profile_set_nest[MLCC_PROFILE_ATTR_MAX + 1] = {
	[MLCC_PROFILE_ATTR_NAME] = { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_PROFILE_ATTR_FLOOR] = NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_profile_attr_floor_range),
	[MLCC_PROFILE_ATTR_SLOPE] = NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_profile_attr_slope_range),
	[MLCC_PROFILE_ATTR_HOLD] = NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_profile_attr_hold_range),
	[MLCC_PROFILE_ATTR_SHAPE] = NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_profile_attr_shape_range),
	[MLCC_PROFILE_ATTR_BASE] = { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_PROFILE_ATTR_RESTART] = { .type = NLA_NUL_STRING, .len = MLCC_WORD_MAX },
	[MLCC_PROFILE_ATTR_DEFAULT] = { .type = NLA_FLAG },
};

static const struct nla_policy mlcc_profile_set_policy[MLCC_ATTR_PROFILE + 1] = {
	[MLCC_ATTR_PROFILE] = NLA_POLICY_NESTED(mlcc_profile_set_nest),
};

static const struct nla_policy mlcc_job_hear_nest[MLCC_ANSWER_MAX + 1] = {
	[MLCC_ANSWER_ID] = NLA_POLICY_FULL_RANGE(NLA_U32, &mlcc_answer_id_range),
	[MLCC_ANSWER_PROGRESS] = { .type = NLA_U32 },
	[MLCC_ANSWER_BEST_US] = { .type = NLA_U32 },
	[MLCC_ANSWER_GAP_US] = { .type = NLA_U32 },
	[MLCC_ANSWER_AGE_US] = { .type = NLA_U32 },
};

static const struct nla_policy mlcc_job_hear_policy[MLCC_ATTR_ANSWER + 1] = {
	[MLCC_ATTR_ANSWER] = NLA_POLICY_NESTED(mlcc_job_hear_nest),
};

const struct genl_ops mlcc_commands[9] = {
	{
		.cmd		= MLCC_CMD_JOB_NEW,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_job_new_doit,
		.policy		= mlcc_job_new_policy,
		.maxattr	= MLCC_ATTR_JOB,
	},
	{
		.cmd		= MLCC_CMD_JOB_SET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_job_set_doit,
		.policy		= mlcc_job_new_policy,
		.maxattr	= MLCC_ATTR_JOB,
	},
	{
		.cmd		= MLCC_CMD_JOB_DEL,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_job_del_doit,
		.policy		= mlcc_job_del_policy,
		.maxattr	= MLCC_ATTR_JOB,
	},
	{
		.cmd		= MLCC_CMD_JOB_GET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_job_get_doit,
		.start		= mlcc_nl_dump_start,
		.dumpit		= mlcc_nl_job_get_dumpit,
		.policy		= mlcc_job_del_policy,
		.maxattr	= MLCC_ATTR_JOB,
	},
	{
		.cmd		= MLCC_CMD_PHASE_START,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_phase_start_doit,
		.policy		= mlcc_phase_start_policy,
		.maxattr	= MLCC_ATTR_JOB,
	},
	{
		.cmd		= MLCC_CMD_PHASE_END,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_phase_end_doit,
		.policy		= mlcc_job_del_policy,
		.maxattr	= MLCC_ATTR_JOB,
	},
	{
		.cmd		= MLCC_CMD_PROFILE_GET,
		.doit		= mlcc_nl_profile_get_doit,
		.start		= mlcc_nl_dump_start,
		.dumpit		= mlcc_nl_profile_get_dumpit,
		.policy		= mlcc_profile_get_policy,
		.maxattr	= MLCC_ATTR_PROFILE,
	},
	{
		.cmd		= MLCC_CMD_PROFILE_SET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_profile_set_doit,
		.policy		= mlcc_profile_set_policy,
		.maxattr	= MLCC_ATTR_PROFILE,
	},
	{
		.cmd		= MLCC_CMD_JOB_HEAR,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_job_hear_doit,
		.policy		= mlcc_job_hear_policy,
		.maxattr	= MLCC_ATTR_ANSWER,
	},
};

const struct genl_multicast_group mlcc_groups[1] = {
	[MLCC_GROUP_EVENTS] = {
		.name	= MLCC_GENL_MCGRP_EVENTS,
		.flags	= GENL_MCAST_CAP_NET_ADMIN,
	},
};
