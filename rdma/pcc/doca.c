// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Between DOCA PCC and pcc.h: takes an event apart with the SDK's functions, and returns the rate.
 *
 * The SDK's headers are not free and not here: `make sdk DOCA=DIR` builds this where they are
 * installed.  Without them it is compiled against declarations of our own (tests/pcc/sdk/), which
 * tells that it is C, and no more.  It has not run on a NIC.
 *
 * Each of the SDK's eight algorithm slots is a job of a port.  TX events count bytes in 16 bits of
 * 32: a burst above 2 MB counts as 2 MB.
 */
#include <doca_pcc_dev.h>
#include <doca_pcc_dev_event.h>
#include <doca_pcc_dev_algo_access.h>

#include "pcc.h"

#define ALGORITHM	0U
#define ALGORITHM_ID	0x3c01U		/* of the user's range, shown by the tools */
#define TX_UNIT_SHIFT	5		/* 32 bytes */

static_assert(DOCA_PCC_DEV_MAX_RATE == MLCC_PCC_RATE_ONE, "rates are not fxp20");
static_assert(sizeof(doca_pcc_dev_algo_ctxt_t) >= sizeof(struct mlcc_pcc_flow),
	      "no room for the flow in its context");

static struct mlcc_pcc_slot slots[DOCA_PCC_DEV_MAX_NUM_PORTS][DOCA_PCC_DEV_MAX_NUM_USER_SLOTS];

static const char description[] = "mlcc: DCQCN that lets training jobs take turns";

static u32 event_type(u32 type)
{
	switch (type) {
	case DOCA_PCC_DEV_EVNT_ROCE_CNP:
		return MLCC_PCC_CNP;
	case DOCA_PCC_DEV_EVNT_ROCE_TX:
		return MLCC_PCC_TX;
	case DOCA_PCC_DEV_EVNT_RTT:
		return MLCC_PCC_RTT;
	}
	return MLCC_PCC_OTHER;
}

void doca_pcc_dev_user_algo(doca_pcc_dev_algo_ctxt_t *context, doca_pcc_dev_event_t *event,
			    const doca_pcc_dev_attr_t *attr, doca_pcc_dev_results_t *results)
{
	doca_pcc_dev_event_general_attr_t general = doca_pcc_dev_get_ev_attr(event);
	struct mlcc_pcc_result result;
	struct mlcc_pcc_event ev = {
		.type = event_type(general.ev_type), .stamp = doca_pcc_dev_get_timestamp(event),
	};

	if (attr->algo_slot >= DOCA_PCC_DEV_MAX_NUM_USER_SLOTS) {
		doca_pcc_dev_default_internal_algo(context, event, attr, results);
		return;
	}
	if (ev.type == MLCC_PCC_TX)
		ev.bytes = (u32)doca_pcc_dev_get_roce_tx_cntrs(event).sent_32bytes << TX_UNIT_SHIFT;
	if (ev.type == MLCC_PCC_RTT)
		ev.probed = doca_pcc_dev_get_rtt_req_send_timestamp(event);
	mlcc_pcc_event(&slots[general.port_num][attr->algo_slot], (struct mlcc_pcc_flow *)context,
		       &ev, &result);
	results->rate = result.rate;
	results->rtt_req = result.probe;
}

static void describe(void)
{
	struct doca_pcc_dev_algo_meta_data meta = {
		.algo_id = ALGORITHM_ID, .algo_major_version = 1,
		.algo_desc_size = sizeof(description), .algo_desc_addr = (u64)description,
	};

	doca_pcc_dev_algo_init_metadata(ALGORITHM, &meta, MLCC_PCC_PARAMS, 0);
	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++) {
		const struct mlcc_pcc_limits *p = &mlcc_pcc_params[i];

		doca_pcc_dev_algo_init_param(ALGORITHM, i, p->value, p->max, p->min, 1,
					     __builtin_strlen(p->name) + 1, (u64)p->name);
	}
}

/* ACKs tell nothing that a TX event does not, and there are many. */
void doca_pcc_dev_user_init(u32 *disable_event_bitmask)
{
	describe();
	for (u32 port = 0; port < DOCA_PCC_DEV_MAX_NUM_PORTS; port++) {
		for (u32 slot = 0; slot < DOCA_PCC_DEV_MAX_NUM_USER_SLOTS; slot++) {
			mlcc_pcc_init(&slots[port][slot]);
			doca_pcc_dev_init_algo_slot(port, slot, ALGORITHM, slot == 0);
		}
	}
	*disable_event_bitmask = 1U << DOCA_PCC_DEV_EVNT_ROCE_ACK;
}

/* The host has set @count parameters from @base on; all of them are taken, or none. */
doca_pcc_dev_error_t doca_pcc_dev_user_set_algo_params(u32 port, u32 slot, u32 base,
						       u32 count, const u32 *values,
						       u32 *params)
{
	u32 all[MLCC_PCC_PARAMS];

	if (port >= DOCA_PCC_DEV_MAX_NUM_PORTS || slot >= DOCA_PCC_DEV_MAX_NUM_USER_SLOTS ||
	    base > MLCC_PCC_PARAMS || count > MLCC_PCC_PARAMS - base)
		return DOCA_PCC_DEV_STATUS_FAIL;
	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++)
		all[i] = i - base < count ? values[i - base] : params[i];
	if (!mlcc_pcc_set(&slots[port][slot], all))
		return DOCA_PCC_DEV_STATUS_FAIL;
	for (u32 i = 0; i < count; i++)
		params[base + i] = values[i];
	return DOCA_PCC_DEV_STATUS_OK;
}
