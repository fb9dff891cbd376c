// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stddef.h>

#include "carrier.h"

int carrier_need(struct carrier *c, struct err *e)
{
	int err;

	if (c->m)
		return 0;
	err = mlcc_open(&c->m, MLCC_CARRIER_ANY);
	if (!err)
		return 0;
	fail(e, err, "%s", mlcc_error(c->m));
	mlcc_close(c->m);
	c->m = NULL;
	return err;
}

int tagger_need(struct carrier *c, struct err *e)
{
	int err;

	if (c->t)
		return 0;
	err = mlcc_tagger_open(&c->t, c->mark_mask, true);
	if (!err)
		return 0;
	fail(e, err, "no tagger: %s", mlcc_tagger_error(c->t));
	mlcc_tagger_close(c->t);
	c->t = NULL;
	return err;
}

void carrier_refresh(struct carrier *c)
{
	struct err ignored;

	mlcc_close(c->m);
	c->m = NULL;
	carrier_need(c, &ignored);
}

void carrier_close(struct carrier *c)
{
	mlcc_close(c->m);
	mlcc_tagger_close(c->t);
	c->m = NULL;
	c->t = NULL;
}

int carrier_fail(struct carrier *c, int err, struct err *e)
{
	fail(e, err, "%s", mlcc_error(c->m));
	if (err == -ENODEV) {
		mlcc_close(c->m);
		c->m = NULL;
	}
	return err;
}

const char *carrier_name(const struct carrier *c)
{
	return c->m ? mlcc_carrier_name(mlcc_carrier_of(c->m)) : "none";
}
