// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a job's processes have handed to the network in the phase that lasts, as mlccd adds it up
 * from their rings: the progress of a job that sends by RDMA, of whose bytes no carrier knows.
 *
 * mlccd is asked at each look, which costs both some 0.1 ms.  One that is not there, or hangs, is
 * left alone for a second; so is a job whose processes count nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../common/client.h"
#include "../common/json.h"
#include "progress.h"

#define AGAIN_US	1000000
#define TIMEOUT_US	50000

/* Below the root, whatever that is. */
static int ranks_connect(void)
{
	int place = sysroot_open(CLIENT_SOCKET, O_PATH), fd;
	char path[32];

	if (place < 0)
		return place;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = client_connect(path, TIMEOUT_US);
	close(place);
	return fd;
}

void ranks_close(struct ranks_link *r)
{
	if (r->open)
		close(r->fd);
	r->open = false;
}

/* The job as mlccd shows it; NULL: it does not. */
static struct json_object *ask(const struct ranks_link *r, uint32_t job)
{
	struct json_object *request = json_object_new_object();
	int err;

	put_string(request, "op", "show");
	put_u64(request, "job", job);
	return client_ask(r->fd, request, &err);
}

/* False: they count nothing. */
static bool read_progress(struct json_object *reply, uint32_t *progress)
{
	struct json_object *jobs, *job = NULL;
	uint64_t sent, d_phase;

	if (json_object_object_get_ex(reply, "jobs", &jobs) &&
	    json_object_is_type(jobs, json_type_array))
		job = json_object_array_get_idx(jobs, 0);
	if (!job || !get_u64(job, "ranks_sent_bytes"))
		return false;
	sent = get_u64(job, "ranks_phase_bytes");
	d_phase = get_u64(job, "d_phase_bytes");
	*progress = MLCC_NEUTRAL;
	if (sent && d_phase)
		*progress = sent < d_phase ? (double)sent / d_phase * MLCC_ONE : MLCC_ONE;
	return true;
}

bool ranks_progress(struct ranks_link *r, uint32_t job, uint64_t now_us, uint32_t *progress)
{
	struct json_object *reply;
	bool known;

	if (!r->open && now_us < r->again_us)
		return false;
	if (!r->open) {
		r->fd = ranks_connect();
		r->open = r->fd >= 0;
	}
	reply = r->open ? ask(r, job) : NULL;
	known = reply && read_progress(reply, progress);
	json_object_put(reply);
	if (known)
		return true;
	ranks_close(r);
	r->again_us = now_us + AGAIN_US;
	return false;
}
