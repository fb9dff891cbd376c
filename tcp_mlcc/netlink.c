// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "mlcc", as Documentation/netlink/mlcc.yaml defines it.
 *
 * Reading is free, changing needs CAP_NET_ADMIN in the user namespace of the network namespace.
 * Who may not, or asks for what is not allowed, learns why from the extended ACK, and has changed
 * nothing.
 */
#include <linux/module.h>

#include "compat.h"
#include "netlink.h"

static const struct genl_ops mlcc_commands[] = {
	{
		.cmd		= MLCC_CMD_JOB_NEW,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_job_new_doit,
		.policy		= mlcc_nl_job_set,
		.maxattr	= MLCC_ATTR_JOB,
	}, {
		.cmd		= MLCC_CMD_JOB_SET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_job_set_doit,
		.policy		= mlcc_nl_job_set,
		.maxattr	= MLCC_ATTR_JOB,
	}, {
		.cmd		= MLCC_CMD_JOB_DEL,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_job_del_doit,
		.policy		= mlcc_nl_job_id,
		.maxattr	= MLCC_ATTR_JOB,
	}, {
		.cmd		= MLCC_CMD_JOB_GET,
		.doit		= mlcc_nl_job_get_doit,
		.start		= mlcc_nl_dump_start,
		.dumpit		= mlcc_nl_job_get_dumpit,
		.policy		= mlcc_nl_job_id,
		.maxattr	= MLCC_ATTR_JOB,
	}, {
		.cmd		= MLCC_CMD_PHASE_START,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_phase_start_doit,
		.policy		= mlcc_nl_job_start,
		.maxattr	= MLCC_ATTR_JOB,
	}, {
		.cmd		= MLCC_CMD_PHASE_END,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_phase_end_doit,
		.policy		= mlcc_nl_job_id,
		.maxattr	= MLCC_ATTR_JOB,
	}, {
		.cmd		= MLCC_CMD_PROFILE_GET,
		.doit		= mlcc_nl_profile_get_doit,
		.start		= mlcc_nl_dump_start,
		.dumpit		= mlcc_nl_profile_get_dumpit,
		.policy		= mlcc_nl_profile_name,
		.maxattr	= MLCC_ATTR_PROFILE,
	}, {
		.cmd		= MLCC_CMD_PROFILE_SET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= mlcc_nl_profile_set_doit,
		.policy		= mlcc_nl_profile_set,
		.maxattr	= MLCC_ATTR_PROFILE,
	},
};

static const struct genl_multicast_group mlcc_groups[] = {
	[MLCC_GROUP_EVENTS] = { .name = MLCC_GENL_MCGRP_EVENTS },
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
