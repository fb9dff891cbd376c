// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What follow tells: a line of text or of JSON for each thing that happens. */
#include <stdio.h>
#include <sys/resource.h>

#include "follow.h"

static struct json_object *event_json(const struct follow *f, const char *event)
{
	struct json_object *o = json_object_new_object();

	put_string(o, "event", event);
	put_string(o, "backend", f->d.be->name);
	put_string(o, "device", f->d.name);
	return o;
}

void event_text(const struct follow *f, const char *event, const char *text)
{
	struct json_object *o;

	if (!common.json) {
		warn("%s:%s: %s: %s", f->d.be->name, f->d.name, event, text);
		return;
	}
	o = event_json(f, event);
	put_string(o, "text", text);
	answer(o);
}

void event_plan(const struct follow *f)
{
	const char *unit = f->knob->unit;
	struct json_object *o;

	if (!common.json) {
		printf("%s%s:%s %s: %u%s%s at gain 1, %u to %u with the job's progress, looked at every %gms at most, %u writes a second\n",
		       common.dry_run ? "would follow " : "", f->d.be->name, f->d.name,
		       f->knob->name, f->drive.base, *unit ? " " : "", unit, f->ends[0],
		       f->ends[1], f->cadence_us / 1e3, f->rate);
		fflush(stdout);
		return;
	}
	o = event_json(f, common.dry_run ? "plan" : "start");
	put_string(o, "knob", f->knob->name);
	put_string(o, "unit", unit);
	put_string(o, "scope", scope_name(f->d.be->scope));
	put_u64(o, "base", f->drive.base);
	put_u64(o, "low", f->ends[0]);
	put_u64(o, "high", f->ends[1]);
	put_u64(o, "levels", f->ends[1] - f->ends[0] + 1);
	put_u64(o, "cadence_us", f->cadence_us);
	put_u64(o, "budget", f->rate);
	answer(o);
}

static uint64_t cpu_us(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000ULL + r.ru_utime.tv_usec +
	       r.ru_stime.tv_usec;
}

void event_end(const struct follow *f)
{
	struct json_object *o;

	if (!common.json) {
		printf("%s:%s: looked %llu times, wrote %llu times, held back %llu times, took %.3f s of a core\n",
		       f->d.be->name, f->d.name, (unsigned long long)f->looks,
		       (unsigned long long)f->writes, (unsigned long long)f->held,
		       cpu_us() / 1e6);
		return;
	}
	o = event_json(f, "end");
	put_u64(o, "looks", f->looks);
	put_u64(o, "writes", f->writes);
	put_u64(o, "held", f->held);
	put_u64(o, "cpu_us", cpu_us());
	answer(o);
}
