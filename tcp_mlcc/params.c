// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters.  What is written is validated as a whole before any of it applies; what is
 * refused leaves everything as it was, says why in the kernel log and returns -EINVAL.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "control.h"
#include "job.h"
#include "mlcc.h"
#include "parse.h"
#include "profile.h"
#include "settings.h"

#define MLCC_PARAM_LEN 256

/* A copy of what was written, for the parser to cut up; the caller frees it. */
static char *mlcc_param_copy(const char *what, const char *val)
{
	if (strlen(val) >= MLCC_PARAM_LEN) {
		pr_err("%s: longer than %d characters\n", what, MLCC_PARAM_LEN - 1);
		return NULL;
	}
	return kstrdup(val, GFP_KERNEL);
}

/* profile: name of the default profile */

static int mlcc_profile_set(const char *val, const struct kernel_param *kp)
{
	char *s = mlcc_param_copy("profile", val);
	int err;
	u32 id;

	if (!s)
		return -EINVAL;
	err = mlcc_parse_name("profile", strim(s), mlcc_profile_names, MLCC_PROFILE_COUNT, &id);
	if (!err)
		mlcc_profile_set_default(id);
	kfree(s);
	return err;
}

static int mlcc_profile_get(char *buf, const struct kernel_param *kp)
{
	return scnprintf(buf, PAGE_SIZE, "%s\n", mlcc_profile_names[mlcc_profile_default()]);
}

static const struct kernel_param_ops mlcc_profile_ops = {
	.set = mlcc_profile_set,
	.get = mlcc_profile_get,
};

module_param_cb(profile, &mlcc_profile_ops, NULL, 0644);
MODULE_PARM_DESC(profile, "profile of jobs that have none of their own: interleave, hotnets22 or mltcp");

/* mark_mask: bits of the socket mark that hold the job's id */

static int mlcc_mask_set(const char *val, const struct kernel_param *kp)
{
	u32 mask, above;

	/* hexadecimal with or without 0x, as `ip rule` prints masks */
	if (kstrtou32(val, 16, &mask) || !mask) {
		pr_err("mark_mask '%.32s': must be a hexadecimal number from 1 to ffffffff\n", val);
		return -EINVAL;
	}
	above = (mask >> __ffs(mask)) + 1;
	if (above & (above - 1)) {
		pr_err("mark_mask %#x: its bits must be next to each other\n", mask);
		return -EINVAL;
	}
	mlcc_mark_set_mask(mask);
	return 0;
}

static int mlcc_mask_get(char *buf, const struct kernel_param *kp)
{
	return scnprintf(buf, PAGE_SIZE, "%#x\n", mlcc_mark_mask());
}

static const struct kernel_param_ops mlcc_mask_ops = {
	.set = mlcc_mask_set,
	.get = mlcc_mask_get,
};

module_param_cb(mark_mask, &mlcc_mask_ops, NULL, 0644);
MODULE_PARM_DESC(mark_mask, "bits of the socket mark that hold the job's id, hexadecimal");

/* job: "set ID [profile=NAME] [phase_bytes=N]", "del ID" */

/* Whether jobs can be set; kernel_param_lock() protects it. */
static bool mlcc_live;

void mlcc_params_live(bool live)
{
	kernel_param_lock(THIS_MODULE);
	mlcc_live = live;
	kernel_param_unlock(THIS_MODULE);
}

static int mlcc_job_id(char *word, u32 *id)
{
	u32 mask = mlcc_mark_mask();
	u64 v;
	int err;

	err = mlcc_parse_u64("job: id", word ?: "", 1, mask >> __ffs(mask), &v);
	*id = err ? 0 : v;
	return err;
}

static int mlcc_job_key(char *word, struct mlcc_job_conf *c)
{
	char *value = mlcc_parse_pair("job", word);

	if (!value)
		return -EINVAL;
	if (!strcmp(word, "profile"))
		return mlcc_parse_name("job: profile", value, mlcc_profile_names,
				       MLCC_PROFILE_COUNT, &c->profile);
	if (!strcmp(word, "phase_bytes"))
		return mlcc_parse_u64("job: phase_bytes", value, 0, MLCC_PHASE_BYTES_MAX,
				      &c->phase_bytes);
	pr_err("job: no key '%s': profile or phase_bytes\n", word);
	return -EINVAL;
}

static int mlcc_job_do_set(u32 id, char *rest)
{
	struct mlcc_job_conf c = { .id = id, .profile = MLCC_PROFILE_NONE };
	char *word;
	int err;

	while ((word = mlcc_parse_word(&rest))) {
		err = mlcc_job_key(word, &c);
		if (err)
			return err;
	}
	err = mlcc_control_set(&init_net, &c, false);
	if (err == -ENOSPC)
		pr_err("job: there are %u rules already, no room for job %u\n",
		       MLCC_JOB_RULES_MAX, id);
	return err;
}

static int mlcc_job_do_del(u32 id, char *rest)
{
	char *word = mlcc_parse_word(&rest);
	int err;

	if (word) {
		pr_err("job: del %u: '%s' is not wanted\n", id, word);
		return -EINVAL;
	}
	err = mlcc_control_delete(&init_net, id, false);
	if (err)
		pr_err("job: del %u: this job has no rule\n", id);
	return err;
}

static int mlcc_job_do(char *rest)
{
	char *verb = mlcc_parse_word(&rest);
	int err;
	u32 id;

	if (!verb || (strcmp(verb, "set") && strcmp(verb, "del"))) {
		pr_err("job '%s': set ID [profile=NAME] [phase_bytes=N], or del ID\n", verb ?: "");
		return -EINVAL;
	}
	err = mlcc_job_id(mlcc_parse_word(&rest), &id);
	if (err)
		return err;
	return *verb == 's' ? mlcc_job_do_set(id, rest) : mlcc_job_do_del(id, rest);
}

static int mlcc_job_set(const char *val, const struct kernel_param *kp)
{
	char *s;
	int err;

	/* a parameter of the kernel's command line, or of modprobe */
	if (!mlcc_live) {
		pr_err("job: cannot be set before the module is loaded\n");
		return -EINVAL;
	}
	s = mlcc_param_copy("job", val);
	if (!s)
		return -EINVAL;
	err = mlcc_job_do(s);
	kfree(s);
	return err;
}

static int mlcc_job_get(char *buf, const struct kernel_param *kp)
{
	return mlcc_slots_show(buf, PAGE_SIZE);
}

static const struct kernel_param_ops mlcc_job_ops = {
	.set = mlcc_job_set,
	.get = mlcc_job_get,
};

module_param_cb(job, &mlcc_job_ops, NULL, 0644);
MODULE_PARM_DESC(job, "write: set ID [profile=NAME] [phase_bytes=N], del ID; read: jobs with open flows");

/* tune: "PROFILE KEY=VALUE ..." */

static int mlcc_tune_name(const char *what, const char *s, const char *const *names, u32 count,
			  u8 *to)
{
	u32 v;
	int err = mlcc_parse_name(what, s, names, count, &v);

	if (!err)
		*to = v;
	return err;
}

static int mlcc_tune_shape(const char *s, u8 *to)
{
	u64 v;
	int err = mlcc_parse_u64("tune: shape", s, 1, MLCC_SHAPE_MAX, &v);

	if (!err)
		*to = v;
	return err;
}

static int mlcc_tune_key(char *word, struct mlcc_profile *p)
{
	char *value = mlcc_parse_pair("tune", word);

	if (!value)
		return -EINVAL;
	if (!strcmp(word, "floor"))
		return mlcc_parse_q16("tune: floor", value, MLCC_GROW_MIN, MLCC_FLOOR_MAX,
				      &p->floor);
	if (!strcmp(word, "slope"))
		return mlcc_parse_q16("tune: slope", value, 0, MLCC_SLOPE_MAX, &p->slope);
	if (!strcmp(word, "hold"))
		return mlcc_parse_q16("tune: hold", value, 0, MLCC_HOLD_MAX, &p->hold);
	if (!strcmp(word, "shape"))
		return mlcc_tune_shape(value, &p->shape);
	if (!strcmp(word, "base"))
		return mlcc_tune_name("tune: base", value, mlcc_base_names,
				      ARRAY_SIZE(mlcc_base_names), &p->base);
	if (!strcmp(word, "restart"))
		return mlcc_tune_name("tune: restart", value, mlcc_restart_names,
				      ARRAY_SIZE(mlcc_restart_names), &p->restart);
	pr_err("tune: no key '%s': floor, slope, hold, shape, base or restart\n", word);
	return -EINVAL;
}

static int mlcc_tune_do(char *rest)
{
	struct mlcc_profile p;
	char *word;
	int err;
	u32 id;

	word = mlcc_parse_word(&rest);
	err = mlcc_parse_name("tune: profile", word ?: "", mlcc_profile_names,
			      MLCC_PROFILE_COUNT, &id);
	if (err)
		return err;
	mlcc_profile_read(id, &p);
	while ((word = mlcc_parse_word(&rest))) {
		err = mlcc_tune_key(word, &p);
		if (err)
			return err;
	}
	mlcc_profile_change(id, &p);
	return 0;
}

static int mlcc_tune_set(const char *val, const struct kernel_param *kp)
{
	char *s = mlcc_param_copy("tune", val);
	int err;

	if (!s)
		return -EINVAL;
	err = mlcc_tune_do(s);
	kfree(s);
	return err;
}

/* Q16 with five places: what is printed reads back as the same number. */
static int mlcc_show_q16(char *buf, size_t size, const char *key, u32 v)
{
	u32 part = ((v & (MLCC_ONE - 1)) * 100000ULL + MLCC_ONE / 2) >> MLCC_SHIFT;

	return scnprintf(buf, size, " %s=%u.%05u", key, v >> MLCC_SHIFT, part);
}

static int mlcc_tune_get(char *buf, const struct kernel_param *kp)
{
	struct mlcc_profile p;
	size_t len = 0;
	u32 id;

	for (id = 0; id < MLCC_PROFILE_COUNT; id++) {
		mlcc_profile_read(id, &p);
		len += scnprintf(buf + len, PAGE_SIZE - len, "%s", mlcc_profile_names[id]);
		len += mlcc_show_q16(buf + len, PAGE_SIZE - len, "floor", p.floor);
		len += mlcc_show_q16(buf + len, PAGE_SIZE - len, "slope", p.slope);
		len += mlcc_show_q16(buf + len, PAGE_SIZE - len, "hold", p.hold);
		len += scnprintf(buf + len, PAGE_SIZE - len, " shape=%u base=%s restart=%s\n",
				 p.shape, mlcc_base_names[p.base], mlcc_restart_names[p.restart]);
	}
	return len;
}

static const struct kernel_param_ops mlcc_tune_ops = {
	.set = mlcc_tune_set,
	.get = mlcc_tune_get,
};

module_param_cb(tune, &mlcc_tune_ops, NULL, 0644);
MODULE_PARM_DESC(tune, "PROFILE [floor=] [slope=] [hold=] [shape=] [base=reno|cubic] [restart=base|drain]");
