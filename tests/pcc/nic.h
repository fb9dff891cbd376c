/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A NIC that calls the firmware as BlueField-3 is told to: events of data come with slot 15, a CNP
 * does not tell the queue pair, several queue pairs may have one context, and the counters of a
 * burst stop at 16 bits.  The firmware is included, so that tests see what it keeps.
 */
#ifndef MLCC_PCC_NIC_H
#define MLCC_PCC_NIC_H

#include "../../rdma/pcc/doca.c"

#define NIC_SLOT	15U	/* none of those that have parameters */
#define NIC_PACKET	4160U	/* bytes of a whole packet */

struct nic_qp {
	u32 vhca, qpn;
	doca_pcc_dev_algo_ctxt_t *context;
};

static u32 nic_params[DOCA_PCC_DEV_MAX_NUM_PORTS][DOCA_PCC_DEV_MAX_NUM_USER_SLOTS]
		     [MLCC_PCC_PARAMS];
static u32 nic_defaults[MLCC_PCC_PARAMS];

doca_pcc_dev_error_t doca_pcc_dev_algo_init_metadata(u32 algo,
						     struct doca_pcc_dev_algo_meta_data *meta,
						     u32 params, u32 counters)
{
	(void)algo;
	(void)counters;
	return meta->algo_id && params == MLCC_PCC_PARAMS ? DOCA_PCC_DEV_STATUS_OK :
							    DOCA_PCC_DEV_STATUS_FAIL;
}

doca_pcc_dev_error_t doca_pcc_dev_algo_init_param(u32 algo, u32 param, u32 value, u32 max, u32 min,
						  u32 permission, u32 name_size, u64 name)
{
	(void)algo;
	(void)max;
	(void)min;
	(void)permission;
	(void)name_size;
	(void)name;
	nic_defaults[param] = value;
	return DOCA_PCC_DEV_STATUS_OK;
}

doca_pcc_dev_error_t doca_pcc_dev_init_algo_slot(u32 port, u32 slot, u32 algo, u32 enabled)
{
	(void)algo;
	(void)enabled;
	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++)
		nic_params[port][slot][i] = nic_defaults[i];
	return DOCA_PCC_DEV_STATUS_OK;
}

static inline void nic_start(void)
{
	u32 disabled = 0;

	doca_pcc_dev_user_init(&disabled);
}

static inline u32 nic_counter(u32 value)
{
	return value < 0xffff ? value : 0xffff;
}

/* Returns what the firmware wants. */
static inline doca_pcc_dev_results_t nic_event(const struct nic_qp *qp, doca_pcc_dev_event_t *event)
{
	doca_pcc_dev_attr_t attr = { .algo_slot = NIC_SLOT };
	doca_pcc_dev_results_t results = { 0 };

	event->function = __builtin_bswap32(qp->vhca << 16);
	doca_pcc_dev_user_algo(qp->context, event, &attr, &results);
	return results;
}

static inline doca_pcc_dev_results_t nic_tx(const struct nic_qp *qp, u32 stamp, u32 bytes)
{
	doca_pcc_dev_event_t event = {
		.type = DOCA_PCC_DEV_EVNT_ROCE_TX, .stamp = stamp,
		.tx = { .units = nic_counter(bytes >> 5),
			.packets = nic_counter((bytes + NIC_PACKET - 1) / NIC_PACKET),
			.qpn = qp->qpn },
	};

	return nic_event(qp, &event);
}

/* Any other event; where a TX event has the number there is something else. */
static inline doca_pcc_dev_results_t nic_other(const struct nic_qp *qp, u32 type, u32 stamp)
{
	doca_pcc_dev_event_t event = {
		.type = type, .stamp = stamp, .cnp = { { stamp, ~stamp } },
	};

	return nic_event(qp, &event);
}

static inline doca_pcc_dev_results_t nic_cnp(const struct nic_qp *qp, u32 stamp)
{
	return nic_other(qp, DOCA_PCC_DEV_EVNT_ROCE_CNP, stamp);
}

static inline doca_pcc_dev_results_t nic_rtt(const struct nic_qp *qp, u32 stamp, u32 rtt)
{
	doca_pcc_dev_event_t event = {
		.type = DOCA_PCC_DEV_EVNT_RTT, .stamp = stamp, .rtt = { .sent = stamp - rtt },
	};

	return nic_event(qp, &event);
}

static inline bool nic_set(u32 port, u32 slot, u32 param, u32 value)
{
	return doca_pcc_dev_user_set_algo_params(port, slot, param, 1, &value,
						 nic_params[port][slot]) == DOCA_PCC_DEV_STATUS_OK;
}

/* One command of the host's; returns the firmware's answer. */
static inline u32 nic_command(struct mlcc_pcc_command command)
{
	static struct mlcc_pcc_request request;
	struct mlcc_pcc_response response;
	u32 bytes;

	request.version = MLCC_PCC_VERSION;
	request.count = 1;
	request.command[0] = command;
	if (doca_pcc_dev_user_mailbox_handle(&request, sizeof(request), sizeof(response),
					     &response, &bytes) != DOCA_PCC_DEV_STATUS_OK)
		return MLCC_PCC_STATUSES;
	return response.status;
}

static inline u32 nic_job(u32 job, u64 d_phase)
{
	return nic_command((struct mlcc_pcc_command) {
		.op = MLCC_PCC_SET_JOB, .job = job, .d_phase = d_phase,
	});
}

static inline u32 nic_bind(const struct nic_qp *qp, u32 job)
{
	return nic_command((struct mlcc_pcc_command) {
		.op = MLCC_PCC_SET_QP, .vhca = qp->vhca, .qpn = qp->qpn, .job = job,
	});
}

#endif /* MLCC_PCC_NIC_H */
