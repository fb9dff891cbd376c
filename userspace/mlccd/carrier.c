// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/clock.h"
#include "carrier.h"

/* Waits for a lock while others wait for us. */
#define PATIENCE_MS		20
#define THREAD_PATIENCE_MS	1000
#define TRY_US			1000000	/* a tagger that is not there is looked for again */
#define WALKS			16	/* of one cgroup each; more are one of all */
#define PAUSE_MAX_MS		5000

/* Over the sockets of one cgroup. */
struct walk {
	STAILQ_ENTRY(walk) entry;
	int fd;
	uint32_t change;
};

void carrier_init(struct carrier *c, uint32_t mark_mask)
{
	pthread_condattr_t attr;

	*c = (struct carrier){ .mark_mask = mark_mask, .lock = PTHREAD_MUTEX_INITIALIZER };
	/* the time of day may be set back while the thread waits */
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	STAILQ_INIT(&c->walks);
	mlcc_patience(PATIENCE_MS);
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

/* One that somebody is changing is there still. */
void carrier_refresh(struct carrier *c)
{
	struct mlcc *old = c->m;
	struct err ignored;

	c->m = NULL;
	if (carrier_need(c, &ignored) == -EAGAIN)
		c->m = old;
	else
		mlcc_close(old);
}

/*** Sockets that follow ***/

static void path_of(char path[64], int fd)
{
	snprintf(path, 64, "/proc/self/fd/%d", fd);
}

static int walk(struct walk *w)
{
	char path[64];
	int err;

	if (!w)
		return mlcc_tagger_follow();
	path_of(path, w->fd);
	err = mlcc_tag_follow(path, w->change);
	close(w->fd);
	free(w);
	return err;
}

/* Who walks again and again takes a third of a processor at most; under the lock. */
static void pause_for(struct carrier *c, uint64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	while (!c->ends && pthread_cond_timedwait(&c->changed, &c->lock, &t) != ETIMEDOUT)
		;
}

/* Under the lock, which it gives back meanwhile. */
static void follow_one(struct carrier *c)
{
	struct walk *w = STAILQ_FIRST(&c->walks);
	uint64_t begin = now_us(), ms;
	int err;

	if (w) {
		STAILQ_REMOVE_HEAD(&c->walks, entry);
		c->walk_count--;
	} else {
		c->wanted = false;
	}
	pthread_mutex_unlock(&c->lock);
	err = walk(w);
	if (err && err != -EAGAIN && err != -ENODEV)
		note(4, "sockets do not follow a change of their job: %s", strerror(-err));
	ms = 2 * (now_us() - begin) / 1000;
	pthread_mutex_lock(&c->lock);
	c->wanted |= err == -EAGAIN;
	pause_for(c, err == -EAGAIN || ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : ms);
}

/* One walk for all tags that were forgotten since the last one began. */
static void *follow(void *arg)
{
	struct carrier *c = arg;

	mlcc_patience(THREAD_PATIENCE_MS);
	pthread_mutex_lock(&c->lock);
	while (c->wanted || c->walk_count || !c->ends) {
		if (c->wanted || c->walk_count)
			follow_one(c);
		else
			pthread_cond_wait(&c->changed, &c->lock);
		/* somebody who has the lock for that long is waited for no longer */
		if (c->ends)
			c->wanted = false;
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* @w, NULL: all sockets.  Without memory for a thread, here. */
static void follow_soon(struct carrier *c, struct walk *w)
{
	if (!c->follows)
		c->follows = !pthread_create(&c->follower, NULL, follow, c);
	if (!c->follows) {
		walk(w);
		return;
	}
	pthread_mutex_lock(&c->lock);
	if (w && c->walk_count < WALKS) {
		STAILQ_INSERT_TAIL(&c->walks, w, entry);
		c->walk_count++;
		w = NULL;
	} else {
		c->wanted = true;
	}
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (w)
		close(w->fd);
	free(w);
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

/*** The tagger ***/

/* Loading it takes a while, and anybody may ask for what needs it. */
int tagger_need(struct carrier *c, struct err *e)
{
	int err;

	if (c->t)
		return 0;
	if (c->tried_us && now_us() < c->tried_us + TRY_US)
		return fail(e, c->no_tagger, "%s", c->why.text);
	err = mlcc_tagger_open_only(&c->t, c->mark_mask, true);
	c->tried_us = now_us();
	if (!err) {
		/* what an earlier daemon has left undone */
		follow_soon(c, NULL);
		return 0;
	}
	c->no_tagger = fail(&c->why, err, "no tagger: %s", mlcc_tagger_error(c->t));
	mlcc_tagger_close(c->t);
	c->t = NULL;
	return fail(e, err, "%s", c->why.text);
}

static bool untag(struct carrier *c, const struct untag *u)
{
	struct err e;
	int err = tagger_need(c, &e);

	if (!err)
		err = mlcc_tag_forget(c->t, u->cgroup_id, u->job);
	if (!err)
		follow_soon(c, NULL);
	return err != -EAGAIN;
}

void carrier_untag(struct carrier *c, uint64_t cgroup_id, uint32_t job)
{
	const struct untag u = { cgroup_id, job };
	struct untag *more;

	if (untag(c, &u))
		return;
	more = realloc(c->untags, (c->untag_count + 1) * sizeof(u));
	if (!more)
		return;
	c->untags = more;
	c->untags[c->untag_count++] = u;
}

void carrier_retry(struct carrier *c)
{
	while (c->untag_count && untag(c, &c->untags[c->untag_count - 1]))
		c->untag_count--;
}

int carrier_tag(struct carrier *c, int fd, const struct mlcc_tag_conf *conf, struct err *e)
{
	int err = tagger_need(c, e);
	struct walk *w = NULL;
	uint32_t change;
	char path[64];

	/* what is to be taken away goes first: it may be of the same cgroup, and of that id */
	carrier_retry(c);
	if (!err && c->untag_count)
		err = fail(e, -EAGAIN, "somebody is changing the carrier or the tagger: try again");
	if (err)
		return err;
	path_of(path, fd);
	err = mlcc_tag_set_only(c->t, path, conf, &change);
	if (err)
		return fail(e, err, "%s", mlcc_tagger_error(c->t));
	if (!change)
		return 0;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	w = fd < 0 ? NULL : malloc(sizeof(*w));
	if (w)
		*w = (struct walk){ .fd = fd, .change = change };
	else if (fd >= 0)
		close(fd);
	follow_soon(c, w);
	return 0;
}

void carrier_close(struct carrier *c)
{
	carrier_retry(c);
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
