/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Not the SDK; see doca_pcc_dev.h. */
#ifndef MLCC_TESTS_PCC_SDK_EVENT_H
#define MLCC_TESTS_PCC_SDK_EVENT_H

#include "doca_pcc_dev.h"

typedef struct { uint32_t ev_type, port_num; } doca_pcc_dev_event_general_attr_t;
typedef struct { uint32_t sent_32bytes : 16, sent_pkts : 16; } doca_pcc_dev_roce_tx_cntrs_t;

doca_pcc_dev_event_general_attr_t doca_pcc_dev_get_ev_attr(doca_pcc_dev_event_t *event);
doca_pcc_dev_roce_tx_cntrs_t doca_pcc_dev_get_roce_tx_cntrs(doca_pcc_dev_event_t *event);
uint32_t doca_pcc_dev_get_timestamp(doca_pcc_dev_event_t *event);
uint32_t doca_pcc_dev_get_rtt_req_send_timestamp(doca_pcc_dev_event_t *event);

#endif /* MLCC_TESTS_PCC_SDK_EVENT_H */
