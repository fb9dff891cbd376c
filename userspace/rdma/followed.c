// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What mlcc-dcqcn follow tells: followed.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "followed.h"
#include "../common/auto.h"
#include "../common/clock.h"
#include "../common/json.h"
#include "rdma.h"

#define GAIN_MAX	64

static bool get_name(struct json_object *o, const char *key, char *to, size_t size)
{
	struct json_object *s;
	size_t len;

	if (!json_object_object_get_ex(o, key, &s) || !json_object_is_type(s, json_type_string))
		return false;
	len = json_object_get_string_len(s);
	if (len >= size || strlen(json_object_get_string(s)) != len ||
	    !rdma_is_name(json_object_get_string(s)))
		return false;
	memcpy(to, json_object_get_string(s), len + 1);
	return true;
}

static bool is_fresh(struct json_object *o)
{
	uint64_t at, now = now_us();

	return read_u64(o, "updated_us", UINT64_MAX, &at) && at <= now &&
	       now - at < FOLLOWED_STALE_US;
}

/* What only a device that is there has, or a follow that counts. */
static void from_json_optional(struct json_object *o, struct rdma_use *u)
{
	struct json_object *gain;
	uint64_t job = 0;

	if (read_u64(o, "job", UINT16_MAX, &job))
		u->job = job;
	u->follow.has_sent = read_u64(o, "sent_bytes", INT64_MAX, &u->follow.sent);
	u->follow.has_value = read_u32(o, "value", &u->follow.value) &&
			      json_object_object_get_ex(o, "gain", &gain);
	if (!u->follow.has_value)
		return;
	u->follow.gain = json_object_get_double(gain);
	u->follow.has_value = u->follow.gain >= 0 && u->follow.gain <= GAIN_MAX;
}

static bool followed_from_json(struct json_object *o, struct rdma_use *u)
{
	struct rdma_follow *f = &u->follow;
	uint64_t version;

	*u = (struct rdma_use){ .follows = true };
	if (!json_object_is_type(o, json_type_object) ||
	    !read_u64(o, "version", UINT64_MAX, &version) || version != FOLLOWED_VERSION ||
	    !is_fresh(o))
		return false;
	from_json_optional(o, u);
	return get_name(o, "rdma", u->device, sizeof(u->device)) &&
	       get_name(o, "backend", f->backend, sizeof(f->backend)) &&
	       get_name(o, "device", f->device, sizeof(f->device)) &&
	       get_name(o, "knob", f->knob, sizeof(f->knob)) &&
	       get_name(o, "unit", f->unit, sizeof(f->unit)) &&
	       get_name(o, "scope", f->scope, sizeof(f->scope)) &&
	       get_name(o, "drive", f->drive, sizeof(f->drive)) &&
	       get_name(o, "state", f->state, sizeof(f->state)) &&
	       read_u32(o, "base", &f->base) && read_u32(o, "low", &f->low) &&
	       read_u32(o, "high", &f->high);
}

static void follow_read(struct rdma *r, const char *name)
{
	char path[DIR_LEN], text[FOLLOWED_MAX];
	AUTO_PUT struct json_object *o = NULL;
	struct rdma_use u, *to;

	snprintf(path, sizeof(path), FOLLOWED_DIR "/%.*s", 2 * NAME_LEN - 1, name);
	if (strlen(name) >= 2 * NAME_LEN || sysroot_read(path, text, sizeof(text)) <= 0)
		return;
	o = json_tokener_parse(text);
	to = followed_from_json(o, &u) ? rdma_add(r) : NULL;
	if (to)
		*to = u;
}

/* Only if nobody but root could have written there. */
void rdma_read_follows(struct rdma *r)
{
	AUTO_CLOSEDIR DIR *files = NULL;
	struct err e;
	AUTO_CLOSE int dir = rundir_open(FOLLOWED_DIR, false, &e);

	if (dir < 0)
		return;
	files = sysroot_dir(FOLLOWED_DIR, NULL);
	for (const char *name; (name = sysroot_next(files));)
		follow_read(r, name);
}
