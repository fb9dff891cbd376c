/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What jobs send by: TCP, RDMA, and what is known of the latter. */
#ifndef MLCCD_TRANSPORT_H
#define MLCCD_TRANSPORT_H

#include <json-c/json.h>
#include <stdint.h>

#include "../libmlcc/libmlcc.h"

struct rdma;

struct transport {
	struct rdma *rdma;		/* as last looked at */
	uint64_t looked_at;
};

/*
 * Adds members to what is shown of a job; @info: NULL, the carrier does not know it.  @carrier: the
 * one that @info comes from.
 */
void transport_json(struct transport *t, struct json_object *o, uint32_t job,
		    enum mlcc_carrier carrier, const struct mlcc_job_info *info);
void transport_free(struct transport *t);

#endif /* MLCCD_TRANSPORT_H */
