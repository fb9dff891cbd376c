// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a job's processes have handed to the network in the phase that lasts, as mlccd adds it up
 * from their rings: the progress of a job that sends by RDMA, of whose bytes no carrier knows.
 *
 * mlccd is asked at each look, which costs both some 0.1 ms.  One that is not there, or hangs, is
 * left alone for a second; so is a job whose processes count nothing.
 */
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "progress.h"

#define SOCKET		"/run/mlcc/mlccd.sock"
#define REPLY_MAX	65536
#define AGAIN_US	1000000
#define TIMEOUT_US	50000

static int ranks_connect(void)
{
	const struct timeval timeout = { .tv_usec = TIMEOUT_US };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int place = sysroot_open(SOCKET, O_PATH | O_CLOEXEC), fd;

	if (place < 0)
		return place;
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d", place);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	}
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		fd = -1;
	}
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
	static char text[REPLY_MAX + 1];
	ssize_t n;
	int len;

	len = snprintf(text, sizeof(text), "{\"op\":\"show\",\"job\":%u}", job);
	if (send(r->fd, text, len, MSG_NOSIGNAL) != len)
		return NULL;
	n = recv(r->fd, text, REPLY_MAX, 0);
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return json_tokener_parse(text);
}

static uint64_t get(struct json_object *job, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(job, key, &v) ? json_object_get_uint64(v) : 0;
}

/* False: they count nothing. */
static bool read_progress(struct json_object *reply, uint32_t *progress)
{
	struct json_object *jobs, *job = NULL;
	uint64_t sent, d_phase;

	if (json_object_object_get_ex(reply, "jobs", &jobs) &&
	    json_object_is_type(jobs, json_type_array))
		job = json_object_array_get_idx(jobs, 0);
	if (!job || !get(job, "ranks_sent_bytes"))
		return false;
	sent = get(job, "ranks_phase_bytes");
	d_phase = get(job, "d_phase_bytes");
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
