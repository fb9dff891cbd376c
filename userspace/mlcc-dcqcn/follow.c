// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * follow: a job's progress drives R_AI or T of its port.
 *
 *	look	gain = grow(progress)			include/mlcc/rule.h
 *		want = gain R_AI, or T / gain		drive.h
 *	move	read; if somebody else has written, begin again from there
 *		write; read back
 *
 * While a job computes that has sent regularly, it is left alone until its next phase is near
 * (drive.h).  The knob is read once a second, too, so that a reset does not go unnoticed between
 * two moves.
 *
 *	       reading fails                       reading works
 *	there ---------------> away (look each 100 ms) ---------------> there
 *
 * A NIC that has been reset has its defaults.  They, or whatever somebody else has set meanwhile,
 * become the new base, and what "restore" puts back: the values from before the reset are gone,
 * and an administrator's setting wins.  A driver that was only loaded again has the value that was
 * written last, and the old base still holds.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "../common/clock.h"
#include "../rdma/rdma.h"
#include "follow.h"

#define STRIKES_MAX	5
#define SLOW_US		20000		/* between two looks while nothing is expected */
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

static int find_knob(struct follow *f, struct err *e)
{
	const struct backend *be = f->d.be;
	char known[160] = "";

	for (unsigned int i = 0; i < be->knob_count; i++) {
		const struct knob *k = &be->knobs[i];
		size_t len = strlen(known);

		if (can_drive(k, f->knob_name))
			f->knob = k;
		if (k->role)
			snprintf(known + len, sizeof(known) - len, " %s", k->name);
	}
	if (be->read_only)
		return fail(e, -EPERM, "%s:%s can only be read", be->name, f->d.name);
	if (!f->knob && !*known)
		return fail(e, -EOPNOTSUPP, "%s:%s has neither an R_AI nor a timer to drive",
			    be->name, f->d.name);
	if (!f->knob)
		return fail(e, -EOPNOTSUPP, "%s:%s has no '%s' to drive, but:%s", be->name,
			    f->d.name, f->knob_name, known);
	return 0;
}

/* What a killed run has left is put back first; then the knob has what there is to begin with. */
static int read_start(struct follow *f, struct err *e)
{
	struct saved *saved = saved_find(&f->st, f->knob->name);
	bool killed = saved && saved->followed;
	int done = RESTORED_SAME, err;

	if (killed)
		done = restore_one(&f->d, saved, saved->base, false, e);
	if (done < 0)
		return done;
	err = knob_read(&f->d, f->knob, &f->is, e);
	if (done == RESTORED && common.dry_run)
		f->is = saved->base;
	else if (done == RESTORED)
		event_text(f, "healed", "an earlier run was killed: the value from before it is back");
	return err;
}

/* The range that follows from a base. */
static void set_base(struct follow *f, uint32_t base)
{
	f->drive.base = f->base ? f->base : base;
	drive_range(&f->drive, &f->progress.profile, &f->ends[0], &f->ends[1]);
}

static int check_range(struct follow *f, struct err *e)
{
	uint32_t levels = f->ends[1] - f->ends[0] + 1;

	if (levels == 1)
		return fail(e, -ERANGE, "%s of %u leaves nothing to drive: --base, or --drive %s",
			    f->knob->name, f->drive.base, f->drive.divide ? "ai" : "time");
	if (levels < DRIVE_LEVELS_FEW)
		warn("%s of %u%s%s leaves %u whole values, %u to %u: a base of 20 or more (--base), or --drive %s, is finer",
		     f->knob->name, f->drive.base, *f->knob->unit ? " " : "", f->knob->unit,
		     levels, f->ends[0], f->ends[1], f->drive.divide ? "ai" : "time");
	return 0;
}

int follow_prepare(struct follow *f, uint64_t now_us, struct err *e)
{
	int err = device_find(f->device, &f->d, e);

	err = err ? err : find_knob(f, e);
	if (!err && !common.dry_run)
		err = device_hold(&f->d, e);
	err = err ? err : saved_load(&f->d, &f->st, e);
	err = err ? err : progress_open(&f->progress, &f->d, now_us, e);
	err = err ? err : read_start(f, e);
	if (!err && f->base)
		err = knob_check(&f->d, f->knob, f->base, e);
	if (err)
		return err;
	f->drive.divide = f->knob->role == ROLE_TIME;
	f->drive.min = f->knob->min;
	f->drive.max = f->knob->max;
	f->rate = f->rate ? f->rate : f->d.be->budget;
	set_base(f, f->is);
	budget_init(&f->budget, f->rate, now_us);
	return check_range(f, e);
}

/* The knob's value was not written by this run: it is what the next restore puts back. */
static int save(struct follow *f, struct err *e)
{
	struct saved *saved = f->saved;

	saved->followed = true;
	saved->base = f->is;
	saved_cover(saved, f->is);
	saved_cover(saved, f->ends[0]);
	saved_cover(saved, f->ends[1]);
	return saved_store(&f->d, &f->st, e);
}

/* Puts what there is into the state file: after this the knob may be written. */
static int begin(struct follow *f, struct err *e)
{
	f->tried = f->is;
	f->gain = MLCC_ONE;
	f->written_gain = MLCC_ONE;
	f->saved = saved_add(&f->st, f->knob->name, f->is);
	if (!f->saved)
		return fail(e, -ENOSPC, "at most %d knobs of a device are kept", STATE_KNOBS);
	return save(f, e);
}

/* Somebody else, or a reset, has set the knob to @v. */
static int rebase(struct follow *f, uint32_t v, struct err *e)
{
	char text[120];

	snprintf(text, sizeof(text), "%s is %u now, and was %u: the new base", f->knob->name, v,
		 f->is);
	if (++f->strikes > STRIKES_MAX)
		return fail(e, -EBUSY, "somebody else keeps writing %s", f->knob->name);
	f->is = v;
	f->tried = v;
	f->written_gain = MLCC_ONE;
	*f->saved = (struct saved){ .value = v, .low = v, .high = v };
	snprintf(f->saved->knob, sizeof(f->saved->knob), "%s", f->knob->name);
	set_base(f, v);
	event_text(f, "rebased", text);
	return save(f, e);
}

/* The device did not take a write or a read: is it gone, or does it refuse? */
static int trouble(struct follow *f, int err, struct err *e)
{
	struct err why;
	uint32_t v;

	if (!device_is_away(err))
		return err;
	if (!knob_read(&f->d, f->knob, &v, &why))
		return ++f->strikes > STRIKES_MAX ? err : 0;
	f->away = true;
	event_text(f, "away", e->text);
	return 0;
}

/* What was read: the last value, or one that was written just before reading back failed. */
static int take_value(struct follow *f, uint32_t is, struct err *e)
{
	if (is != f->is && is != f->tried)
		return rebase(f, is, e);
	f->is = is;
	return 0;
}

static int check(struct follow *f, uint64_t now_us, struct err *e)
{
	uint32_t is;
	int err;

	f->check_us = now_us + CHECK_US;
	err = knob_read(&f->d, f->knob, &is, e);
	return err ? trouble(f, err, e) : take_value(f, is, e);
}

/* Between a write and its reading back: a value that is none of ours, not even a rounded one. */
static bool others_wrote(const struct follow *f, uint32_t *is)
{
	struct err why;

	return !knob_read(&f->d, f->knob, is, &why) &&
	       (*is < f->saved->low || *is > f->saved->high);
}

/* Writes and reads back. */
static int move(struct follow *f, uint32_t want, struct err *e)
{
	uint32_t is;
	int err;

	f->tried = want;
	err = knob_write(&f->d, f->knob, want, e);
	if (err == -EREMOTEIO && others_wrote(f, &is))
		return rebase(f, is, e);
	if (err)
		return trouble(f, err, e);
	f->is = want;
	f->written_gain = f->gain;
	f->strikes = 0;
	f->writes++;
	return 0;
}

static int look_for_device(struct follow *f, struct err *e)
{
	struct err why;
	uint32_t is;

	if (knob_read(&f->d, f->knob, &is, &why))
		return 0;
	f->away = false;
	event_text(f, "back", "the device is there again");
	f->strikes = 0;
	return take_value(f, is, e);
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
	event_text(f, events[s], s == PROGRESS_RUNS ? "the job has the port again" :
						     f->progress.why);
}

/* Now and then: whether this has any effect. */
static void look_for_symptoms(struct follow *f, uint64_t now_us)
{
	static const char *const texts[] = {
		[SYMPTOM_NO_PROGRESS] = "nothing for a minute: neither do the job's processes count what they send (NCCL's plugin does), nor does the carrier see bytes of it; --progress port goes by the port",
		[SYMPTOM_NO_CNP] = "none was handled while the job was sending for a minute: nothing marks on its way, or the port is not under DCQCN (programmable congestion control, ZTR-RTT)",
	};
	static const char *const events[] = {
		[SYMPTOM_NO_PROGRESS] = "no-progress", [SYMPTOM_NO_CNP] = "no-cnp",
	};
	enum progress_state state = f->progress.state;
	struct symptoms *s = &f->symptoms;
	char device[NAME_LEN];
	enum symptom found;
	uint64_t cnps;
	bool counts;

	if (state != PROGRESS_RUNS && state != PROGRESS_IDLE) {
		/* why there is no gain has been told */
		*s = (struct symptoms){ };
		return;
	}
	s->sends |= state == PROGRESS_RUNS;
	if (!symptoms_due(s, now_us))
		return;
	device_ibdev(&f->d, device);
	counts = *device && rdma_counter(device, device_port(&f->d), RDMA_CNP_HANDLED, &cnps);
	found = symptoms_look(s, counts ? &cnps : NULL, now_us);
	if (found)
		event_text(f, events[found], texts[found]);
}

/* The gain now, and when it may next matter. */
static uint32_t read_gain(struct follow *f, uint64_t now_us)
{
	uint32_t gain = progress_gain(&f->progress, now_us);

	f->due_us = drive_due_us(&f->drive, f->written_gain, f->gain, gain, now_us - f->look_us);
	f->gain = gain;
	f->look_us = now_us;
	return gain;
}

/* One look.  0, or what ends it. */
static int look(struct follow *f, uint64_t now_us, struct err *e)
{
	unsigned int strikes = f->strikes;
	uint32_t want, was = f->is;
	bool moves;
	int err;

	f->looks++;
	if (f->away)
		return look_for_device(f, e);
	want = drive_value(&f->drive, read_gain(f, now_us));
	idle_note(&f->idle, f->progress.state == PROGRESS_RUNS, now_us);
	tell(f);
	look_for_symptoms(f, now_us);
	moves = drive_moves(&f->drive, f->is, f->written_gain, f->gain, f->ends);
	if (moves && !budget_take(&f->budget, now_us)) {
		f->held++;
		return 0;
	}
	if (!moves && now_us < f->check_us)
		return 0;
	err = check(f, now_us, e);
	/* what is not as it was is looked at anew: the base may be another one */
	if (err || f->away || f->strikes != strikes || f->is != was)
		return err;
	if (moves)
		return move(f, want, e);
	f->strikes = 0;
	return 0;
}

/* Until the next look is due. */
static uint32_t pause_us(const struct follow *f)
{
	uint32_t idle = idle_us(&f->idle, f->look_us);
	uint32_t slow = idle > SLOW_US ? idle : SLOW_US;

	if (f->away || f->strikes)
		return AWAY_US;
	if (f->due_us <= f->cadence_us || f->cadence_us >= slow)
		return f->cadence_us;
	return f->due_us < slow ? f->due_us : slow;
}

/* What an earlier "set" has saved stays saved. */
static int unsave(struct follow *f, struct err *e)
{
	struct saved *saved = f->saved;

	saved->followed = false;
	saved->low = saved->value;
	saved->high = saved->value;
	saved_cover(saved, saved->base);
	if (saved->base == saved->value)
		saved_drop(&f->st, saved);
	return saved_store(&f->d, &f->st, e);
}

/* Puts the knob back. */
static int end(struct follow *f, struct err *e)
{
	struct err why;
	uint32_t is;
	int done;

	done = restore_one(&f->d, f->saved, f->saved->base, false, e);
	if (done < 0 && device_is_away(done) && knob_read(&f->d, f->knob, &is, &why)) {
		event_text(f, "away", "the device is away; 'mlcc-dcqcn restore' looks at it again");
		return 0;
	}
	if (done < 0)
		return done;
	if (done == RESTORED_LEFT)
		event_text(f, "left", "somebody else has set the knob: left as it is");
	return unsave(f, e);
}

/* Until then, or until a signal says that it is over. */
static bool wait_until(uint64_t at_us, const sigset_t *set)
{
	uint64_t now = now_us(), us = at_us > now ? at_us - now : 0;
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	return sigtimedwait(set, NULL, &t) < 0;
}

static int loop(struct follow *f, const sigset_t *set, struct err *e)
{
	uint64_t now, next = now_us();
	int err = 0;

	do {
		now = now_us();
		err = look(f, now, e);
		publish(f, now);
		next += pause_us(f);
		/* the machine was busy: what was missed is not made up for */
		if (next < now)
			next = now;
	} while (!err && wait_until(next, set));
	return err;
}

int follow_run(struct follow *f, struct err *e)
{
	struct err why;
	sigset_t set;
	int err, back;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	warn_of_scope(&f->d);
	err = begin(f, e);
	if (err)
		return err;
	event_plan(f);
	sd_notify(0, "READY=1");
	err = loop(f, &set, e);
	sd_notify(0, "STOPPING=1");
	publish_end(f);
	back = end(f, &why);
	if (back && err)
		warn("%s", why.text);
	if (back && !err)
		err = fail(e, back, "%s", why.text);
	event_end(f);
	return err;
}
