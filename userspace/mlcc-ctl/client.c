// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests to mlccd, by one connection. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/client.h"
#include "ctl.h"

#define TIMEOUT_US	10000000
#define TRIES		50
#define TRY_US		100000

static int connection = -1;
struct refusal refusal;

void forget_connection(void)
{
	connection = -1;
}

struct json_object *new_request(const char *op)
{
	struct json_object *o = json_object_new_object();

	put_string(o, "op", op);
	put_u64(o, "version", 1);
	return o;
}

/* Somebody else changes the carrier, or asks too much: that is over in a moment. */
static struct json_object *ask_again(const char *path, struct json_object *request, int *err)
{
	struct json_object *reply = NULL;

	for (int tries = 0; tries < TRIES; tries++) {
		json_object_put(reply);
		if (tries) {
			close(connection);
			connection = -1;
			usleep(TRY_US);
		}
		if (connection < 0)
			connection = client_connect(path, TIMEOUT_US);
		reply = client_ask(connection, json_object_get(request), err);
		if (*err || get_bool(reply, "ok") || strcmp(get_string(reply, "code"), "EAGAIN"))
			break;
	}
	json_object_put(request);
	return reply;
}

struct json_object *try_ask(struct json_object *request)
{
	const char *path = common.place ? common.place : CLIENT_SOCKET;
	struct json_object *reply;
	int err;

	reply = ask_again(path, request, &err);
	if (!err && get_bool(reply, "ok"))
		return reply;
	refusal = (struct refusal){ .status = EXIT_FAILED };
	if (err == -EBADMSG) {
		snprintf(refusal.why, sizeof(refusal.why), "mlccd's reply is no JSON object");
	} else if (err) {
		if (connection >= 0)
			close(connection);
		connection = -1;
		refusal.status = EXIT_NO_DAEMON;
		snprintf(refusal.why, sizeof(refusal.why),
			 "mlccd does not answer at %s: %s ('systemctl start mlccd'; 'mlcc-ctl doctor' looks for the cause)",
			 path, err == -EAGAIN ? "time-out" : strerror(-err));
	} else {
		snprintf(refusal.why, sizeof(refusal.why), "%s", get_string(reply, "error"));
		snprintf(refusal.code, sizeof(refusal.code), "%s", get_string(reply, "code"));
	}
	json_object_put(reply);
	return NULL;
}

struct json_object *ask(struct json_object *request)
{
	struct json_object *reply = try_ask(request);

	if (!reply)
		die_answering(refusal.status, NULL, refusal.why);
	return reply;
}
