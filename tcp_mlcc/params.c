// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters: what may have to be known before anybody can ask by netlink.  What is refused
 * leaves everything as it was, says why in the kernel log and returns -EINVAL.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "job.h"
#include "profile.h"

/* profile: name of the default profile; once the module is loaded, netlink changes it */

static int mlcc_profile_set(const char *val, const struct kernel_param *kp)
{
	int id = sysfs_match_string(mlcc_profile_names, val);

	if (id < 0) {
		pr_err("profile '%.32s': must be interleave, hotnets22 or mltcp\n", val);
		return -EINVAL;
	}
	mlcc_profile_set_default(id);
	return 0;
}

static int mlcc_profile_get(char *buf, const struct kernel_param *kp)
{
	return scnprintf(buf, PAGE_SIZE, "%s\n", mlcc_profile_names[mlcc_profile_default()]);
}

static const struct kernel_param_ops mlcc_profile_ops = {
	.set = mlcc_profile_set,
	.get = mlcc_profile_get,
};

module_param_cb(profile, &mlcc_profile_ops, NULL, 0444);
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
