/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What mlcc-pcc tells the firmware: which jobs there are, and which queue pair is of which.  Both
 * have the same byte order and layout.
 *
 * A message takes the NIC some 20 ms, so it may have several commands.  They are done in their
 * order up to the first that is refused; the answer tells how many that were, and why no more.
 */
#ifndef MLCC_PCC_MAILBOX_H
#define MLCC_PCC_MAILBOX_H

#include "../../include/mlcc/types.h"

#define MLCC_PCC_VERSION	1U
#define MLCC_PCC_COMMANDS	64U	/* of a message */
#define MLCC_PCC_JOBS		64U	/* 0 is no job */

enum mlcc_pcc_op {
	MLCC_PCC_SET_JOB = 1,	/* job, profile, d_phase; begins anew if no queue pair is of it */
	MLCC_PCC_SET_QP,	/* vhca, qpn, job; 0 takes it from its job */
	MLCC_PCC_OPS,
};

struct mlcc_pcc_command {
	u32 op;			/* enum mlcc_pcc_op */
	u32 job;
	u64 d_phase;		/* bytes of a phase that the NIC sends; 0: learnt */
	u32 profile;		/* enum mlcc_profile_id */
	u32 vhca;		/* the function's number, 16 bits */
	u32 qpn;		/* 24 bits, not 0 */
	u32 spare;		/* 0 */
};

struct mlcc_pcc_request {
	u32 version;
	u32 count;		/* 1 .. MLCC_PCC_COMMANDS */
	struct mlcc_pcc_command command[MLCC_PCC_COMMANDS];
};

enum mlcc_pcc_status {
	MLCC_PCC_DONE,
	MLCC_PCC_NO_OP,
	MLCC_PCC_NO_JOB,
	MLCC_PCC_NO_PROFILE,
	MLCC_PCC_NO_PHASE,
	MLCC_PCC_NO_QP,
	MLCC_PCC_FULL,
	MLCC_PCC_STATUSES,
};

#define MLCC_PCC_STATUS_TEXTS {					\
	"done", "no such command", "no such job: 1 to 63",	\
	"no such profile", "more bytes than a phase can have",	\
	"no such queue pair: function 0 to 65535, number 1 to 16777215", \
	"no room for another queue pair beside those of jobs" }

struct mlcc_pcc_response {
	u32 done;		/* commands */
	u32 status;		/* enum mlcc_pcc_status, of the next one */
};

#endif /* MLCC_PCC_MAILBOX_H */
