/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Not the SDK: declarations, in our own words, of what rdma/pcc/ uses of it, so that it can be
 * compiled and run where the SDK is not; its other headers lead here.  No layout, size or value in here says anything about the
 * real one, but for what is public knowledge: rates have 20 bits, a flow has 48 bytes, and a
 * queue pair's function is in an event's second word.
 */
#ifndef MLCC_TESTS_PCC_SDK_H
#define MLCC_TESTS_PCC_SDK_H

#include <stdint.h>

#define DOCA_PCC_DEV_MAX_RATE		(1U << 20)
#define DOCA_PCC_DEV_MAX_NUM_PORTS	4
#define DOCA_PCC_DEV_MAX_NUM_USER_SLOTS	8

enum {
	DOCA_PCC_DEV_EVNT_ROCE_CNP,
	DOCA_PCC_DEV_EVNT_ROCE_TX,
	DOCA_PCC_DEV_EVNT_ROCE_ACK,
	DOCA_PCC_DEV_EVNT_ROCE_NACK,
	DOCA_PCC_DEV_EVNT_RTT,
};

typedef enum { DOCA_PCC_DEV_STATUS_OK, DOCA_PCC_DEV_STATUS_FAIL } doca_pcc_dev_error_t;
typedef struct { uint32_t word[12]; } doca_pcc_dev_algo_ctxt_t;
typedef struct doca_pcc_dev_event doca_pcc_dev_event_t;
typedef struct { uint32_t algo_slot; } doca_pcc_dev_attr_t;
typedef struct { uint32_t rate, rtt_req; } doca_pcc_dev_results_t;

void doca_pcc_dev_user_algo(doca_pcc_dev_algo_ctxt_t *context, doca_pcc_dev_event_t *event,
			    const doca_pcc_dev_attr_t *attr, doca_pcc_dev_results_t *results);
void doca_pcc_dev_user_init(uint32_t *disable_event_bitmask);
doca_pcc_dev_error_t doca_pcc_dev_user_set_algo_params(uint32_t port, uint32_t slot, uint32_t base,
						       uint32_t count, const uint32_t *values,
						       uint32_t *params);

/*
 * An event as a NIC of BlueField-3's kind has it: what TX events have in one place, others have
 * something else in.
 */
struct doca_pcc_dev_event {
	uint32_t tag;
	uint32_t function;	/* big-endian, in the upper half */
	uint16_t type, port;
	uint32_t stamp;
	union {
		struct { uint16_t units, packets; uint32_t qpn; } tx;
		struct { uint32_t sent, received; } rtt;
		struct { uint32_t anything[2]; } cnp;
	};
};

typedef struct { uint32_t ev_type, port_num; } doca_pcc_dev_event_general_attr_t;
typedef struct { uint32_t sent_32bytes : 16, sent_pkts : 16; } doca_pcc_dev_roce_tx_cntrs_t;

static inline doca_pcc_dev_event_general_attr_t
doca_pcc_dev_get_ev_attr(doca_pcc_dev_event_t *event)
{
	doca_pcc_dev_event_general_attr_t attr = { event->type, event->port };

	return attr;
}

static inline doca_pcc_dev_roce_tx_cntrs_t
doca_pcc_dev_get_roce_tx_cntrs(doca_pcc_dev_event_t *event)
{
	doca_pcc_dev_roce_tx_cntrs_t counters = { event->tx.units, event->tx.packets };

	return counters;
}

static inline uint32_t doca_pcc_dev_get_timestamp(doca_pcc_dev_event_t *event)
{
	return event->stamp;
}

static inline uint32_t doca_pcc_dev_get_flow_qpn(doca_pcc_dev_event_t *event)
{
	return event->tx.qpn;
}

static inline uint32_t doca_pcc_dev_get_rtt_req_send_timestamp(doca_pcc_dev_event_t *event)
{
	return event->rtt.sent;
}

struct doca_pcc_dev_algo_meta_data {
	uint32_t algo_id, algo_major_version, algo_minor_version, algo_desc_size;
	uint64_t algo_desc_addr;
};

doca_pcc_dev_error_t doca_pcc_dev_algo_init_metadata(uint32_t algo,
						     struct doca_pcc_dev_algo_meta_data *meta,
						     uint32_t params, uint32_t counters);
doca_pcc_dev_error_t doca_pcc_dev_algo_init_param(uint32_t algo, uint32_t param, uint32_t value,
						  uint32_t max, uint32_t min, uint32_t permission,
						  uint32_t name_size, uint64_t name);
doca_pcc_dev_error_t doca_pcc_dev_init_algo_slot(uint32_t port, uint32_t slot, uint32_t algo,
						 uint32_t enabled);
doca_pcc_dev_error_t doca_pcc_dev_user_mailbox_handle(void *request, uint32_t request_size,
						      uint32_t max_response_size, void *response,
						      uint32_t *response_size);

#endif /* MLCC_TESTS_PCC_SDK_H */
