// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
#include "../../include/mlcc/uapi/mlcc_netlink.h"
#include "netlink_fields.h"

const struct mlcc_field mlcc_job_conf_fields[] = {
	MLCC_FIELD(MLCC_JOB_ID, U32, mlcc_job_conf, id),
	MLCC_FIELD(MLCC_JOB_NAME, TEXT, mlcc_job_conf, name),
	MLCC_FIELD(MLCC_JOB_PROFILE, TEXT, mlcc_job_conf, profile),
	MLCC_FIELD(MLCC_JOB_PHASE_BYTES, U64, mlcc_job_conf, phase_bytes),
	MLCC_FIELD(MLCC_JOB_CLASS, TEXT, mlcc_job_conf, job_class),
	{}
};

const struct mlcc_field mlcc_job_info_fields[] = {
	MLCC_FIELD(MLCC_JOB_FLOWS, U32, mlcc_job_info, flows),
	MLCC_FIELD(MLCC_JOB_PHASES, U32, mlcc_job_info, phases),
	MLCC_FIELD(MLCC_JOB_D_SENT, U64, mlcc_job_info, d_sent),
	MLCC_FIELD(MLCC_JOB_D_PHASE, U64, mlcc_job_info, d_phase),
	MLCC_FIELD(MLCC_JOB_D_LEARNT, U64, mlcc_job_info, d_learnt),
	MLCC_FIELD(MLCC_JOB_HITS, U32, mlcc_job_info, hits),
	MLCC_FIELD(MLCC_JOB_PROGRESS, U32, mlcc_job_info, progress),
	MLCC_FIELD(MLCC_JOB_GAIN, U32, mlcc_job_info, gain),
	MLCC_FIELD(MLCC_JOB_ITERATION_US, U32, mlcc_job_info, iteration_us),
	MLCC_FIELD(MLCC_JOB_COMM_US, U32, mlcc_job_info, comm_us),
	MLCC_FIELD(MLCC_JOB_BEST_US, U32, mlcc_job_info, best_us),
	MLCC_FIELD(MLCC_JOB_BYTES, U64, mlcc_job_info, bytes),
	MLCC_FIELD(MLCC_JOB_RETRANS, U64, mlcc_job_info, retrans),
	MLCC_FIELD(MLCC_JOB_CE, U64, mlcc_job_info, ce),
	MLCC_FIELD(MLCC_JOB_HINTED, FLAG, mlcc_job_info, hinted),
	{}
};

const struct mlcc_field mlcc_profile_conf_fields[] = {
	MLCC_FIELD(MLCC_PROFILE_ATTR_NAME, TEXT, mlcc_profile_conf, name),
	MLCC_FIELD(MLCC_PROFILE_ATTR_FLOOR, U32, mlcc_profile_conf, floor),
	MLCC_FIELD(MLCC_PROFILE_ATTR_SLOPE, U32, mlcc_profile_conf, slope),
	MLCC_FIELD(MLCC_PROFILE_ATTR_HOLD, U32, mlcc_profile_conf, hold),
	MLCC_FIELD(MLCC_PROFILE_ATTR_SHAPE, U32, mlcc_profile_conf, shape),
	MLCC_FIELD(MLCC_PROFILE_ATTR_BASE, TEXT, mlcc_profile_conf, base),
	MLCC_FIELD(MLCC_PROFILE_ATTR_RESTART, TEXT, mlcc_profile_conf, restart),
	MLCC_FIELD(MLCC_PROFILE_ATTR_DEFAULT, FLAG, mlcc_profile_conf, is_default),
	{}
};

const struct mlcc_field mlcc_answer_conf_fields[] = {
	MLCC_FIELD(MLCC_ANSWER_ID, U32, mlcc_answer_conf, id),
	MLCC_FIELD(MLCC_ANSWER_PROGRESS, U32, mlcc_answer_conf, progress),
	MLCC_FIELD(MLCC_ANSWER_BEST_US, U32, mlcc_answer_conf, best_us),
	MLCC_FIELD(MLCC_ANSWER_GAP_US, U32, mlcc_answer_conf, gap_us),
	MLCC_FIELD(MLCC_ANSWER_AGE_US, U32, mlcc_answer_conf, age_us),
	{}
};
