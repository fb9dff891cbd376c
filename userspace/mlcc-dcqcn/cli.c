// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cli.h"

static int status_of(int err)
{
	if (err == -ENODEV)
		return EXIT_NO_DEVICE;
	return err == -ENOTUNIQ || err == -ERANGE ? EXIT_USAGE : EXIT_FAILED;
}

void die_of(int err, const struct err *e)
{
	die_answering(status_of(err), err_name(err), e->text);
}

void common_end(void)
{
	struct err e;
	int err = sysroot_set(common.place ? common.place : "/", &e);

	if (err)
		die_of(err == -ENODEV ? -EPERM : err, &e);
}

const struct knob *parse_knob(const struct device *d, const char *name)
{
	const struct knob *k = knob_find(d->be, name);

	if (!k)
		die(EXIT_USAGE, "%s:%s has no knob '%s': 'mlcc-dcqcn show %s' lists them",
		    d->be->name, d->name, name, d->name);
	return k;
}

void warn_of_scope(const struct device *d)
{
	static const char *const whose[] = {
		"EVERY flow of the port", "EVERY flow of the device, on all of its ports",
		"EVERY flow in the profile", "EVERY device of the driver",
	};

	warn("%s:%s: this changes %s, not only those of one job", d->be->name, d->name,
	     whose[d->be->scope]);
}
