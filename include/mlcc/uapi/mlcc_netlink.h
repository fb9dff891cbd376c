/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The generic netlink family "mlcc": jobs, hints about their phases, and what is known of them.
 *
 * Documentation/netlink/mlcc.yaml is the definition; this header says the same to C.  A job belongs
 * to the network namespace it was set in; the initial namespace's jobs also hold in every namespace
 * that has none of that id.  All that changes something needs CAP_NET_ADMIN in the user namespace
 * of the network namespace.  Times are microseconds, fractions are Q16 (65536 is one).
 */
#ifndef MLCC_UAPI_NETLINK_H
#define MLCC_UAPI_NETLINK_H

#define MLCC_GENL_NAME		"mlcc"
#define MLCC_GENL_VERSION	1
#define MLCC_GENL_MCGRP_EVENTS	"events"	/* the group that the commands *_NTF are sent to */

#define MLCC_JOB_ID_MAX		65535U		/* less if the mark mask has fewer bits */
#define MLCC_JOB_NAME_MAX	63U		/* bytes: letters, digits, and any of ._:/@+- */
#define MLCC_JOB_RULES_MAX	16384U		/* in all namespaces together */
#define MLCC_JOB_OTHERS_MAX	12288U		/* in all that are not the initial one */
#define MLCC_JOB_NETNS_MAX	1024U		/* in one that is not the initial one */

/*
 * Bits of the socket mark that hold the job's id, if nothing else is said: kube-proxy marks with
 * 0x4000 and 0x8000, Cilium knows its own marks by 0x0f00, Calico takes the upper half.
 */
#define MLCC_MARK_MASK		255U

enum mlcc_genl_cmd {
	MLCC_CMD_UNSPEC,
	MLCC_CMD_JOB_NEW,	/* as SET, but -EEXIST if there is one of that id */
	MLCC_CMD_JOB_SET,	/* sets the job as a whole: what is not given gets its default */
	MLCC_CMD_JOB_DEL,	/* its flows are neutral at once */
	MLCC_CMD_JOB_GET,	/* do: one job; dump: all of the namespace, by id */
	MLCC_CMD_PHASE_START,	/* hint: a phase of PHASE_BYTES begins; 0: as many as the last */
	MLCC_CMD_PHASE_END,	/* hint: it is over */
	MLCC_CMD_PROFILE_GET,	/* do: one; dump: all */
	MLCC_CMD_PROFILE_SET,	/* only in the initial namespace; what is not given stays */

	/* events: the kernel sends them to the group, and refuses them */
	MLCC_CMD_JOB_SET_NTF,	/* the job as it is now, as JOB_GET replies */
	MLCC_CMD_JOB_DEL_NTF,	/* ID, NAME */
	MLCC_CMD_PHASE_START_NTF, /* ID, PHASES (which), D_PHASE, D_LEARNT, HITS */
	MLCC_CMD_PHASE_END_NTF,	/* ID, PHASES (which), D_SENT, D_LEARNT, COMM_US, PERIOD_US */

	__MLCC_CMD_MAX,
	MLCC_CMD_MAX = __MLCC_CMD_MAX - 1
};

enum mlcc_genl_attr {
	MLCC_ATTR_UNSPEC,
	MLCC_ATTR_JOB,		/* nest: enum mlcc_job_attr */
	MLCC_ATTR_PROFILE,	/* nest: enum mlcc_profile_attr */

	__MLCC_ATTR_MAX,
	MLCC_ATTR_MAX = __MLCC_ATTR_MAX - 1
};

enum mlcc_job_attr {
	MLCC_JOB_UNSPEC,
	MLCC_JOB_PAD,
	/* what userspace says */
	MLCC_JOB_ID,		/* u32, 1 .. MLCC_JOB_ID_MAX */
	MLCC_JOB_NAME,		/* string, to MLCC_JOB_NAME_MAX; optional */
	MLCC_JOB_PROFILE,	/* string; absent: the default profile, whichever it is */
	MLCC_JOB_PHASE_BYTES,	/* u64, to 2^48 - 1; 0 or absent: learn */
	/* what the kernel knows; refused in requests.  All but FLOWS only while there are flows */
	MLCC_JOB_FLOWS,		/* u32, open ones */
	MLCC_JOB_PHASES,	/* u32, since the first flow came */
	MLCC_JOB_D_SENT,	/* u64, bytes acknowledged in this phase */
	MLCC_JOB_D_PHASE,	/* u64, what progress is measured against now, 0: neutral */
	MLCC_JOB_D_LEARNT,	/* u64 */
	MLCC_JOB_HITS,		/* u32, agreeing phases in a row: the confidence */
	MLCC_JOB_PROGRESS,	/* u32, Q16; absent: neutral */
	MLCC_JOB_GAIN,		/* u32, Q16, factor of the increase at that progress */
	MLCC_JOB_PERIOD_US,	/* u32, the last one, start to start */
	MLCC_JOB_COMM_US,	/* u32, how long the last phase took */
	MLCC_JOB_BEST_US,	/* u32, the shortest of late */
	MLCC_JOB_BYTES,		/* u64, acknowledged since the first flow came */
	MLCC_JOB_RETRANS,	/* u64, segments sent again, as of each flow's last burst or loss */
	MLCC_JOB_CE,		/* u64, segments with an ECN mark, as of each flow's last burst */
	MLCC_JOB_HINTED,	/* flag: phases are announced */

	__MLCC_JOB_MAX,
	MLCC_JOB_MAX = __MLCC_JOB_MAX - 1
};

enum mlcc_profile_attr {
	MLCC_PROFILE_ATTR_UNSPEC,
	MLCC_PROFILE_ATTR_NAME,		/* string */
	MLCC_PROFILE_ATTR_FLOOR,	/* u32, Q16, growth at p = 0 */
	MLCC_PROFILE_ATTR_SLOPE,	/* u32, Q16, what p = 1 adds */
	MLCC_PROFILE_ATTR_HOLD,		/* u32, Q16, part of the decrease that p = 1 takes away */
	MLCC_PROFILE_ATTR_SHAPE,	/* u32, exponent of p */
	MLCC_PROFILE_ATTR_BASE,		/* string: reno or cubic */
	MLCC_PROFILE_ATTR_RESTART,	/* string: base or drain */
	MLCC_PROFILE_ATTR_DEFAULT,	/* flag: profile of jobs that name none */

	__MLCC_PROFILE_ATTR_MAX,
	MLCC_PROFILE_ATTR_MAX = __MLCC_PROFILE_ATTR_MAX - 1
};

#endif /* MLCC_UAPI_NETLINK_H */
