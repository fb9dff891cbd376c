// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
/*
 * The BPF carrier, through what mlcc-bpf has pinned: jobs are changed by the program "control",
 * and read from the slots map, which is mapped into memory.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "../../bpf/mlcc_bpf.h"
#include "../../bpf/pins.h"
#include "../../include/mlcc/flow.h"
#include "../../include/mlcc/profiles.h"

#define NOT_LOADED	"the BPF carrier is not loaded: 'mlcc-bpf load'"
#define TRIES		1000	/* while flows turn the phase of a job */

_Static_assert(MLCC_NAME_LEN == MLCC_RULE_NAME, "names have one length");

struct bpf_carrier {
	int settings, profiles, rules, control;
	const struct mlcc_slot *slots;	/* MLCC_SLOTS of them, read only */
};

static const char *const profile_names[] = MLCC_PROFILE_NAMES;
static const char *const base_names[] = { "reno", "cubic" };
static const char *const restart_names[] = { "base", "drain" };

_Static_assert(sizeof(((struct mlcc *)NULL)->error) == MLCC_PINS_ERROR, "lines have one length");

/* Opens the directory of the pins.  -ENODEV: the carrier is not loaded. */
static int dir_open(struct mlcc *m)
{
	int dir = mlcc_pins_open(m->error);

	return dir == -ENOENT || dir == -ENODEV ? mlcc_fail(m, -ENODEV, NOT_LOADED) : dir;
}

/* Opens one pin.  -ENODEV: the carrier is not loaded. */
static int pin_open(struct mlcc *m, int dir, const char *name, int *fd)
{
	char path[MLCC_PINS_PATH];

	*fd = bpf_obj_get(mlcc_pins_path(path, dir, name));
	if (*fd >= 0)
		return 0;
	if (errno == ENOENT)
		return mlcc_fail(m, -ENODEV, NOT_LOADED);
	return mlcc_fail(m, -errno, "the carrier's pin '%s': %s", name, strerror(errno));
}

static int config_read(struct mlcc *m, struct mlcc_config *cfg)
{
	struct bpf_carrier *c = m->priv;
	unsigned int zero = 0;

	if (!bpf_map_lookup_elem(c->settings, &zero, cfg))
		return 0;
	return mlcc_fail(m, -errno, "cannot read the carrier's settings: %s", strerror(errno));
}

/* The size comes first: the kernel copies as much as the map's values have. */
static int layout_check(struct mlcc *m)
{
	struct bpf_carrier *c = m->priv;
	struct bpf_map_info info = { };
	__u32 len = sizeof(info);
	struct mlcc_config cfg;
	int err;

	if (bpf_obj_get_info_by_fd(c->settings, &info, &len))
		return mlcc_fail(m, -errno, "the carrier's settings: %s", strerror(errno));
	cfg.layout = 1;
	if (info.value_size == sizeof(cfg)) {
		err = config_read(m, &cfg);
		if (err)
			return err;
	}
	if (cfg.layout == MLCC_LAYOUT)
		return 0;
	return mlcc_fail(m, -EPROTO, "the BPF carrier has map layout %u, wanted %u: load it again",
			 cfg.layout, MLCC_LAYOUT);
}

static int slots_map(struct mlcc *m, int dir)
{
	struct bpf_carrier *c = m->priv;
	void *p;
	int fd, err;

	err = pin_open(m, dir, "slots", &fd);
	if (err)
		return err;
	p = mmap(NULL, sizeof(struct mlcc_slot) * MLCC_SLOTS, PROT_READ, MAP_SHARED, fd, 0);
	err = -errno;
	close(fd);
	if (p == MAP_FAILED)
		return mlcc_fail(m, err, "cannot map the carrier's slots: %s", strerror(-err));
	c->slots = p;
	return 0;
}

static void carrier_close(struct mlcc *m)
{
	struct bpf_carrier *c = m->priv;
	const int fds[] = { c->settings, c->profiles, c->rules, c->control };

	if (c->slots)
		munmap((void *)c->slots, sizeof(struct mlcc_slot) * MLCC_SLOTS);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(c);
	m->priv = NULL;
}

static int pins_open(struct mlcc *m, int dir)
{
	struct bpf_carrier *c = m->priv;
	int err = pin_open(m, dir, "settings", &c->settings);

	if (!err)
		err = layout_check(m);
	if (!err)
		err = pin_open(m, dir, "profiles", &c->profiles);
	if (!err)
		err = pin_open(m, dir, "rules", &c->rules);
	if (!err)
		err = pin_open(m, dir, "control", &c->control);
	return err ? err : slots_map(m, dir);
}

static int carrier_open(struct mlcc *m)
{
	struct bpf_carrier *c = calloc(1, sizeof(*c));
	int dir, err;

	if (!c)
		return mlcc_fail(m, -ENOMEM, "no memory");
	c->settings = -1;
	c->profiles = -1;
	c->rules = -1;
	c->control = -1;
	m->priv = c;
	dir = dir_open(m);
	err = dir < 0 ? dir : pins_open(m, dir);
	if (dir >= 0)
		close(dir);
	if (err)
		carrier_close(m);
	return err;
}

/* Has the carrier do @ctl; says what went wrong. */
static int control(struct mlcc *m, struct mlcc_ctl *ctl)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctl, .ctx_size_in = sizeof(*ctl));
	struct bpf_carrier *c = m->priv;
	int err = -EAGAIN;

	for (int n = 0; n < TRIES && err == -EAGAIN; n++) {
		if (n)
			sched_yield();
		err = bpf_prog_test_run_opts(c->control, &opts);
		if (!err)
			err = (int)opts.retval;
	}
	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return mlcc_fail(m, err, "no job %u", ctl->id);
	case -EEXIST:
		return mlcc_fail(m, err, "there is a job %u already", ctl->id);
	case -E2BIG:
		return mlcc_fail(m, -ENOSPC, "no room for job %u: at most %u", ctl->id, MLCC_SLOTS);
	}
	return mlcc_fail(m, err, "job %u: %s", ctl->id, strerror(-err));
}

static int profile_index(struct mlcc *m, const char *name, uint32_t *i)
{
	for (*i = 0; *i < MLCC_PROFILE_COUNT; ++*i)
		if (!strcmp(name, profile_names[*i]))
			return 0;
	return mlcc_fail(m, -ENOENT, "no profile '%.*s': interleave, hotnets22 or mltcp",
			 MLCC_NAME_LEN, name);
}

static int carrier_job_set(struct mlcc *m, const struct mlcc_job_conf *conf, bool create)
{
	struct mlcc_ctl ctl = { .op = create ? MLCC_CTL_NEW : MLCC_CTL_SET, .id = conf->id };
	struct mlcc_config cfg;
	int err = config_read(m, &cfg);

	if (!err && conf->id > cfg.mark_mask >> cfg.mark_shift)
		err = mlcc_fail(m, -ERANGE, "job id %u: at most %u under the mark mask %#x",
				conf->id, cfg.mark_mask >> cfg.mark_shift, cfg.mark_mask);
	ctl.rule.phase_bytes = conf->phase_bytes;
	ctl.rule.profile = MLCC_PROFILE_NONE;
	strcpy(ctl.rule.name, conf->name);
	if (!err && conf->profile[0])
		err = profile_index(m, conf->profile, &ctl.rule.profile);
	return err ? err : control(m, &ctl);
}

static int carrier_job_del(struct mlcc *m, uint32_t id)
{
	struct mlcc_ctl ctl = { .op = MLCC_CTL_DEL, .id = id };

	return control(m, &ctl);
}

static int carrier_phase_start(struct mlcc *m, uint32_t id, uint64_t bytes)
{
	struct mlcc_ctl ctl = { .op = MLCC_CTL_START, .id = id, .bytes = bytes };

	return control(m, &ctl);
}

static int carrier_phase_end(struct mlcc *m, uint32_t id)
{
	struct mlcc_ctl ctl = { .op = MLCC_CTL_END, .id = id };

	return control(m, &ctl);
}

/* How far the job is, as its flows have it at the moment. */
static struct mlcc_job_pace slot_pace(const struct mlcc_job *j)
{
	u64 sent = MLCC_READ(j->acked) - MLCC_READ(j->start_acked), d = j->d_phase;

	return (struct mlcc_job_pace){
		.neutral = !d || sent > j->d_limit, .phases = j->seq,
		.progress = mlcc_progress(sent, d, mlcc_recip(d)), .d_sent = sent,
	};
}

/* And what that does to the increase. */
static void info_progress(struct mlcc *m, const struct mlcc_slot *s, struct mlcc_job_info *info)
{
	struct mlcc_job_pace pace = slot_pace(&s->job);
	struct bpf_carrier *c = m->priv;
	unsigned int i = s->profile;
	struct mlcc_profile pr;

	info->phases = pace.phases;
	info->d_sent = pace.d_sent;
	info->neutral = pace.neutral;
	info->progress = pace.progress;
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
	info->need = j->need;
	info->period_us = j->period_us;
	info->comm_us = j->comm_us;
	info->best_us = j->best_us;
	info_progress(m, s, info);
}

/* Of a job's slots, one for each namespace, the one that has sent last; NULL: no flows. */
static const struct mlcc_slot *slot_last(const struct bpf_carrier *c, uint32_t id)
{
	const struct mlcc_slot *group = c->slots + mlcc_group(id), *last = NULL;

	for (unsigned int i = 0; i < MLCC_GROUP; i++) {
		const struct mlcc_slot *s = &group[i];

		if (s->id == id && !s->barred &&
		    (!last || s->job.last_us > last->job.last_us))
			last = s;
	}
	return last;
}

static int carrier_job_pace(struct mlcc *m, uint32_t id, struct mlcc_job_pace *pace)
{
	const struct mlcc_slot *s = slot_last(m->priv, id);

	*pace = s ? slot_pace(&s->job) : (struct mlcc_job_pace){ .neutral = true };
	return 0;
}

/* What a job is in all namespaces: sums, and the phase of the one that has sent last. */
static void info_slots(struct mlcc *m, struct mlcc_job_info *info)
{
	struct bpf_carrier *c = m->priv;
	const struct mlcc_slot *group = c->slots + mlcc_group(info->conf.id);
	const struct mlcc_slot *last = slot_last(c, info->conf.id);

	for (unsigned int i = 0; i < MLCC_GROUP; i++) {
		const struct mlcc_slot *s = &group[i];

		if (s->id != info->conf.id || s->barred)
			continue;
		info->flows += s->users;
		info->bytes += s->job.acked;
		info->retrans += s->retrans;
		info->ce += s->ce;
		info->hinted |= s->job.told != MLCC_TOLD_NOTHING;
	}
	if (last)
		info_phase(m, last, info);
}

/* @rule: NULL for a job that is known by its mark only. */
static void info_fill(struct mlcc *m, uint32_t id, const struct mlcc_job_rule *rule,
		      struct mlcc_job_info *info)
{
	memset(info, 0, sizeof(*info));
	info->neutral = true;
	info->gain = MLCC_ONE;
	info->conf.id = id;
	if (rule) {
		info->conf.phase_bytes = rule->phase_bytes;
		memcpy(info->conf.name, rule->name, MLCC_NAME_LEN - 1);
		if (rule->profile < MLCC_PROFILE_COUNT)
			strcpy(info->conf.profile, profile_names[rule->profile]);
		info->hinted = rule->told != MLCC_TOLD_NOTHING;
	}
	info_slots(m, info);
}

static int rule_read(struct mlcc *m, uint32_t id, struct mlcc_job_rule *rule)
{
	struct bpf_carrier *c = m->priv;

	return bpf_map_lookup_elem(c->rules, &id, rule) ? -errno : 0;
}

static int carrier_job_get(struct mlcc *m, uint32_t id, struct mlcc_job_info *info)
{
	struct mlcc_job_rule rule;
	int err = rule_read(m, id, &rule);

	if (err && err != -ENOENT)
		return mlcc_fail(m, err, "job %u: %s", id, strerror(-err));
	info_fill(m, id, err ? NULL : &rule, info);
	if (err && !info->flows)
		return mlcc_fail(m, err, "no job %u", id);
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
	struct mlcc_job_rule rule;
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

/* Jobs that only have flows with their mark. */
static int each_slot(struct mlcc *m, unsigned char *seen,
		     int (*each)(const struct mlcc_job_info *info, void *arg), void *arg)
{
	struct bpf_carrier *c = m->priv;
	struct mlcc_job_info info;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < MLCC_SLOTS; i++) {
		const struct mlcc_slot *s = &c->slots[i];

		if (!s->users || s->barred || s->id > 65535 || bit_test_and_set(seen, s->id))
			continue;
		info_fill(m, s->id, NULL, &info);
		ret = each(&info, arg);
	}
	return ret;
}

static int carrier_job_each(struct mlcc *m,
			    int (*each)(const struct mlcc_job_info *info, void *arg), void *arg)
{
	unsigned char *seen = calloc(1, 65536 / 8);
	int ret;

	if (!seen)
		return mlcc_fail(m, -ENOMEM, "no memory");
	ret = each_rule(m, seen, each, arg);
	if (!ret)
		ret = each_slot(m, seen, each, arg);
	free(seen);
	return ret;
}

static int profile_read(struct mlcc *m, unsigned int i, const struct mlcc_config *cfg,
			struct mlcc_profile_conf *conf)
{
	struct bpf_carrier *c = m->priv;
	struct mlcc_profile pr;

	if (bpf_map_lookup_elem(c->profiles, &i, &pr))
		return mlcc_fail(m, -errno, "profile %s: %s", profile_names[i], strerror(errno));
	memset(conf, 0, sizeof(*conf));
	strcpy(conf->name, profile_names[i]);
	conf->floor = pr.floor;
	conf->slope = pr.slope;
	conf->hold = pr.hold;
	conf->shape = pr.shape;
	strcpy(conf->base, base_names[pr.base == MLCC_BASE_CUBIC]);
	strcpy(conf->restart, restart_names[pr.restart == MLCC_RESTART_DRAIN]);
	conf->is_default = cfg->profile == i;
	return 0;
}

static int carrier_profile_get(struct mlcc *m, const char *name, struct mlcc_profile_conf *conf)
{
	struct mlcc_config cfg;
	unsigned int i;
	int err = profile_index(m, name, &i);

	if (!err)
		err = config_read(m, &cfg);
	return err ? err : profile_read(m, i, &cfg, conf);
}

static int carrier_profile_each(struct mlcc *m,
				int (*each)(const struct mlcc_profile_conf *conf, void *arg),
				void *arg)
{
	struct mlcc_profile_conf conf;
	struct mlcc_config cfg;
	int ret = config_read(m, &cfg);

	for (unsigned int i = 0; !ret && i < MLCC_PROFILE_COUNT; i++) {
		ret = profile_read(m, i, &cfg, &conf);
		if (!ret)
			ret = each(&conf, arg);
	}
	return ret;
}

/* The settings are written by the program, for it counts in them. */
static int default_set(struct mlcc *m, unsigned int i)
{
	struct mlcc_ctl ctl = { .op = MLCC_CTL_DEFAULT, .id = 1, .rule.profile = i };

	return control(m, &ctl);
}

static int carrier_profile_set(struct mlcc *m, const struct mlcc_profile_conf *conf)
{
	struct bpf_carrier *c = m->priv;
	struct mlcc_profile pr = {
		.floor = conf->floor, .slope = conf->slope, .hold = conf->hold,
		.shape = conf->shape,
		.base = strcmp(conf->base, "cubic") ? MLCC_BASE_RENO : MLCC_BASE_CUBIC,
		.restart = strcmp(conf->restart, "drain") ? MLCC_RESTART_BASE : MLCC_RESTART_DRAIN,
	};
	unsigned int i;
	int err = profile_index(m, conf->name, &i);

	if (err)
		return err;
	if (bpf_map_update_elem(c->profiles, &i, &pr, BPF_ANY))
		return mlcc_fail(m, -errno, "profile %s: %s", conf->name, strerror(errno));
	return conf->is_default ? default_set(m, i) : 0;
}

const struct mlcc_backend mlcc_backend_bpf = {
	.carrier	= MLCC_CARRIER_BPF,
	.name		= "bpf",
	.open		= carrier_open,
	.close		= carrier_close,
	.job_set	= carrier_job_set,
	.job_del	= carrier_job_del,
	.job_get	= carrier_job_get,
	.job_pace	= carrier_job_pace,
	.job_each	= carrier_job_each,
	.phase_start	= carrier_phase_start,
	.phase_end	= carrier_phase_end,
	.profile_get	= carrier_profile_get,
	.profile_each	= carrier_profile_each,
	.profile_set	= carrier_profile_set,
};
