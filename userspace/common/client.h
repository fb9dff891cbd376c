/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A connection to mlccd: a packet each way for a request (Documentation/mlccd-protocol.md). */
#ifndef MLCC_CLIENT_H
#define MLCC_CLIENT_H

#include <json-c/json.h>

#define CLIENT_SOCKET	"/run/mlcc/mlccd.sock"

/* A descriptor, or a negative error number.  @timeout_us: of each packet. */
int client_connect(const char *path, unsigned int timeout_us);

/*
 * What mlccd replies to @request, which is freed.  NULL, with @err: it does not, or -EBADMSG, it is
 * no JSON object.  @fd: what client_connect() has returned, an error as well.
 */
struct json_object *client_ask(int fd, struct json_object *request, int *err);

#endif /* MLCC_CLIENT_H */
