/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One request of a peer to one reply; knows nothing of sockets. */
#ifndef MLCCD_REQUEST_H
#define MLCCD_REQUEST_H

#include <json-c/json.h>

#include "mlccd.h"

#define REQUEST_MAX	65536
#define REPLY_MAX	65536
#define NEUTRAL_ALL	JOB_IDS		/* no job's id */
#define JSON_STYLE	(JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

struct request {
	struct mlccd *d;
	const struct who *who;
	struct account *account;
	bool with_fds;			/* descriptors are with it, */
	const int *fds;			/* these, of a ring; NULL: they are not received yet */
	struct ring **ring;		/* the peer's */
	uint32_t *neutral;		/* the job that it has made so, or NEUTRAL_ALL; 0: none */
};

/*
 * json_object_put() the reply.  NULL: the descriptors are wanted first; ask again with them.
 */
struct json_object *request_handle(struct request *r, const char *text, size_t len);

/* {"ok": false, "error": ..., "code": ...} */
struct json_object *reply_error(int code, const char *text);

#endif /* MLCCD_REQUEST_H */
