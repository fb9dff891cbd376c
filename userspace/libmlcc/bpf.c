// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
/*
 * The BPF carrier, through what mlcc-bpf has pinned: jobs are changed by the program "control",
 * and read from the slots map, which is mapped into memory.
 *
 * Another version may take the carrier's place while a handle is open: then the pins are others, and
 * are opened anew; and flows that began before keep the programs and maps they have, whose pins are in
 * a part of the directory.  So whoever changes a job has all versions do it, and holds the directory
 * meanwhile: an upgrade waits, and none is told what the next one does not take over.
 *
 * An announcement does not wait for an upgrade: versions that are open are told in one call each.  Where
 * the present one says that it is being replaced, that which takes its place is told afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "../../bpf/mlcc_bpf.h"
#include "pins.h"
#include "../../include/mlcc/flow.h"
#include "../../include/mlcc/profiles.h"

#define NOT_LOADED	"the BPF carrier is not loaded: 'mlcc-bpf load'"
#define RENEWALS	8	/* while one version takes the place of the other */
#define TRIES		1000	/* while flows begin a phase of the job */
#define HOLD_MS		5000	/* until who has the directory is taken for stuck */

_Static_assert(MLCC_NAME_LEN == MLCC_RULE_NAME, "names have one length");

/* What flows began with. */
struct version {
	int control;			/* -1: there is no such version */
	const struct mlcc_slot *slots;	/* MLCC_SLOTS of them, read only; NULL: of another layout */
};

struct bpf_carrier {
	int dir, settings, profiles, rules;
	ino_t is;			/* which the pin "control" is */
	unsigned int walks;		/* callers that are given one job after the other */
	struct version versions[1 + MLCC_OLD_MAX];	/* the first is the present one */
};

static const char *const profile_names[] = MLCC_PROFILE_NAMES;
static const char *const class_names[] = MLCC_CLASS_NAMES;
static const char *const base_names[] = { "reno", "cubic" };
static const char *const restart_names[] = { "base", "queue" };

/* Opens the directory of the pins.  -ENODEV: the carrier is not loaded. */
static int bpf_dir_open(struct mlcc *m)
{
	int dir = mlcc_pins_open(m->error);

	return dir == -ENOENT || dir == -ENODEV ? mlcc_fail(m->error, -ENODEV, NOT_LOADED) : dir;
}

/* Opens one pin.  -ENODEV: the carrier is not loaded. */
static int bpf_pin_open(struct mlcc *m, int dir, const char *name, int *fd)
{
	*fd = mlcc_pins_get(dir, name);
	if (*fd >= 0)
		return 0;
	if (errno == ENOENT)
		return mlcc_fail(m->error, -ENODEV, NOT_LOADED);
	return mlcc_fail(m->error, -errno, "the carrier's pin '%s': %s", name, strerror(errno));
}

static int bpf_config_read(struct mlcc *m, struct mlcc_config *cfg)
{
	struct bpf_carrier *c = m->priv;
	unsigned int zero = 0;

	if (!bpf_map_lookup_elem(c->settings, &zero, cfg))
		return 0;
	return mlcc_fail(m->error, -errno, "cannot read the carrier's settings: %s",
			 strerror(errno));
}

static int bpf_layout_of(struct mlcc *m, int settings, unsigned int *layout)
{
	struct mlcc_config cfg;
	int err = mlcc_settings_read(settings, &cfg, sizeof(cfg));

	*layout = err ? 1 : cfg.layout;
	if (!err || err == -EPROTO)
		return 0;
	return mlcc_fail(m->error, err, "the carrier's settings: %s", strerror(-err));
}

static int layout_check(struct mlcc *m)
{
	struct bpf_carrier *c = m->priv;
	unsigned int layout;
	int err = bpf_layout_of(m, c->settings, &layout);

	if (err || layout == MLCC_LAYOUT)
		return err;
	return mlcc_fail(m->error, -EPROTO,
			 "the BPF carrier has map layout %u, wanted %u: load it again",
			 layout, MLCC_LAYOUT);
}

static int slots_map(struct mlcc *m, int dir, struct version *v)
{
	AUTO_CLOSE int fd = -1;
	int err = bpf_pin_open(m, dir, "slots", &fd);
	void *p;

	if (err)
		return err;
	p = mmap(NULL, sizeof(struct mlcc_slot) * MLCC_SLOTS, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return mlcc_fail(m->error, -errno, "cannot map the carrier's slots: %s",
				 strerror(errno));
	v->slots = p;
	return 0;
}

static void version_close(struct version *v)
{
	if (v->slots)
		munmap((void *)v->slots, sizeof(struct mlcc_slot) * MLCC_SLOTS);
	if (v->control >= 0)
		close(v->control);
	v->slots = NULL;
	v->control = -1;
}

static void carrier_close(struct mlcc *m)
{
	struct bpf_carrier *c = m->priv;
	const int fds[] = { c->dir, c->settings, c->profiles, c->rules };

	for (size_t i = 0; i <= MLCC_OLD_MAX; i++)
		version_close(&c->versions[i]);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(c);
	m->priv = NULL;
}

/* An older version's slots are read if they are as the present one's. */
static int old_read(struct mlcc *m, int dir, struct version *v)
{
	AUTO_CLOSE int settings = -1;
	int err = bpf_pin_open(m, dir, "settings", &settings);
	unsigned int layout = 0;

	if (!err)
		err = bpf_layout_of(m, settings, &layout);
	if (!err)
		err = bpf_pin_open(m, dir, "control", &v->control);
	return err || layout != MLCC_LAYOUT ? err : slots_map(m, dir, v);
}

/* One that is there in part is on its way out: it has no flows. */
static void old_open(struct mlcc *m, unsigned int n)
{
	struct bpf_carrier *c = m->priv;
	struct version *v = &c->versions[1 + n];
	char name[MLCC_OLD_NAME];
	AUTO_CLOSE int dir = mlcc_pins_part(c->dir, mlcc_old_name(name, n), false, m->error);

	if (dir >= 0 && old_read(m, dir, v))
		version_close(v);
}

static int pins_read(struct mlcc *m)
{
	struct bpf_carrier *c = m->priv;
	struct stat st;
	int err = bpf_pin_open(m, c->dir, "settings", &c->settings);

	err = err ? err : layout_check(m);
	err = err ? err : bpf_pin_open(m, c->dir, "profiles", &c->profiles);
	err = err ? err : bpf_pin_open(m, c->dir, "rules", &c->rules);
	err = err ? err : bpf_pin_open(m, c->dir, "control", &c->versions[0].control);
	if (!err && fstatat(c->dir, "control", &st, AT_SYMLINK_NOFOLLOW))
		err = mlcc_fail(m->error, -ENODEV, NOT_LOADED);
	if (!err)
		err = slots_map(m, c->dir, &c->versions[0]);
	if (err)
		return err;
	c->is = st.st_ino;
	for (unsigned int n = 0; n < MLCC_OLD_MAX; n++)
		old_open(m, n);
	return 0;
}

/*
 * Keeps upgrades away until flock(@dir, LOCK_UN) or until @dir is closed.  Not for as long as it takes:
 * who asks may be a daemon that has others waiting.
 */
static int dir_hold(int dir, char *error)
{
	const char *what = "somebody is changing the carrier: try again";
	int err = mlcc_lock_wait(dir, LOCK_SH, HOLD_MS);

	if (!err && faccessat(dir, MLCC_PART_NEW, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!err)
		what = "an upgrade was cut short: 'mlcc-bpf upgrade', then try again";
	flock(dir, LOCK_UN);
	snprintf(error, MLCC_ERROR_LEN, "%s", what);
	return -EAGAIN;
}

static int bpf_pins_open(struct mlcc *m)
{
	struct bpf_carrier *c = m->priv;
	int err = dir_hold(c->dir, m->error);

	if (err)
		return err;
	err = pins_read(m);
	flock(c->dir, LOCK_UN);
	return err;
}

static int bpf_open(struct mlcc *m)
{
	struct bpf_carrier *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return mlcc_fail(m->error, -ENOMEM, "no memory");
	*c = (struct bpf_carrier){ .dir = -1, .settings = -1, .profiles = -1, .rules = -1 };
	for (size_t i = 0; i <= MLCC_OLD_MAX; i++)
		c->versions[i].control = -1;
	m->priv = c;
	c->dir = bpf_dir_open(m);
	err = c->dir < 0 ? c->dir : bpf_pins_open(m);
	if (err)
		carrier_close(m);
	return err;
}

static bool is_present(const struct bpf_carrier *c)
{
	struct stat st;

	return !fstatat(c->dir, "control", &st, AT_SYMLINK_NOFOLLOW) && st.st_ino == c->is;
}

/* With the same older versions, which go when their flows have ended. */
static bool carrier_is_current(const struct mlcc *m)
{
	const struct bpf_carrier *c = m->priv;
	bool same = is_present(c);
	char name[MLCC_OLD_NAME];

	for (unsigned int n = 0; same && n < MLCC_OLD_MAX; n++)
		same = (c->versions[1 + n].control >= 0) ==
		       !faccessat(c->dir, mlcc_old_name(name, n), F_OK, AT_SYMLINK_NOFOLLOW);
	return same;
}

/* Opens what has come in the place of what is open; not under who is looking at it. */
static int bpf_renew(struct mlcc *m)
{
	struct bpf_carrier *c = m->priv;
	struct mlcc old = { .priv = c };
	int err;

	if (c->walks || is_present(c))
		return 0;
	err = bpf_open(m);
	if (err)
		m->priv = c;
	else
		carrier_close(&old);
	return err;
}

/* What is open remains the carrier until release(). */
static int hold(struct mlcc *m)
{
	struct bpf_carrier *c;
	int err;

	for (int n = 0; n < RENEWALS; n++) {
		err = bpf_renew(m);
		if (err)
			return err;
		c = m->priv;
		err = dir_hold(c->dir, m->error);
		if (err || is_present(c))
			return err;
		flock(c->dir, LOCK_UN);
	}
	return mlcc_fail(m->error, -EAGAIN, "the carrier has become another one: try again");
}

static void release(struct mlcc *m)
{
	struct bpf_carrier *c = m->priv;

	flock(c->dir, LOCK_UN);
}

/* Has the program @fd do @ctl, again while flows begin a phase of the job. */
static int control_run(int fd, const struct mlcc_ctl *ctl)
{
	struct mlcc_ctl mine = *ctl;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &mine, .ctx_size_in = sizeof(mine));
	int err = -EAGAIN;

	for (int n = 0; n < TRIES && err == -EAGAIN; n++) {
		if (n)
			sched_yield();
		err = bpf_prog_test_run_opts(fd, &opts);
		if (!err)
			err = (int)opts.retval;
	}
	return err;
}

/*
 * Likewise that of an older version, after the present one has done it: that it does not know the job
 * is no error.
 */
static int control_run_old(int fd, const struct mlcc_ctl *ctl)
{
	struct mlcc_ctl again = *ctl;
	int err;

	if (again.op == MLCC_CTL_NEW)
		again.op = MLCC_CTL_SET;
	err = control_run(fd, &again);
	return err > 0 || err == -ENOENT ? 0 : err;
}

/* > 0: this has been done, but another version takes the place of the present one. */
static int control_versions(const struct bpf_carrier *c, const struct mlcc_ctl *ctl)
{
	int ret = control_run(c->versions[0].control, ctl), err = 0;

	for (size_t i = 1; ret >= 0 && !err && i <= MLCC_OLD_MAX; i++)
		if (c->versions[i].control >= 0)
			err = control_run_old(c->versions[i].control, ctl);
	return err ? err : ret;
}

/* Says what went wrong. */
static int control_done(struct mlcc *m, const struct mlcc_ctl *ctl, int err)
{
	if (err >= 0)
		return 0;
	switch (err) {
	case -ENOENT:
		return mlcc_fail(m->error, err, "no job %u", ctl->id);
	case -EEXIST:
		return mlcc_fail(m->error, err, "there is a job %u already", ctl->id);
	case -E2BIG:
		return mlcc_fail(m->error, -ENOSPC, "no room for job %u: at most %u", ctl->id,
				 MLCC_SLOTS);
	}
	return mlcc_fail(m->error, err, "job %u: %s", ctl->id, strerror(-err));
}

/* Has all versions do @ctl. */
static int control(struct mlcc *m, const struct mlcc_ctl *ctl)
{
	int err = hold(m);

	if (err)
		return err;
	err = control_versions(m->priv, ctl);
	release(m);
	return control_done(m, ctl, err);
}

/* The same for an announcement. */
static int bpf_announce(struct mlcc *m, const struct mlcc_ctl *ctl)
{
	struct bpf_carrier *told = m->priv;
	int ret = control_versions(told, ctl), err;

	if (ret <= 0)
		return control_done(m, ctl, ret);
	err = hold(m);
	if (err)
		return err;
	if (m->priv != told)
		err = control_run(((struct bpf_carrier *)m->priv)->versions[0].control, ctl);
	release(m);
	return control_done(m, ctl, err);
}

static int profile_index(struct mlcc *m, const char *name, uint32_t *i)
{
	for (*i = 0; *i < MLCC_PROFILE_COUNT; ++*i)
		if (!strcmp(name, profile_names[*i]))
			return 0;
	return mlcc_fail(m->error, -ENOENT, "no profile '%.*s': interleave, hotnets22 or mltcp",
			 MLCC_NAME_LEN, name);
}

static int bpf_carrier_job_set(struct mlcc *m, const struct mlcc_job_conf *conf, bool create)
{
	struct mlcc_ctl ctl = { .op = create ? MLCC_CTL_NEW : MLCC_CTL_SET, .id = conf->id };
	struct mlcc_config cfg;
	int err = bpf_renew(m);

	if (!err)
		err = bpf_config_read(m, &cfg);
	if (!err && conf->id > cfg.mark_mask >> cfg.mark_shift)
		err = mlcc_fail(m->error, -ERANGE, "job id %u: at most %u under the mark mask %#x",
				conf->id, cfg.mark_mask >> cfg.mark_shift, cfg.mark_mask);
	ctl.rule.phase_bytes = conf->phase_bytes;
	ctl.rule.profile = MLCC_PROFILE_NONE;
	ctl.rule.class = mlcc_class_find(conf->job_class);	/* checked */
	strcpy(ctl.rule.name, conf->name);
	if (!err && conf->profile[0])
		err = profile_index(m, conf->profile, &ctl.rule.profile);
	return err ? err : control(m, &ctl);
}

static int bpf_carrier_job_del(struct mlcc *m, uint32_t id)
{
	struct mlcc_ctl ctl = { .op = MLCC_CTL_DEL, .id = id };

	return control(m, &ctl);
}

static int bpf_carrier_phase_start(struct mlcc *m, uint32_t id, uint64_t bytes)
{
	struct mlcc_ctl ctl = { .op = MLCC_CTL_START, .id = id, .bytes = bytes };

	return bpf_announce(m, &ctl);
}

static int bpf_carrier_phase_end(struct mlcc *m, uint32_t id)
{
	struct mlcc_ctl ctl = { .op = MLCC_CTL_END, .id = id };

	return bpf_announce(m, &ctl);
}

/* How far the job is, as its flows have it at the moment. */
static struct mlcc_job_progress slot_progress(const struct mlcc_slot *s)
{
	const struct mlcc_job *j = &s->job;
	u64 sent = MLCC_READ(j->acked) - MLCC_READ(j->start_acked), d = j->d_phase;

	return (struct mlcc_job_progress){
		.neutral = !d || sent > j->d_limit || s->class != MLCC_CLASS_TRAINING,
		.phases = j->seq,
		.progress = mlcc_progress(sent, d, mlcc_recip(d)), .d_sent = sent,
	};
}

/* And what that does to the increase. */
static void info_progress(struct mlcc *m, const struct mlcc_slot *s, struct mlcc_job_info *info)
{
	struct mlcc_job_progress now = slot_progress(s);
	struct bpf_carrier *c = m->priv;
	unsigned int i = s->profile;
	struct mlcc_profile pr;

	info->phases = now.phases;
	info->d_sent = now.d_sent;
	info->neutral = now.neutral;
	info->progress = now.progress;
	info->gain = MLCC_ONE;
	if (!info->neutral && !bpf_map_lookup_elem(c->profiles, &i, &pr))
		info->gain = mlcc_grow(&pr, info->progress);
}

static void info_phase(struct mlcc *m, const struct mlcc_slot *s, struct mlcc_job_info *info)
{
	const struct mlcc_job *j = &s->job;

	info->d_phase = j->d_phase;
	info->d_learnt = j->d_learnt;
	info->hits = j->hits;
	info->iteration_us = j->period_us;
	info->comm_us = j->comm_us;
	info->best_us = j->best_us;
	info_progress(m, s, info);
}

/*
 * The next of a job's slots after @s, the first of all after NULL; NULL: no more.  There is one for
 * each namespace in each version.  What users have marked in namespaces of their own is none.
 */
static const struct mlcc_slot *slot_next(const struct bpf_carrier *c, uint32_t id,
					 const struct mlcc_slot *s)
{
	for (size_t v = 0; v <= MLCC_OLD_MAX; v++) {
		const struct mlcc_slot *group = c->versions[v].slots, *end;

		if (!group)
			continue;
		group += mlcc_group(id);
		end = group + MLCC_GROUP;
		if (s && (s < group || s >= end))
			continue;
		for (s = s ? s + 1 : group; s < end; s++)
			if (s->id == id && !s->deleted && s->whose != MLCC_OF_USER)
				return s;
		s = NULL;
	}
	return NULL;
}

/* The one that has sent last; NULL: no flows. */
static const struct mlcc_slot *slot_last(const struct bpf_carrier *c, uint32_t id)
{
	const struct mlcc_slot *s = NULL, *last = NULL;

	while ((s = slot_next(c, id, s)))
		if (!last || s->job.last_us > last->job.last_us)
			last = s;
	return last;
}

static int carrier_job_progress(struct mlcc *m, uint32_t id, struct mlcc_job_progress *progress)
{
	const struct mlcc_slot *s;
	int err = bpf_renew(m);

	if (err)
		return err;
	s = slot_last(m->priv, id);
	*progress = s ? slot_progress(s) : (struct mlcc_job_progress){ .neutral = true };
	return 0;
}

/* Of the path where it is worst. */
static uint32_t slot_timeouts(const struct mlcc_slot *s)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < MLCC_PATHS; i++)
		if (s->users && s->paths[i].timeouts > most)
			most = s->paths[i].timeouts;
	return most;
}

/* What a job is in all its slots: sums, and the phase of the one that has sent last. */
static void info_slots(struct mlcc *m, struct mlcc_job_info *info)
{
	struct bpf_carrier *c = m->priv;
	const struct mlcc_slot *last = slot_last(c, info->conf.id), *s = NULL;

	while ((s = slot_next(c, info->conf.id, s))) {
		info->flows += s->users;
		info->bytes += s->job.acked;
		info->retrans += s->retrans;
		info->ce += s->ce;
		info->hinted |= s->job.hint_state != MLCC_HINT_NONE;
		if (slot_timeouts(s) > info->timeouts)
			info->timeouts = slot_timeouts(s);
	}
	if (last)
		info_phase(m, last, info);
}

/* @rule: NULL for a job that is known by its mark only. */
static void info_fill(struct mlcc *m, uint32_t id, const struct mlcc_setting *rule,
		      struct mlcc_job_info *info)
{
	memset(info, 0, sizeof(*info));
	info->neutral = true;
	info->gain = MLCC_ONE;
	info->conf.id = id;
	strcpy(info->conf.job_class, class_names[MLCC_CLASS_TRAINING]);
	if (rule) {
		if (rule->class < MLCC_CLASS_COUNT)
			strcpy(info->conf.job_class, class_names[rule->class]);
		info->conf.phase_bytes = rule->phase_bytes;
		memcpy(info->conf.name, rule->name, MLCC_NAME_LEN - 1);
		if (rule->profile < MLCC_PROFILE_COUNT)
			strcpy(info->conf.profile, profile_names[rule->profile]);
		info->hinted = rule->hint_state != MLCC_HINT_NONE;
	}
	info_slots(m, info);
}

static int rule_read(struct mlcc *m, uint32_t id, struct mlcc_setting *rule)
{
	struct bpf_carrier *c = m->priv;

	return bpf_map_lookup_elem(c->rules, &id, rule) ? -errno : 0;
}

static int bpf_carrier_job_get(struct mlcc *m, uint32_t id, struct mlcc_job_info *info)
{
	struct mlcc_setting rule;
	int err = bpf_renew(m);

	if (err)
		return err;
	err = rule_read(m, id, &rule);
	if (err && err != -ENOENT)
		return mlcc_fail(m->error, err, "job %u: %s", id, strerror(-err));
	info_fill(m, id, err ? NULL : &rule, info);
	if (err && !info->flows)
		return mlcc_fail(m->error, err, "no job %u", id);
	return 0;
}

static bool bit_test_and_set(unsigned char *bits, uint32_t i)
{
	bool was = bits[i / 8] & 1 << i % 8;

	bits[i / 8] |= 1 << i % 8;
	return was;
}

/* Jobs that have been set. */
static int each_rule(struct mlcc *m, unsigned char *seen,
		     int (*each)(const struct mlcc_job_info *info, void *arg), void *arg)
{
	struct bpf_carrier *c = m->priv;
	uint32_t id, *prev = NULL;
	struct mlcc_setting rule;
	struct mlcc_job_info info;
	int ret = 0;

	/* a job that is deleted meanwhile makes the walk begin again: nothing is reported twice */
	for (; !ret && !bpf_map_get_next_key(c->rules, prev, &id); prev = &id) {
		if (id > 65535 || bit_test_and_set(seen, id) || rule_read(m, id, &rule))
			continue;
		info_fill(m, id, &rule, &info);
		ret = each(&info, arg);
	}
	return ret;
}

/* Jobs that only have flows with their mark, in one version. */
static int each_slot(struct mlcc *m, const struct mlcc_slot *slots, unsigned char *seen,
		     int (*each)(const struct mlcc_job_info *info, void *arg), void *arg)
{
	struct mlcc_job_info info;
	int ret = 0;

	for (unsigned int i = 0; slots && !ret && i < MLCC_SLOTS; i++) {
		const struct mlcc_slot *s = &slots[i];

		if (!s->users || s->deleted || s->whose == MLCC_OF_USER || s->id > 65535 ||
		    bit_test_and_set(seen, s->id))
			continue;
		info_fill(m, s->id, NULL, &info);
		ret = each(&info, arg);
	}
	return ret;
}

static int bpf_carrier_job_each(struct mlcc *m,
				int (*each)(const struct mlcc_job_info *info, void *arg), void *arg)
{
	unsigned char *seen = calloc(1, 65536 / 8);
	struct bpf_carrier *c;
	int ret = seen ? bpf_renew(m) : mlcc_fail(m->error, -ENOMEM, "no memory");

	c = m->priv;
	c->walks++;
	if (!ret)
		ret = each_rule(m, seen, each, arg);
	for (size_t v = 0; !ret && v <= MLCC_OLD_MAX; v++)
		ret = each_slot(m, c->versions[v].slots, seen, each, arg);
	c->walks--;
	free(seen);
	return ret;
}

static int profile_read(struct mlcc *m, unsigned int i, const struct mlcc_config *cfg,
			struct mlcc_profile_conf *conf)
{
	struct bpf_carrier *c = m->priv;
	struct mlcc_profile pr;

	if (bpf_map_lookup_elem(c->profiles, &i, &pr))
		return mlcc_fail(m->error, -errno, "profile %s: %s", profile_names[i],
				 strerror(errno));
	memset(conf, 0, sizeof(*conf));
	strcpy(conf->name, profile_names[i]);
	conf->floor = pr.floor;
	conf->slope = pr.slope;
	conf->hold = pr.hold;
	conf->shape = pr.shape;
	strcpy(conf->base, base_names[pr.base == MLCC_BASE_CUBIC]);
	strcpy(conf->restart, restart_names[pr.restart == MLCC_RESTART_QUEUE]);
	conf->is_default = cfg->profile == i;
	return 0;
}

static int bpf_carrier_profile_get(struct mlcc *m, const char *name, struct mlcc_profile_conf *conf)
{
	struct mlcc_config cfg;
	unsigned int i;
	int err = profile_index(m, name, &i);

	if (!err)
		err = bpf_renew(m);
	if (!err)
		err = bpf_config_read(m, &cfg);
	return err ? err : profile_read(m, i, &cfg, conf);
}

static int bpf_carrier_profile_each(struct mlcc *m,
				    int (*each)(const struct mlcc_profile_conf *conf, void *arg),
				    void *arg)
{
	struct mlcc_profile_conf conf;
	struct mlcc_config cfg;
	int ret = bpf_renew(m);

	if (!ret)
		ret = bpf_config_read(m, &cfg);
	for (unsigned int i = 0; !ret && i < MLCC_PROFILE_COUNT; i++) {
		ret = profile_read(m, i, &cfg, &conf);
		if (!ret)
			ret = each(&conf, arg);
	}
	return ret;
}

/* Flows of older versions keep the constants they have. */
static int profile_write(struct mlcc *m, unsigned int i, const struct mlcc_profile *pr)
{
	struct bpf_carrier *c;
	int err = hold(m);

	if (err)
		return err;
	c = m->priv;
	if (bpf_map_update_elem(c->profiles, &i, pr, BPF_ANY))
		err = mlcc_fail(m->error, -errno, "profile %s: %s", profile_names[i],
				strerror(errno));
	release(m);
	return err;
}

/* The settings are written by the program, for it counts in them. */
static int default_set(struct mlcc *m, unsigned int i)
{
	struct mlcc_ctl ctl = { .op = MLCC_CTL_DEFAULT, .id = 1, .rule.profile = i };

	return control(m, &ctl);
}

static int bpf_carrier_profile_set(struct mlcc *m, const struct mlcc_profile_conf *conf)
{
	struct mlcc_profile pr = {
		.floor = conf->floor, .slope = conf->slope, .hold = conf->hold,
		.shape = conf->shape,
		.base = strcmp(conf->base, "cubic") ? MLCC_BASE_RENO : MLCC_BASE_CUBIC,
		.restart = strcmp(conf->restart, "queue") ? MLCC_RESTART_BASE : MLCC_RESTART_QUEUE,
	};
	unsigned int i;
	int err = profile_index(m, conf->name, &i);

	if (!err)
		err = profile_write(m, i, &pr);
	return err || !conf->is_default ? err : default_set(m, i);
}

const struct mlcc_backend mlcc_backend_bpf = {
	.carrier	= MLCC_CARRIER_BPF,
	.open		= bpf_open,
	.close		= carrier_close,
	.is_current	= carrier_is_current,
	.job_set	= bpf_carrier_job_set,
	.job_del	= bpf_carrier_job_del,
	.job_get	= bpf_carrier_job_get,
	.job_progress	= carrier_job_progress,
	.job_each	= bpf_carrier_job_each,
	.phase_start	= bpf_carrier_phase_start,
	.phase_end	= bpf_carrier_phase_end,
	.profile_get	= bpf_carrier_profile_get,
	.profile_each	= bpf_carrier_profile_each,
	.profile_set	= bpf_carrier_profile_set,
};
