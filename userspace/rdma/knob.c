// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Range, write, read back: drivers check no range, and some take a write and do nothing. */
#include <string.h>

#include "nic.h"

int knob_check(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	if (d->be->read_only || k->read_only)
		return fail(e, -EPERM, "%s:%s %s can only be read", d->be->name, d->name, k->name);
	if (v < k->min || v > k->max)
		return fail(e, -ERANGE, "%s=%u: from %u to %u%s%s", k->name, v, k->min, k->max,
			    *k->unit ? " " : "", k->unit);
	return 0;
}

int knob_read(const struct device *d, const struct knob *k, uint32_t *v, struct err *e)
{
	return d->be->read(d, k, v, e);
}

int knob_put(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	uint32_t is;
	int err;

	err = d->be->write(d, k, v, e);
	if (!err)
		err = d->be->read(d, k, &is, e);
	if (!err && is != v)
		return fail(e, -EREMOTEIO, "%s:%s %s: wrote %u, and it reads %u", d->be->name,
			    d->name, k->name, v, is);
	return err;
}

int knob_write(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	int err = knob_check(d, k, v, e);

	return err ? err : knob_put(d, k, v, e);
}

int knob_may_write(const struct device *d, const struct knob *k, struct err *e)
{
	if (d->be->read_only || k->read_only)
		return fail(e, -EPERM, "%s:%s can only be read", d->be->name, d->name);
	return d->be->may_write ? d->be->may_write(d, k, e) : 0;
}
