// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a job sends by, and what is known of its RDMA: one look at the files serves requests for
 * half a second, as anybody may ask.
 */
#include <json-c/json.h>
#include <stdlib.h>

#include "../common/clock.h"
#include "../common/json.h"
#include "../rdma/rdma.h"
#include "fields.h"
#include "transport.h"

#define LOOK_US		500000
#define SHOWN_MAX	12	/* devices of a job in a reply */

static const struct rdma *transport_look(struct transport *t)
{
	uint64_t now = now_us();

	if (!t->rdma)
		t->rdma = calloc(1, sizeof(*t->rdma));
	if (t->rdma && now >= t->looked_at) {
		rdma_read(t->rdma, false);
		t->looked_at = now + LOOK_US;
	}
	return t->rdma;
}

void transport_free(struct transport *t)
{
	if (t->rdma)
		rdma_free(t->rdma);
	free(t->rdma);
	t->rdma = NULL;
}

/* What is not known is left out. */
static void put_known(struct json_object *o, const char *key, const char *v)
{
	if (*v)
		put_string(o, key, v);
}

static void put_list(struct json_object *o, const char *key, struct json_object *list)
{
	if (json_object_array_length(list))
		json_object_object_add(o, key, list);
	else
		json_object_put(list);
}

static void qps_json(struct json_object *o, const struct rdma_qps *q)
{
	put_known(o, "backend", "rxe");
	put_u64(o, "qps", q->qps);
	put_u64(o, "sent_bytes", q->sent);
	put_u64(o, "cnps", q->cnps);
	if (!q->paced)
		return;
	put_u64(o, "rate_kbps", q->rate);
	put_u64(o, "slowest_kbps", q->slowest);
}

static void follow_json(struct json_object *o, const struct rdma_follow *f)
{
	put_known(o, "backend", f->backend);
	put_known(o, "follows", f->device);
	put_known(o, "scope", f->scope);
	put_known(o, "state", f->state);
	put_known(o, "knob", f->knob);
	put_known(o, "unit", f->unit);
	put_known(o, "drive", f->drive);
	put_u64(o, "base", f->base);
	put_u64(o, "low", f->low);
	put_u64(o, "high", f->high);
	if (f->has_value) {
		put_u64(o, "value", f->value);
		put_q16(o, "gain", f->gain * 65536 + 0.5);
	}
	if (f->has_sent)
		put_u64(o, "sent_bytes", f->sent);
}

/* The whole port's, whoever sends there. */
static void port_json(struct json_object *o, const struct rdma_port *p)
{
	struct json_object *counters = json_object_new_object();

	for (unsigned int c = 0; c < RDMA_COUNTERS; c++)
		if (p->there >> c & 1)
			put_u64(counters, rdma_counter_name(c), p->count[c]);
	json_object_object_add(o, "port_counters", counters);
}

static struct json_object *use_json(const struct rdma *r, const struct rdma_use *u)
{
	const struct rdma_port *p = rdma_port_of(r, u);
	struct json_object *o = json_object_new_object();

	put_known(o, "device", u->device);
	if (u->follows)
		follow_json(o, &u->follow);
	else
		qps_json(o, &u->qps);
	if (p)
		port_json(o, p);
	return o;
}

/* The module counts soft-RoCE's QPs among the job's flows; the BPF carrier does not know them. */
static bool has_tcp(enum mlcc_carrier carrier, const struct mlcc_job_info *info, uint64_t qps)
{
	if (carrier != MLCC_CARRIER_MODULE)
		qps = 0;
	return info->flows > qps;
}

void transport_json(struct transport *t, struct json_object *o, uint32_t job,
		    enum mlcc_carrier carrier, const struct mlcc_job_info *info)
{
	struct json_object *names = json_object_new_array(), *list = json_object_new_array();
	const struct rdma *r = transport_look(t);
	uint64_t qps = 0, count = 0;

	for (size_t i = 0; r && i < r->uses; i++) {
		if (r->use[i].job != job)
			continue;
		qps += r->use[i].qps.qps;
		if (count++ < SHOWN_MAX)
			json_object_array_add(list, use_json(r, &r->use[i]));
	}
	if (info && has_tcp(carrier, info, qps))
		json_object_array_add(names, json_object_new_string("tcp"));
	if (count)
		json_object_array_add(names, json_object_new_string("rdma"));
	put_list(o, "transports", names);
	if (count > SHOWN_MAX)
		put_u64(o, "rdma_more", count - SHOWN_MAX);
	put_list(o, "rdma", list);
}
