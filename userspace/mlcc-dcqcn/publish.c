// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What mlccd shows of a running follow: followed.h. */
#include <stdio.h>
#include <unistd.h>

#include "follow.h"
#include "../rdma/followed.h"

static const char *state_of(const struct follow *f)
{
	static const char *const names[] = {
		[PROGRESS_RUNS] = "runs", [PROGRESS_IDLE] = "idle", [PROGRESS_SHARED] = "shared",
		[PROGRESS_GONE] = "gone",
	};

	return f->away ? "away" : names[f->progress.state];
}

static void put_job(struct json_object *o, const struct progress *p)
{
	if (p->ours)
		put_u64(o, "job", p->ours->id);
	/* the port is the job's, so what the port has sent is what the job has */
	if (p->port && p->counting)
		put_u64(o, "sent_bytes", p->tracker.acked);
}

static void put_knob(struct json_object *o, const struct follow *f)
{
	put_string(o, "knob", f->knob->name);
	put_string(o, "unit", f->knob->unit);
	put_string(o, "drive", f->drive.divide ? "time" : "ai");
	put_u64(o, "base", f->drive.base);
	put_u64(o, "low", f->ends[0]);
	put_u64(o, "high", f->ends[1]);
	if (f->away)
		return;
	put_u64(o, "value", f->is);
	put_q16(o, "gain", f->gain);
}

static struct json_object *to_json(const struct follow *f, uint64_t now_us)
{
	struct json_object *o = json_object_new_object();
	char ibdev[NAME_LEN];

	put_u64(o, "version", FOLLOWED_VERSION);
	put_u64(o, "updated_us", now_us);
	put_u64(o, "pid", getpid());
	put_string(o, "backend", f->d.be->name);
	put_string(o, "device", f->d.name);
	device_ibdev(&f->d, ibdev);
	put_string(o, "rdma", ibdev);
	put_string(o, "scope", scope_name(f->d.be->scope));
	put_string(o, "state", state_of(f));
	put_job(o, &f->progress);
	put_knob(o, f);
	return o;
}

static int write_down(const struct follow *f, uint64_t now_us, struct err *e)
{
	int dir = rundir_open(FOLLOWED_DIR, true, 0700, e), err;
	char name[2 * NAME_LEN];
	struct json_object *o;

	if (dir < 0)
		return dir;
	o = to_json(f, now_us);
	device_file(&f->d, "", name);
	err = rundir_replace(dir, name,
			     json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), false);
	json_object_put(o);
	close(dir);
	return err ? fail(e, err, "cannot write to " FOLLOWED_DIR) : 0;
}

/* That nobody is told is no reason not to follow. */
void publish(struct follow *f, uint64_t now_us)
{
	struct err e;

	if (f->unpublished || now_us < f->publish_us)
		return;
	f->publish_us = now_us + FOLLOWED_EVERY_US;
	f->unpublished = write_down(f, now_us, &e);
	if (f->unpublished)
		warn("mlccd will not show what is followed: %s", e.text);
}

void publish_end(const struct follow *f)
{
	char name[2 * NAME_LEN];
	struct err e;
	int dir = rundir_open(FOLLOWED_DIR, false, 0, &e);

	if (dir < 0)
		return;
	device_file(&f->d, "", name);
	unlinkat(dir, name, 0);
	close(dir);
}
