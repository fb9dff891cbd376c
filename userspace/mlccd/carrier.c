// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stddef.h>

#include "carrier.h"

void carrier_init(struct carrier *c, uint32_t mark_mask)
{
	*c = (struct carrier){
		.mark_mask = mark_mask,
		.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER,
	};
}

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

/* One walk for all tags that were forgotten since the last one began. */
static void *follow(void *arg)
{
	struct carrier *c = arg;

	pthread_mutex_lock(&c->lock);
	while (c->wanted || !c->ends) {
		if (!c->wanted) {
			pthread_cond_wait(&c->changed, &c->lock);
			continue;
		}
		c->wanted = false;
		pthread_mutex_unlock(&c->lock);
		mlcc_tagger_follow();
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Without memory for a thread, here. */
static void follow_soon(struct carrier *c)
{
	if (!c->follows)
		c->follows = !pthread_create(&c->follower, NULL, follow, c);
	if (!c->follows) {
		mlcc_tagger_follow();
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->wanted = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void follow_end(struct carrier *c)
{
	if (!c->follows)
		return;
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->follower, NULL);
	c->follows = false;
}

void carrier_untag(struct carrier *c, uint64_t cgroup_id)
{
	struct err e;

	if (!tagger_need(c, &e) && !mlcc_tag_forget(c->t, cgroup_id))
		follow_soon(c);
}

void carrier_close(struct carrier *c)
{
	follow_end(c);
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
