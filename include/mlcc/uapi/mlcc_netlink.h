/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/mlcc.yaml */
/*
 * The generic netlink family "mlcc".
 *
 * Jobs, hints about their phases, and what the kernel knows of them.
 *
 * A job belongs to the network namespace that it was set in; those of the initial namespace also
 * hold in every namespace of the initial user namespace's that has none of that id, and for what
 * the tagger has given to them in others. Profiles are free to read. What is about jobs, or changes
 * something, needs CAP_NET_ADMIN in the user namespace of the network namespace. What is refused
 * changes nothing, and the extended ACK says why. Times are microseconds, fractions are Q16 (65536
 * is one).
 */
#ifndef MLCC_UAPI_NETLINK_H
#define MLCC_UAPI_NETLINK_H

#define MLCC_GENL_NAME		"mlcc"
#define MLCC_GENL_VERSION	1
#define MLCC_GENL_MCGRP_EVENTS	"events"

/* Less if the mark mask has fewer bits. */
#define MLCC_JOB_ID_MAX	65535

/* Bytes. */
#define MLCC_JOB_NAME_MAX	63

/* Bytes of any other string. */
#define MLCC_WORD_MAX	15

/* In all namespaces together. */
#define MLCC_JOBS_MAX	16384

/* In all namespaces together but the initial one. */
#define MLCC_JOB_OTHERS_MAX	12288

/* In one namespace other than the initial one that the initial user namespace owns. */
#define MLCC_JOB_NETNS_MAX	1024

/*
 * In all namespaces that other user namespaces own. Who has made such a one, and those in it, has
 * at most as many as he leaves to others.
 */
#define MLCC_JOB_USERS_MAX	8192

/*
 * Bits of the socket mark that hold the job's id, if nothing else is said. kube-proxy marks with
 * 0x4000 and 0x8000, Cilium knows its own marks by 0x0f00, Calico takes the upper half.
 */
#define MLCC_MARK_MASK	255

/**
 * enum mlcc_genl_cmd - Commands and events.
 * @MLCC_CMD_JOB_NEW: As job-set, but refused if there is a job of that id.
 * @MLCC_CMD_JOB_SET: Sets the job as a whole; what is not given gets its default.
 * @MLCC_CMD_JOB_DEL: Deletes the job. Its flows are neutral from their next ACK on.
 * @MLCC_CMD_JOB_GET: The job with an id, or all of the namespace in the order of their ids.
 * @MLCC_CMD_PHASE_START: Announces a phase of phase-bytes; 0 or absent for as many as the last
 *	one.
 * @MLCC_CMD_PHASE_END: Says that the phase is over.
 * @MLCC_CMD_PROFILE_GET: The profile with a name, or all.
 * @MLCC_CMD_PROFILE_SET: Changes a profile, in the initial namespace; what is not given stays.
 * @MLCC_CMD_JOB_SET_NTF: A job has been set.
 * @MLCC_CMD_JOB_DEL_NTF: A job has been deleted; id and name.
 * @MLCC_CMD_PHASE_START_NTF: A phase has begun; id, phases, d-phase, d-learnt, hits.
 * @MLCC_CMD_PHASE_END_NTF: A phase is over, because the next one begins; id, phases, d-sent,
 *	d-learnt, comm-us, iteration-us.
 * @MLCC_CMD_JOB_HEAR: Says what the job's leader has answered; what is left out is 0. From the
 *	first time on the job's flows over RDMA go by that alone, and are neutral 50 ms after the
 *	last one.
 */
enum mlcc_genl_cmd {
	MLCC_CMD_UNSPEC,
	MLCC_CMD_JOB_NEW,
	MLCC_CMD_JOB_SET,
	MLCC_CMD_JOB_DEL,
	MLCC_CMD_JOB_GET,
	MLCC_CMD_PHASE_START,
	MLCC_CMD_PHASE_END,
	MLCC_CMD_PROFILE_GET,
	MLCC_CMD_PROFILE_SET,
	MLCC_CMD_JOB_SET_NTF,
	MLCC_CMD_JOB_DEL_NTF,
	MLCC_CMD_PHASE_START_NTF,
	MLCC_CMD_PHASE_END_NTF,
	MLCC_CMD_JOB_HEAR,

	/* private: */
	__MLCC_CMD_MAX,
	MLCC_CMD_MAX = __MLCC_CMD_MAX - 1
};

/**
 * enum mlcc_genl_attr - The top level of every message.
 * @MLCC_ATTR_JOB: nest of enum mlcc_job_attr.
 * @MLCC_ATTR_PROFILE: nest of enum mlcc_profile_attr.
 * @MLCC_ATTR_ANSWER: nest of enum mlcc_answer_attr.
 */
enum mlcc_genl_attr {
	MLCC_ATTR_UNSPEC,
	MLCC_ATTR_JOB,
	MLCC_ATTR_PROFILE,
	MLCC_ATTR_ANSWER,

	/* private: */
	__MLCC_ATTR_MAX,
	MLCC_ATTR_MAX = __MLCC_ATTR_MAX - 1
};

/**
 * enum mlcc_job_attr - What people say of a job, and what the kernel knows of it.
 * @MLCC_JOB_PAD: pad.
 * @MLCC_JOB_ID: u32, min 1, max MLCC_JOB_ID_MAX. What the socket's mark says under the mask.
 * @MLCC_JOB_NAME: string, max-len MLCC_JOB_NAME_MAX. Letters, digits and any of ._:/@+-;
 *	absent if the job has none.
 * @MLCC_JOB_PROFILE: string, max-len MLCC_WORD_MAX. Absent for the default profile, whichever
 *	it is.
 * @MLCC_JOB_PHASE_BYTES: u64, max MLCC_PHASE_BYTES_MAX. Bytes that this host sends in a phase;
 *	0 or absent to learn them.
 * @MLCC_JOB_FLOWS: u32. Open flows. What follows is there only while there are some.
 * @MLCC_JOB_PHASES: u32. Phases since the first flow came; in events, which one.
 * @MLCC_JOB_D_SENT: u64. Bytes acknowledged in this phase.
 * @MLCC_JOB_D_PHASE: u64. Bytes that progress is measured against; 0 if the job is neutral.
 * @MLCC_JOB_D_LEARNT: u64. Bytes of a phase as learnt, trusted or not.
 * @MLCC_JOB_HITS: u32. Phases in a row that agreed; three are trusted.
 * @MLCC_JOB_PROGRESS: u32. Of the phase, in 1/65536; absent if the job is neutral.
 * @MLCC_JOB_GAIN: u32. Factor of the increase at that progress, in 1/65536.
 * @MLCC_JOB_ITERATION_US: u32. Last iteration, start to start of its phases, in microseconds.
 * @MLCC_JOB_COMM_US: u32. How long the last phase took, in microseconds.
 * @MLCC_JOB_BEST_US: u32. Shortest phase of late, in microseconds.
 * @MLCC_JOB_BYTES: u64. Acknowledged since the first flow came.
 * @MLCC_JOB_RETRANS: u64. Segments sent again, as of each flow's last burst or loss.
 * @MLCC_JOB_CE: u64. Segments with an ECN mark, as of each flow's last burst.
 * @MLCC_JOB_HINTED: flag. Phases are announced.
 * @MLCC_JOB_CLASS: string, max-len MLCC_WORD_MAX. What the job sends for, training (if
 *	absent), latency or background.
 */
enum mlcc_job_attr {
	MLCC_JOB_UNSPEC,
	MLCC_JOB_PAD,
	MLCC_JOB_ID,
	MLCC_JOB_NAME,
	MLCC_JOB_PROFILE,
	MLCC_JOB_PHASE_BYTES,
	MLCC_JOB_FLOWS,
	MLCC_JOB_PHASES,
	MLCC_JOB_D_SENT,
	MLCC_JOB_D_PHASE,
	MLCC_JOB_D_LEARNT,
	MLCC_JOB_HITS,
	MLCC_JOB_PROGRESS,
	MLCC_JOB_GAIN,
	MLCC_JOB_ITERATION_US,
	MLCC_JOB_COMM_US,
	MLCC_JOB_BEST_US,
	MLCC_JOB_BYTES,
	MLCC_JOB_RETRANS,
	MLCC_JOB_CE,
	MLCC_JOB_HINTED,
	MLCC_JOB_CLASS,

	/* private: */
	__MLCC_JOB_MAX,
	MLCC_JOB_MAX = __MLCC_JOB_MAX - 1
};

/**
 * enum mlcc_profile_attr - The constants of the rule.
 * @MLCC_PROFILE_ATTR_NAME: string, max-len MLCC_WORD_MAX.
 * @MLCC_PROFILE_ATTR_FLOOR: u32, min MLCC_GROW_MIN, max MLCC_FLOOR_MAX. Factor of the increase
 *	at the start of a phase, in 1/65536.
 * @MLCC_PROFILE_ATTR_SLOPE: u32, max MLCC_SLOPE_MAX. What the end of the phase adds to it, in
 *	1/65536.
 * @MLCC_PROFILE_ATTR_HOLD: u32, max MLCC_HOLD_MAX. Part of the decrease that the end of the
 *	phase takes away, in 1/65536.
 * @MLCC_PROFILE_ATTR_SHAPE: u32, min 1, max MLCC_SHAPE_MAX. Exponent of the progress.
 * @MLCC_PROFILE_ATTR_BASE: string, max-len MLCC_WORD_MAX. Of flows without ECN, reno or cubic.
 * @MLCC_PROFILE_ATTR_RESTART: string, max-len MLCC_WORD_MAX. Window at the start of a phase,
 *	base or queue.
 * @MLCC_PROFILE_ATTR_DEFAULT: flag. The profile of jobs that name none.
 */
enum mlcc_profile_attr {
	MLCC_PROFILE_ATTR_UNSPEC,
	MLCC_PROFILE_ATTR_NAME,
	MLCC_PROFILE_ATTR_FLOOR,
	MLCC_PROFILE_ATTR_SLOPE,
	MLCC_PROFILE_ATTR_HOLD,
	MLCC_PROFILE_ATTR_SHAPE,
	MLCC_PROFILE_ATTR_BASE,
	MLCC_PROFILE_ATTR_RESTART,
	MLCC_PROFILE_ATTR_DEFAULT,

	/* private: */
	__MLCC_PROFILE_ATTR_MAX,
	MLCC_PROFILE_ATTR_MAX = __MLCC_PROFILE_ATTR_MAX - 1
};

/**
 * enum mlcc_answer_attr - What the leader of a job of several hosts answers (include/mlcc/lead.h).
 * @MLCC_ANSWER_ID: u32, min 1, max MLCC_JOB_ID_MAX. The job's.
 * @MLCC_ANSWER_PROGRESS: u32. Of all that the job sends, in 1/65536; more than 65536 if the
 *	job is neutral.
 * @MLCC_ANSWER_BEST_US: u32. Its shortest phase, in microseconds; 0: not known.
 * @MLCC_ANSWER_GAP_US: u32. What it computes between two phases, in microseconds.
 * @MLCC_ANSWER_AGE_US: u32. How long ago its phase began, in microseconds.
 */
enum mlcc_answer_attr {
	MLCC_ANSWER_UNSPEC,
	MLCC_ANSWER_ID,
	MLCC_ANSWER_PROGRESS,
	MLCC_ANSWER_BEST_US,
	MLCC_ANSWER_GAP_US,
	MLCC_ANSWER_AGE_US,

	/* private: */
	__MLCC_ANSWER_MAX,
	MLCC_ANSWER_MAX = __MLCC_ANSWER_MAX - 1
};

#endif /* MLCC_UAPI_NETLINK_H */
