// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dpacc has never compiled this.
 *
 * Between DOCA PCC and pcc.h: takes an event apart with the SDK's functions, returns the rate, and
 * passes on what the host says.
 *
 * The SDK's headers are not free and not here: `make sdk DOCA=DIR` builds this where they are
 * installed.  Without them it is compiled against declarations of our own (tests/pcc/sdk/), and run
 * with a NIC of our own that does what is told of BlueField-3 (tests/pcc/nic.h).  It has not run on
 * a real one.
 *
 * What is told of it: nearly all events of data come with slot 15, which is none of the eight that
 * have parameters; only TX events tell the queue pair's number; the number of the function that the
 * queue pair belongs to is in the event's second word, for which the SDK has no name.  Later NICs
 * tell both with every event.
 */
#include <doca_pcc_dev.h>
#include <doca_pcc_dev_event.h>
#include <doca_pcc_dev_algo_access.h>
#include <doca_pcc_dev_services.h>

#include "pcc.h"

#define ALGORITHM	0U
#define ALGORITHM_ID	0x3c01U		/* of the user's range, shown by the tools */

#if defined(__NV_DPA) && defined(__NV_DPA_CX8) && __NV_DPA >= __NV_DPA_CX8
#define EVERY_EVENT_HAS_QPN	1
#else
#define EVERY_EVENT_HAS_QPN	0
#endif

static_assert(DOCA_PCC_DEV_MAX_RATE == MLCC_PCC_RATE_ONE, "rates are not fxp20");
static_assert(DOCA_PCC_DEV_MAX_NUM_USER_SLOTS <= MLCC_PCC_SLOTS, "more slots than parameters");
static_assert(sizeof(doca_pcc_dev_algo_ctxt_t) >= sizeof(struct mlcc_pcc_context),
	      "no room in the NIC's context");

static struct mlcc_pcc_nic nic;

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

/* Words of an event are big-endian. */
static u32 event_vhca(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(MLCC_READ(((u32 *)event)[1])) >> 16;
}

void doca_pcc_dev_user_algo(doca_pcc_dev_algo_ctxt_t *context, doca_pcc_dev_event_t *event,
			    const doca_pcc_dev_attr_t *attr, doca_pcc_dev_results_t *results)
{
	doca_pcc_dev_event_general_attr_t general = doca_pcc_dev_get_ev_attr(event);
	struct mlcc_pcc_result result;
	struct mlcc_pcc_event ev = {
		.type = event_type(general.ev_type), .stamp = doca_pcc_dev_get_timestamp(event),
		.port = general.port_num, .slot = attr->algo_slot,
	};

	if (ev.type == MLCC_PCC_TX || EVERY_EVENT_HAS_QPN) {
		ev.vhca = event_vhca(event);
		ev.qpn = doca_pcc_dev_get_flow_qpn(event);
	}
	if (ev.type == MLCC_PCC_TX) {
		ev.units = doca_pcc_dev_get_roce_tx_cntrs(event).sent_32bytes;
		ev.packets = doca_pcc_dev_get_roce_tx_cntrs(event).sent_pkts;
	}
	if (ev.type == MLCC_PCC_RTT)
		ev.probed = doca_pcc_dev_get_rtt_req_send_timestamp(event);
	mlcc_pcc_event(&nic, (struct mlcc_pcc_context *)context, &ev, &result);
	results->rate = result.rate;
	results->rtt_req = result.probe;
}

/* With its end, as the SDK wants it. */
static u32 name_size(const char *name)
{
	u32 size = 1;

	while (*name++)
		size++;
	return size;
}

static void describe(void)
{
	struct doca_pcc_dev_algo_meta_data meta = {
		.algo_id = ALGORITHM_ID, .algo_major_version = 2,
		.algo_desc_size = sizeof(description), .algo_desc_addr = (u64)description,
	};

	doca_pcc_dev_algo_init_metadata(ALGORITHM, &meta, MLCC_PCC_PARAMS, 0);
	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++) {
		const struct mlcc_pcc_limits *p = &mlcc_pcc_params[i];

		doca_pcc_dev_algo_init_param(ALGORITHM, i, p->value, p->max, p->min, 1,
					     name_size(p->name), (u64)p->name);
	}
}

/* ACKs tell nothing that a TX event does not, and there are many. */
void doca_pcc_dev_user_init(u32 *disable_event_bitmask)
{
	describe();
	mlcc_pcc_init(&nic);
	for (u32 port = 0; port < MLCC_PCC_PORTS && port < DOCA_PCC_DEV_MAX_NUM_PORTS; port++)
		for (u32 slot = 0; slot < DOCA_PCC_DEV_MAX_NUM_USER_SLOTS; slot++)
			doca_pcc_dev_init_algo_slot(port, slot, ALGORITHM, slot == 0);
	*disable_event_bitmask = 1U << DOCA_PCC_DEV_EVNT_ROCE_ACK;
}

/* The host has set @count parameters from @base on; all of them are taken, or none. */
doca_pcc_dev_error_t doca_pcc_dev_user_set_algo_params(u32 port, u32 slot, u32 base,
						       u32 count, const u32 *values,
						       u32 *params)
{
	u32 all[MLCC_PCC_PARAMS];

	if (base > MLCC_PCC_PARAMS || count > MLCC_PCC_PARAMS - base)
		return DOCA_PCC_DEV_STATUS_FAIL;
	for (u32 i = 0; i < MLCC_PCC_PARAMS; i++)
		all[i] = i - base < count ? values[i - base] : params[i];
	if (!mlcc_pcc_set(&nic, port, slot, all))
		return DOCA_PCC_DEV_STATUS_FAIL;
	for (u32 i = 0; i < count; i++)
		params[base + i] = values[i];
	return DOCA_PCC_DEV_STATUS_OK;
}

/*
 * A message from mlcc-pcc.  What is in it may have been written by anybody who may open the NIC,
 * and may be written to still: so what is checked is a copy.
 */
doca_pcc_dev_error_t doca_pcc_dev_user_mailbox_handle(void *message, u32 bytes, u32 most,
						      void *answer, u32 *answer_bytes)
{
	const struct mlcc_pcc_request *request = message;
	struct mlcc_pcc_response response = { .status = MLCC_PCC_DONE };
	struct mlcc_pcc_command command;
	u32 count;

	*answer_bytes = 0;
	if (bytes < sizeof(*request) || most < sizeof(response))
		return DOCA_PCC_DEV_STATUS_FAIL;
	count = MLCC_READ(request->count);
	if (request->version != MLCC_PCC_VERSION || count > MLCC_PCC_COMMANDS)
		return DOCA_PCC_DEV_STATUS_FAIL;
	while (response.done < count && response.status == MLCC_PCC_DONE) {
		command = MLCC_READ(request->command[response.done]);
		response.status = mlcc_pcc_command(&nic, &command);
		response.done += response.status == MLCC_PCC_DONE;
	}
	*(struct mlcc_pcc_response *)answer = response;
	*answer_bytes = sizeof(response);
	return DOCA_PCC_DEV_STATUS_OK;
}
