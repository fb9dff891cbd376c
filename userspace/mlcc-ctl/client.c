// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* One connection to mlccd, a packet each way for a request. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl.h"

static const char *socket_path(void)
{
	return common.place ? common.place : CTL_SOCKET;
}

#define REPLY_MAX	65536
#define TIMEOUT_S	10

static int connection = -1;

static int connect_daemon(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval t = { .tv_sec = TIMEOUT_S };
	int fd, err;

	if (strlen(socket_path()) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, socket_path());
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

struct json_object *new_request(const char *op)
{
	struct json_object *o = json_object_new_object();

	put_string(o, "op", op);
	put_u64(o, "version", 1);
	return o;
}

/* Sends the request and reads the reply's text; its length, or a negative error number. */
static ssize_t exchange(struct json_object *request, char text[REPLY_MAX + 1])
{
	const char *s;
	size_t len;
	ssize_t n;

	if (connection < 0)
		connection = connect_daemon();
	if (connection < 0)
		return connection;
	s = json_object_to_json_string_length(request, JSON_C_TO_STRING_PLAIN, &len);
	if (send(connection, s, len, MSG_NOSIGNAL) < 0)
		return -errno;
	n = recv(connection, text, REPLY_MAX, 0);
	if (n <= 0)
		return n ? -errno : -ECONNRESET;
	text[n] = '\0';
	return n;
}

struct json_object *try_ask(struct json_object *request, int *status, char *error, size_t size)
{
	static char text[REPLY_MAX + 1];
	struct json_object *reply;
	ssize_t n;

	n = exchange(request, text);
	json_object_put(request);
	if (n < 0) {
		if (connection >= 0)
			close(connection);
		connection = -1;
		*status = EXIT_NO_DAEMON;
		snprintf(error, size, "mlccd does not answer at %s: %s ('systemctl start mlccd'; 'mlcc-ctl doctor' looks for the cause)",
			 socket_path(), n == -EAGAIN ? "time-out" : strerror(-n));
		return NULL;
	}
	reply = json_tokener_parse(text);
	*status = EXIT_REFUSED;
	if (!json_object_is_type(reply, json_type_object))
		snprintf(error, size, "mlccd's reply is no JSON object");
	else if (!get_bool(reply, "ok"))
		snprintf(error, size, "%s", get_string(reply, "error"));
	else
		return reply;
	json_object_put(reply);
	return NULL;
}

struct json_object *ask(struct json_object *request)
{
	struct json_object *reply;
	char error[600];
	int status;

	reply = try_ask(request, &status, error, sizeof(error));
	if (reply)
		return reply;
	if (common.json) {
		reply = json_object_new_object();
		put_bool(reply, "ok", false);
		put_string(reply, "error", error);
		print_json(reply);
	}
	die(status, "%s", error);
}
