// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests, a line each, first as an ordinary user, then as root.  Whatever comes, the reply is an
 * object with "ok", an error has a line and a code, and the table holds together.
 */
#include "../../userspace/common/clock.h"
#include "daemon.h"
#include "request.h"

static void check_reply(struct json_object *reply)
{
	struct json_object *v;

	if (!json_object_object_get_ex(reply, "ok", &v))
		abort();
	if (json_object_get_boolean(v))
		return;
	if (!json_object_object_get_ex(reply, "error", &v) || !json_object_get_string_len(v) ||
	    !json_object_object_get_ex(reply, "code", &v))
		abort();
}

static void check_table(const struct mlccd *d)
{
	uint32_t count = 0, of_user = 0;
	const struct job *j;

	LIST_FOREACH(j, &d->jobs.list, all) {
		if (d->jobs.by_id[j->conf.id] != j || j->conf.phase_bytes > MLCC_PHASE_BYTES_LIMIT)
			abort();
		if (j->plan.period_us ? j->plan.offset_us >= j->plan.period_us ||
		    j->plan.lead_us >= j->plan.period_us : j->plan.offset_us || j->plan.lead_us)
			abort();
		if (j->plan.dscp > 64 || (j->plan.dscp && (j->classes || !j->cgroup_id)))
			abort();
		count++;
		of_user += j->uid == 1000;
	}
	if (count != d->jobs.count || of_user > d->config.jobs_per_user)
		abort();
}

static void one(struct mlccd *d, const struct who *who, const char *text, size_t len)
{
	struct account *a = account_get(&d->accounts, who->uid, 0, &d->config, now_us());
	struct ring *ring = NULL;
	struct request r = { .d = d, .who = who, .account = a, .ring = &ring };
	struct json_object *reply;

	reply = request_handle(&r, text, len);
	check_reply(reply);
	json_object_put(reply);
	if (ring)
		ring_close(ring);
	check_table(d);
}

static void all(struct mlccd *d, const struct who *who, const uint8_t *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t n = end ? (size_t)(end - data) - at : size - at;
		/* a copy, so that not one byte behind it is read */
		char *copy = malloc(n);

		memcpy(copy, data + at, n);
		one(d, who, copy, n);
		free(copy);
		at += n + 1;
	}
	jobs_clear(&d->jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct who user = { .uid = 1000, .pid = getpid(), .pidfd = -1 };
	struct who root = { .admin = true, .pid = getpid(), .pidfd = -1 };
	struct mlccd *d = fuzz_start();

	all(d, &user, data, size);
	all(d, &root, data, size);
	return 0;
}
