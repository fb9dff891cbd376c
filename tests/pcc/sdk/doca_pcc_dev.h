/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Not the SDK: declarations, in our own words, of what rdma/pcc/ uses of it, so that it can be
 * compiled and run where the SDK is not.  No layout, size or value in here says anything about the
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

#endif /* MLCC_TESTS_PCC_SDK_H */
