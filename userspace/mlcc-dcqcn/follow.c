// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * follow: a job's progress drives R_AI or T of its ports.
 *
 *	look	gain = grow(progress)			include/mlcc/rule.h
 *	of each device:
 *		want = gain R_AI, or T / gain		drive.h
 *	move	read; if somebody else has written, begin again from there
 *		write; read back
 *
 * A knob is read once a second, too, so that a reset does not go unnoticed between two moves.
 *
 *	       reading fails                       reading works
 *	there ---------------> away (look each 100 ms) ---------------> there
 *
 * A NIC that has been reset has its defaults.  They, or whatever somebody else has set meanwhile,
 * become the new base, and what "restore" puts back: the values from before the reset are gone,
 * and an administrator's setting wins.  A driver that was only loaded again has the value that was
 * written last, and the old base still holds.
 *
 * All devices are put back when it ends, whichever of them has ended it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "../common/clock.h"
#include "../rdma/rdma.h"
#include "follow.h"

#define STRIKES_MAX	5
#define IDLE_US		20000		/* between two looks while nothing is sent, at least */
#define AWAY_US		100000		/* and while the device is away */
#define CHECK_US	1000000		/* between two looks whether the knob still has its value */

static bool can_drive(const struct knob *k, const char *name)
{
	if (!strcmp(name, "ai"))
		return k->role == ROLE_AI;
	if (!strcmp(name, "time"))
		return k->role == ROLE_TIME;
	return k->role != ROLE_NONE && !strcmp(name, k->name);
}

static const struct knob *knob_of(const struct backend *be, const char *name)
{
	for (unsigned int i = 0; i < be->knob_count; i++)
		if (can_drive(&be->knobs[i], name))
			return &be->knobs[i];
	return NULL;
}

/* T moves shares more than R_AI does (Documentation/rdma.md). */
static int find_knob(struct rail *r, const char *name, struct err *e)
{
	const struct backend *be = r->d.be;
	char known[160] = "";

	for (unsigned int i = 0; i < be->knob_count; i++) {
		size_t len = strlen(known);

		if (be->knobs[i].role)
			snprintf(known + len, sizeof(known) - len, " %s", be->knobs[i].name);
	}
	if (be->read_only)
		return fail(e, -EPERM, "%s:%s can only be read", be->name, r->d.name);
	r->knob = knob_of(be, name ? name : "time");
	if (!r->knob && !name)
		r->knob = knob_of(be, "ai");
	if (!r->knob && !*known)
		return fail(e, -EOPNOTSUPP, "%s:%s has neither an R_AI nor a timer to drive",
			    be->name, r->d.name);
	if (!r->knob)
		return fail(e, -EOPNOTSUPP, "%s:%s has no '%s' to drive, but:%s", be->name,
			    r->d.name, name ? name : "ai", known);
	return 0;
}

/* What a killed run has left is put back first; then the knob has what there is to begin with. */
static int read_start(const struct follow *f, struct rail *r, struct err *e)
{
	struct saved *saved = saved_find(&r->st, r->knob->name);
	bool killed = saved && saved->followed;
	int done = RESTORED_SAME, err;

	if (killed)
		done = restore_one(&r->d, saved, saved->base, false, e);
	if (done < 0)
		return done;
	err = knob_read(&r->d, r->knob, &r->is, e);
	if (done == RESTORED && common.dry_run)
		r->is = saved->base;
	else if (done == RESTORED)
		event_text(f, r, "healed",
			   "an earlier run was killed: the value from before it is back");
	return err;
}

/* The range that follows from a base. */
static void set_base(const struct follow *f, struct rail *r, uint32_t base)
{
	r->drive.base = f->base ? f->base : base;
	drive_range(&r->drive, &f->progress.profile, &r->ends[0], &r->ends[1]);
}

static int follow_check_range(const struct rail *r, struct err *e)
{
	uint32_t levels = r->ends[1] - r->ends[0] + 1;

	if (levels == 1)
		return fail(e, -ERANGE, "%s of %u leaves nothing to drive: --base, or --drive %s",
			    r->knob->name, r->drive.base, r->drive.divide ? "ai" : "time");
	if (levels < DRIVE_LEVELS_FEW)
		warn("%s of %u%s%s leaves %u whole values, %u to %u: a base of 20 or more (--base), or --drive %s, is finer",
		     r->knob->name, r->drive.base, *r->knob->unit ? " " : "", r->knob->unit,
		     levels, r->ends[0], r->ends[1], r->drive.divide ? "ai" : "time");
	return 0;
}

static int prepare_rail(const struct follow *f, struct rail *r, uint64_t now_us, struct err *e)
{
	int err = read_start(f, r, e);

	if (!err && f->base)
		err = knob_check(&r->d, r->knob, f->base, e);
	if (err)
		return err;
	r->drive = f->drive;
	r->drive.divide = r->knob->role == ROLE_TIME;
	r->drive.min = r->knob->min;
	r->drive.max = r->knob->max;
	r->rate = f->rate ? f->rate : r->d.be->budget;
	set_base(f, r, r->is);
	budget_init(&r->budget, r->rate, now_us);
	return follow_check_range(r, e);
}

/* Knob, lock and state of a device. */
static int open_rail(const struct follow *f, struct rail *r, struct err *e)
{
	int err = find_knob(r, f->knob_name, e);

	if (!err && !common.dry_run)
		err = device_hold(&r->d, e);
	return err ? err : saved_load(&r->d, &r->st, e);
}

static int find_devices(struct follow *f, struct err *e)
{
	const char *names = f->devices;
	char name[2 * NAME_LEN];
	int err = 0;

	do {
		size_t len = strcspn(names, ",");

		if (!len)
			return fail(e, -ENODEV, "'%s': a device's name is empty", f->devices);
		if (f->count == RAILS_MAX)
			return fail(e, -E2BIG, "at most %d devices", RAILS_MAX);
		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		err = device_find(name, &f->rails[f->count++].d, e);
		names += len;
	} while (!err && *names++);
	return err;
}

int follow_prepare(struct follow *f, uint64_t now_us, struct err *e)
{
	int err = find_devices(f, e);

	for (unsigned int i = 0; i < f->count && !err; i++)
		err = open_rail(f, &f->rails[i], e);
	err = err ? err : progress_open(&f->progress, &f->rails[0].d, now_us, e);
	for (unsigned int i = 0; i < f->count && !err; i++)
		err = prepare_rail(f, &f->rails[i], now_us, e);
	return err;
}

/* The knob's value was not written by this run: it is what the next restore puts back. */
static int follow_save(struct rail *r, struct err *e)
{
	struct saved *saved = r->saved;

	saved->followed = true;
	saved->base = r->is;
	saved_cover(saved, r->is);
	saved_cover(saved, r->ends[0]);
	saved_cover(saved, r->ends[1]);
	return saved_store(&r->d, &r->st, e);
}

/* Puts what there is into the state file: after this the knob may be written. */
static int follow_begin(struct rail *r, struct err *e)
{
	r->tried = r->is;
	r->written_gain = MLCC_ONE;
	r->saved = saved_add(&r->st, r->knob->name, r->is);
	if (!r->saved)
		return fail(e, -ENOSPC, "at most %d knobs of a device are kept", STATE_KNOBS);
	return follow_save(r, e);
}

/* Somebody else, or a reset, has set the knob to @v. */
static int rebase(const struct follow *f, struct rail *r, uint32_t v, struct err *e)
{
	char text[120];

	snprintf(text, sizeof(text), "%s is %u now, and was %u: the new base", r->knob->name, v,
		 r->is);
	if (++r->strikes > STRIKES_MAX)
		return fail(e, -EBUSY, "somebody else keeps writing %s", r->knob->name);
	r->is = v;
	r->tried = v;
	r->written_gain = MLCC_ONE;
	*r->saved = (struct saved){ .value = v, .low = v, .high = v };
	snprintf(r->saved->knob, sizeof(r->saved->knob), "%s", r->knob->name);
	set_base(f, r, v);
	event_text(f, r, "rebased", text);
	return follow_save(r, e);
}

/* The device did not take a write or a read: is it gone, or does it refuse? */
static int trouble(const struct follow *f, struct rail *r, int err, struct err *e)
{
	struct err why;
	uint32_t v;

	if (!device_is_away(err))
		return err;
	if (!knob_read(&r->d, r->knob, &v, &why))
		return ++r->strikes > STRIKES_MAX ? err : 0;
	r->away = true;
	event_text(f, r, "away", e->text);
	return 0;
}

/* What was read: the last value, or one that was written just before reading back failed. */
static int take_value(const struct follow *f, struct rail *r, uint32_t is, struct err *e)
{
	if (is != r->is && is != r->tried)
		return rebase(f, r, is, e);
	r->is = is;
	return 0;
}

static int follow_check(const struct follow *f, struct rail *r, uint64_t now_us, struct err *e)
{
	uint32_t is;
	int err;

	r->check_us = now_us + CHECK_US;
	err = knob_read(&r->d, r->knob, &is, e);
	return err ? trouble(f, r, err, e) : take_value(f, r, is, e);
}

/* Between a write and its reading back: a value that is none of ours, not even a rounded one. */
static bool others_wrote(const struct rail *r, uint32_t *is)
{
	struct err why;

	return !knob_read(&r->d, r->knob, is, &why) &&
	       (*is < r->saved->low || *is > r->saved->high);
}

/* Writes and reads back. */
static int move(const struct follow *f, struct rail *r, uint32_t want, struct err *e)
{
	uint32_t is;
	int err;

	r->tried = want;
	err = knob_write(&r->d, r->knob, want, e);
	if (err == -EREMOTEIO && others_wrote(r, &is))
		return rebase(f, r, is, e);
	if (err)
		return trouble(f, r, err, e);
	r->is = want;
	r->written_gain = f->gain;
	r->strikes = 0;
	r->writes++;
	return 0;
}

static int look_for_device(const struct follow *f, struct rail *r, struct err *e)
{
	struct err why;
	uint32_t is;

	if (knob_read(&r->d, r->knob, &is, &why))
		return 0;
	r->away = false;
	event_text(f, r, "back", "the device is there again");
	r->strikes = 0;
	return take_value(f, r, is, e);
}

/* Phases come and go; that somebody else sends is worth a line. */
static void tell(struct follow *f)
{
	static const char *const events[] = {
		[PROGRESS_RUNS] = "alone", [PROGRESS_SHARED] = "shared", [PROGRESS_GONE] = "gone",
	};
	enum progress_state s = f->progress.state;

	if (s == PROGRESS_IDLE)
		s = PROGRESS_RUNS;
	if (s == f->said)
		return;
	f->said = s;
	event_text(f, NULL, events[s], s == PROGRESS_RUNS ? "the job has the port again" :
							   f->progress.why);
}

/* CNPs that the device's port has handled; false: it does not say. */
static bool cnps_of(const struct device *d, uint64_t *cnps)
{
	char ibdev[NAME_LEN];

	device_ibdev(d, ibdev);
	return *ibdev && rdma_counter(ibdev, device_port(d), RDMA_CNP_HANDLED, cnps);
}

/* Now and then: whether this has any effect.  Of the job's silence the first device tells. */
static void look_for_symptoms(const struct follow *f, struct rail *r, uint64_t now_us)
{
	enum progress_state state = f->progress.state;
	struct symptoms *s = &r->symptoms;
	enum symptom found;
	uint64_t cnps;

	if (state != PROGRESS_RUNS && state != PROGRESS_IDLE) {
		/* why there is no gain has been told */
		*s = (struct symptoms){ };
		return;
	}
	s->sends |= state == PROGRESS_RUNS;
	if (!symptoms_due(s, now_us))
		return;
	found = symptoms_look(s, cnps_of(&r->d, &cnps) ? &cnps : NULL, now_us);
	if (found == SYMPTOM_NO_PROGRESS && r == f->rails)
		event_text(f, NULL, "no-progress",
			   "nothing for a minute: neither do the job's processes count what they send (NCCL's plugin does), nor does the carrier see bytes of it; --progress port goes by the port");
	if (found == SYMPTOM_NO_CNP)
		event_text(f, r, "no-cnp",
			   "none was handled while the job was sending for a minute: nothing marks on its way, or the port is not under DCQCN (programmable congestion control, ZTR-RTT)");
}

static int look_there(const struct follow *f, struct rail *r, uint64_t now_us, struct err *e)
{
	uint32_t want = drive_value(&r->drive, f->gain), was = r->is;
	unsigned int strikes = r->strikes;
	bool moves;
	int err;

	moves = drive_moves(&r->drive, r->is, r->written_gain, f->gain, r->ends);
	if (moves && !budget_take(&r->budget, now_us)) {
		r->held++;
		return 0;
	}
	if (!moves && now_us < r->check_us)
		return 0;
	err = follow_check(f, r, now_us, e);
	/* what is not as it was is looked at anew: the base may be another one */
	if (err || r->away || r->strikes != strikes || r->is != was)
		return err;
	if (moves)
		return move(f, r, want, e);
	r->strikes = 0;
	return 0;
}

static int follow_look_at(const struct follow *f, struct rail *r, uint64_t now_us, struct err *e)
{
	int err;

	if (now_us < r->again_us)
		return 0;
	err = r->away ? look_for_device(f, r, e) : look_there(f, r, now_us, e);
	if (r->away || r->strikes)
		r->again_us = now_us + AWAY_US;
	return err;
}

/* One look.  0, or what ends it. */
static int follow_look(struct follow *f, uint64_t now_us, struct err *e)
{
	int err = 0;

	f->looks++;
	f->gain = progress_gain(&f->progress, now_us);
	tell(f);
	for (unsigned int i = 0; i < f->count && !err; i++) {
		struct rail *r = &f->rails[i];

		look_for_symptoms(f, r, now_us);
		err = follow_look_at(f, r, now_us, e);
		publish(f, r, now_us);
	}
	return err;
}

/* What an earlier "set" has saved stays saved. */
static int unsave(struct rail *r, struct err *e)
{
	struct saved *saved = r->saved;

	saved->followed = false;
	saved->low = saved->value;
	saved->high = saved->value;
	saved_cover(saved, saved->base);
	if (saved->base == saved->value)
		saved_drop(&r->st, saved);
	return saved_store(&r->d, &r->st, e);
}

/* Puts the knob back. */
static int follow_put_back(const struct follow *f, struct rail *r, struct err *e)
{
	struct err why;
	uint32_t is;
	int done;

	done = restore_one(&r->d, r->saved, r->saved->base, false, e);
	if (done < 0 && device_is_away(done) && knob_read(&r->d, r->knob, &is, &why)) {
		event_text(f, r, "away",
			   "the device is away; 'mlcc-dcqcn restore' looks at it again");
		return 0;
	}
	if (done < 0)
		return done;
	if (done == RESTORED_LEFT)
		event_text(f, r, "left", "somebody else has set the knob: left as it is");
	return unsave(r, e);
}

static int loop(struct follow *f, const sigset_t *set, struct err *e)
{
	uint64_t now, next = now_us();
	int err = 0;

	do {
		now = now_us();
		err = follow_look(f, now, e);
		next += f->progress.state != PROGRESS_RUNS && f->cadence_us < IDLE_US ? IDLE_US :
			f->cadence_us;
		/* the machine was busy: what was missed is not made up for */
		if (next < now)
			next = now;
	} while (!err && !wait_signal(set, next));
	return err;
}

/* The first @begun devices.  @err: what has ended it, with its line in @e.  Returns it, or theirs. */
static int end(struct follow *f, unsigned int begun, int err, struct err *e)
{
	struct err why;
	int back;

	for (unsigned int i = 0; i < begun; i++) {
		publish_end(&f->rails[i]);
		back = follow_put_back(f, &f->rails[i], &why);
		if (back && err)
			warn("%s", why.text);
		if (back && !err)
			err = fail(e, back, "%s", why.text);
	}
	return err;
}

int follow_run(struct follow *f, struct err *e)
{
	unsigned int begun = 0;
	sigset_t set;
	int err = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	f->gain = MLCC_ONE;
	while (!err && begun < f->count) {
		warn_of_scope(&f->rails[begun].d);
		err = follow_begin(&f->rails[begun], e);
		begun += !err;
	}
	if (err)
		return end(f, begun, err, e);
	for (unsigned int i = 0; i < f->count; i++)
		event_plan(f, &f->rails[i]);
	sd_notify(0, "READY=1");
	err = loop(f, &set, e);
	sd_notify(0, "STOPPING=1");
	err = end(f, begun, err, e);
	for (unsigned int i = 0; i < f->count; i++)
		event_end(f, &f->rails[i]);
	/* whoever does not read its events does not end in an error */
	fflush(stdout);
	__fpurge(stdout);
	clearerr(stdout);
	return err;
}
