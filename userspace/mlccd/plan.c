// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>

#include "../../include/mlcc/shift.h"
#include "../common/json.h"
#include "fields.h"
#include "plan.h"

#define PLAN_JOBS	256
#define PERIOD_MIN_US	(MLCC_SHIFT_PERIOD_MIN / 1000)
#define PERIOD_MAX_US	(MLCC_SHIFT_PERIOD_MAX / 1000)
#define DSCP_MAX	63

static const char *const states[] = {
	[MLCC_SHIFT_NONE] = "none",
	[MLCC_SHIFT_HELD] = "held",
	[MLCC_SHIFT_OFF] = "off",
	[MLCC_SHIFT_OTHER_PERIOD] = "other-period",
};

static int read_shift(struct json_object *in, struct job_plan *p, struct err *e)
{
	int err;

	err = field_u32(in, "period_us", PERIOD_MIN_US, PERIOD_MAX_US, &p->period_us, e);
	if (!err && !p->period_us &&
	    (field_given(in, "offset_us") || field_given(in, "lead_us")))
		err = fail(e, -EINVAL, "offset_us and lead_us need a period_us");
	if (!err && p->period_us && !field_given(in, "offset_us"))
		err = fail(e, -EINVAL, "period_us needs an offset_us");
	if (err || !p->period_us)
		return err;
	err = field_u32(in, "offset_us", 0, p->period_us - 1, &p->offset_us, e);
	return err ? err : field_u32(in, "lead_us", 0, p->period_us - 1, &p->lead_us, e);
}

static int read_dscp(struct json_object *in, struct job_plan *p, struct err *e)
{
	uint32_t dscp = 0;
	int err = field_u32(in, "dscp", 0, DSCP_MAX, &dscp, e);

	if (!err && field_given(in, "dscp"))
		p->dscp = dscp + 1;
	return err;
}

static int read_one(struct jobs *all, const struct who *who, struct json_object *in,
		    struct job_change *c, struct err *e)
{
	char name[MLCC_NAME_LEN];
	int err;

	if (!json_object_is_type(in, json_type_object))
		return fail(e, -EINVAL, "jobs: a list of objects is wanted");
	err = fields_known(in, " job period_us offset_us lead_us dscp ", e);
	err = err ? err : field_job(in, name, e);
	err = err ? err : jobs_find(all, who, jobs_may, name, &c->job, e);
	err = err ? err : read_shift(in, &c->plan, e);
	err = err ? err : read_dscp(in, &c->plan, e);
	return err ? err : jobs_plan_check(all, who, c, e);
}

static int read_all(struct jobs *all, const struct who *who, struct json_object *list,
		    struct job_change *c, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		int err = read_one(all, who, json_object_array_get_idx(list, i), &c[i], e);

		if (err)
			return err;
		for (size_t k = 0; k < i; k++)
			if (c[k].job == c[i].job)
				return fail(e, -EINVAL, "jobs: job %u is there twice",
					    c[i].job->conf.id);
	}
	return 0;
}

int plan_set(struct jobs *all, const struct who *who, struct json_object *in,
	     struct json_object *out, struct err *e)
{
	struct json_object *list, *ids;
	struct job_change *c;
	bool dry_run = false;
	size_t n = 0;
	int err;

	err = field_bool(in, "dry_run", &dry_run, e);
	if (err)
		return err;
	if (json_object_object_get_ex(in, "jobs", &list) &&
	    json_object_is_type(list, json_type_array))
		n = json_object_array_length(list);
	if (!n || n > PLAN_JOBS)
		return fail(e, -EINVAL, "jobs: a list of 1 to %d objects is wanted", PLAN_JOBS);
	c = calloc(n, sizeof(*c));
	if (!c)
		return fail(e, -ENOMEM, "no memory");
	err = read_all(all, who, list, c, n, e);
	if (!err && !dry_run)
		err = jobs_plan(all, c, n, e);
	if (!err) {
		ids = json_object_new_array();
		for (size_t i = 0; i < n; i++)
			json_object_array_add(ids, json_object_new_int(c[i].job->conf.id));
		json_object_object_add(out, "ids", ids);
	}
	free(c);
	return err;
}

/* What a process says is shown as what it says: nothing is decided by it. */
static void add_said(struct json_object *o, const struct mlcc_ring_said *said)
{
	const char *state = "nonsense";

	if (said->state < sizeof(states) / sizeof(*states))
		state = states[said->state];
	put_string(o, "shift_state", state);
	put_u64(o, "shift_waits", said->waits);
	json_object_object_add(o, "shift_error_us", json_object_new_int64(said->error_ns / 1000));
	put_u64(o, "shift_own_period_us", said->period_ns / 1000);
}

void plan_json(const struct jobs *all, const struct rings *rings, const struct job *job,
	       struct json_object *o)
{
	const struct job_plan *p = &job->plan;
	int dscp = jobs_dscp(all, job);
	struct mlcc_ring_said said;

	if (dscp >= 0)
		put_u64(o, "dscp", dscp);
	if (!p->period_us)
		return;
	put_u64(o, "shift_period_us", p->period_us);
	put_u64(o, "shift_offset_us", p->offset_us);
	put_u64(o, "shift_lead_us", p->lead_us);
	if (rings_said(rings, job->conf.id, &said))
		add_said(o, &said);
	else
		put_string(o, "shift_state", "nobody-asks");
}
