/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Not the SDK; see doca_pcc_dev.h.  An event as a NIC of BlueField-3's kind has it: what TX events
 * have in one place, others have something else in.
 */
#ifndef MLCC_TESTS_PCC_SDK_EVENT_H
#define MLCC_TESTS_PCC_SDK_EVENT_H

#include "doca_pcc_dev.h"

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

#endif /* MLCC_TESTS_PCC_SDK_EVENT_H */
