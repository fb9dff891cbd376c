// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What follow tells: a line of text or of JSON for each thing that happens, and what mlccd shows
 * (rdma.h).
 */
#include <stdio.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/clock.h"
#include "follow.h"
#include "../rdma/rdma.h"

static struct json_object *event_json(const struct rail *r, const char *event)
{
	struct json_object *o = json_object_new_object();

	put_string(o, "event", event);
	if (r) {
		put_string(o, "backend", r->d.be->name);
		put_string(o, "device", r->d.name);
	}
	return o;
}

void event_text(const struct follow *f, const struct rail *r, const char *event, const char *text)
{
	struct json_object *o;

	if (!r && f->count == 1)
		r = f->rails;
	if (!common.json && r) {
		warn("%s:%s: %s: %s", r->d.be->name, r->d.name, event, text);
		return;
	}
	if (!common.json) {
		warn("%s: %s: %s", f->devices, event, text);
		return;
	}
	o = event_json(r, event);
	put_string(o, "text", text);
	answer(o);
}

void event_plan(const struct follow *f, const struct rail *r)
{
	const char *unit = r->knob->unit;
	struct json_object *o;

	if (!common.json) {
		printf("%s%s:%s %s: %u%s%s at gain 1, %u to %u with the job's progress, looked at every %gms at most, %u writes a second\n",
		       common.dry_run ? "would follow " : "", r->d.be->name, r->d.name,
		       r->knob->name, r->drive.base, *unit ? " " : "", unit, r->ends[0],
		       r->ends[1], f->cadence_us / 1e3, r->rate);
		fflush(stdout);
		return;
	}
	o = event_json(r, common.dry_run ? "plan" : "start");
	put_string(o, "knob", r->knob->name);
	put_string(o, "unit", unit);
	put_string(o, "scope", scope_name(r->d.be->scope));
	put_u64(o, "base", r->drive.base);
	put_u64(o, "low", r->ends[0]);
	put_u64(o, "high", r->ends[1]);
	put_u64(o, "levels", r->ends[1] - r->ends[0] + 1);
	put_u64(o, "cadence_us", f->cadence_us);
	put_u64(o, "budget", r->rate);
	answer(o);
}

void event_end(const struct follow *f, const struct rail *r)
{
	struct json_object *o;

	if (!common.json) {
		printf("%s:%s: looked %llu times, wrote %llu times, held back %llu times, took %.3f s of a core\n",
		       r->d.be->name, r->d.name, (unsigned long long)f->looks,
		       (unsigned long long)r->writes, (unsigned long long)r->held,
		       clock_us(CLOCK_PROCESS_CPUTIME_ID) / 1e6);
		return;
	}
	o = event_json(r, "end");
	put_u64(o, "looks", f->looks);
	put_u64(o, "writes", r->writes);
	put_u64(o, "held", r->held);
	put_u64(o, "cpu_us", clock_us(CLOCK_PROCESS_CPUTIME_ID));
	answer(o);
}

static const char *tell_state_of(const struct follow *f, const struct rail *r)
{
	static const char *const names[] = {
		[PROGRESS_RUNS] = "runs", [PROGRESS_IDLE] = "idle", [PROGRESS_SHARED] = "shared",
		[PROGRESS_GONE] = "gone",
	};

	return r->away ? "away" : names[f->progress.state];
}

static void put_knob(struct json_object *o, const struct rail *r, uint32_t gain)
{
	put_string(o, "knob", r->knob->name);
	put_string(o, "unit", r->knob->unit);
	put_string(o, "drive", r->drive.divide ? "time" : "ai");
	put_u64(o, "base", r->drive.base);
	put_u64(o, "low", r->ends[0]);
	put_u64(o, "high", r->ends[1]);
	if (r->away)
		return;
	put_u64(o, "value", r->is);
	put_q16(o, "gain", gain);
}

static struct json_object *tell_to_json(const struct follow *f, const struct rail *r,
					uint64_t now_us)
{
	struct json_object *o = json_object_new_object();
	const struct progress *p = &f->progress;
	char ibdev[NAME_LEN];

	put_u64(o, "version", FOLLOWED_VERSION);
	put_u64(o, "updated_us", now_us);
	put_u64(o, "pid", getpid());
	put_string(o, "backend", r->d.be->name);
	put_string(o, "device", r->d.name);
	device_ibdev(&r->d, ibdev);
	put_string(o, "rdma", ibdev);
	put_string(o, "scope", scope_name(r->d.be->scope));
	put_string(o, "state", tell_state_of(f, r));
	if (p->ours)
		put_u64(o, "job", p->ours->id);
	/* the port is the job's, so what the port has sent is what the job has */
	if (p->port && p->counting)
		put_u64(o, "sent_bytes", p->tracker.acked);
	put_knob(o, r, f->gain);
	return o;
}

static int write_down(const struct follow *f, const struct rail *r, uint64_t now_us, struct err *e)
{
	AUTO_CLOSE int dir = rundir_open(FOLLOWED_DIR, true, e);
	AUTO_PUT struct json_object *o = NULL;
	char name[2 * NAME_LEN];
	int err;

	if (dir < 0)
		return dir;
	o = tell_to_json(f, r, now_us);
	device_file(&r->d, "", name);
	err = rundir_replace(dir, name,
			     json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), false);
	return err ? fail(e, err, "cannot write to " FOLLOWED_DIR) : 0;
}

/* That nobody is told is no reason not to follow. */
void publish(const struct follow *f, struct rail *r, uint64_t now_us)
{
	struct err e;

	if (r->unpublished || now_us < r->publish_us)
		return;
	r->publish_us = now_us + FOLLOWED_EVERY_US;
	r->unpublished = write_down(f, r, now_us, &e);
	if (r->unpublished)
		warn("mlccd will not show what is followed: %s", e.text);
}

void publish_end(const struct rail *r)
{
	char name[2 * NAME_LEN];
	struct err e;
	AUTO_CLOSE int dir = rundir_open(FOLLOWED_DIR, false, &e);

	device_file(&r->d, "", name);
	if (dir >= 0)
		unlinkat(dir, name, 0);
}
