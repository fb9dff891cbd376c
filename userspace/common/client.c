// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"

#define REPLY_MAX	65536

int client_connect(const char *path, unsigned int timeout_us)
{
	const struct timeval t = { timeout_us / 1000000, timeout_us % 1000000 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
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

/* Sends the request and reads the reply's text.  0, or a negative error number. */
static int exchange(int fd, struct json_object *request, char text[REPLY_MAX + 1])
{
	const char *s;
	size_t len;
	ssize_t n;

	if (fd < 0)
		return fd;
	s = json_object_to_json_string_length(request, JSON_C_TO_STRING_PLAIN, &len);
	if (send(fd, s, len, MSG_NOSIGNAL) < 0)
		return -errno;
	n = recv(fd, text, REPLY_MAX, 0);
	if (n <= 0)
		return n ? -errno : -ECONNRESET;
	text[n] = '\0';
	return 0;
}

struct json_object *client_ask(int fd, struct json_object *request, int *err)
{
	static char text[REPLY_MAX + 1];
	struct json_object *reply = NULL;

	*err = exchange(fd, request, text);
	json_object_put(request);
	if (!*err)
		reply = json_tokener_parse(text);
	if (*err || json_object_is_type(reply, json_type_object))
		return reply;
	json_object_put(reply);
	*err = -EBADMSG;
	return NULL;
}
