// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../include/mlcc/uapi/mlcc_skip.h"
#include "../common/auto.h"
#include "../common/clock.h"
#include "cgroup.h"
#include "kept.h"

/* Waits for a lock while others wait for us. */
#define PATIENCE_MS		20
#define THREAD_PATIENCE_MS	1000
#define TRY_US			1000000	/* what is not there is looked for again */
#define WALKS			16	/* of one cgroup each; more are one of all */
#define PAUSE_MAX_MS		5000
#define UNTAGS			65536	/* there are no more jobs */

/* Over the sockets of one cgroup. */
struct walk {
	STAILQ_ENTRY(walk) entry;
	int fd;
	uint32_t change;
};

void kept_init(struct kept *k, const struct cgroups *cgroups, const char *config,
	       uint32_t mark_mask)
{
	pthread_condattr_t attr;
	int err;

	*k = (struct kept){
		.cgroups = cgroups, .config = config, .mark_mask = mark_mask,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	err = home_find(&k->home);
	if (err)
		note(4, "whose network namespace this is cannot be told, so nobody is taken for root: %s",
		     strerror(-err));
	/* the time of day may be set back while the thread waits */
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->changed, &attr);
	pthread_condattr_destroy(&attr);
	STAILQ_INIT(&k->walks);
	mlcc_patience(PATIENCE_MS);
}

int kept_need(struct kept *k, struct err *e)
{
	int err;

	if (k->m)
		return 0;
	err = mlcc_open(&k->m, MLCC_CARRIER_ANY);
	return err ? fail(e, err, "%s", mlcc_error(NULL)) : 0;
}

/* All programs of the host are looked at, so not for each job. */
int kept_orphans(struct kept *k, uint32_t id)
{
	if (!k->orphans_us || now_us() >= k->orphans_us + TRY_US) {
		mlcc_orphans_close(k->orphans);
		mlcc_orphans_open(&k->orphans);
		k->orphans_us = now_us();
	}
	return k->orphans ? (int)mlcc_orphans_of(k->orphans, id) : -1;
}

/*** Sockets that follow ***/

static void kept_path_of(char path[64], int fd)
{
	snprintf(path, 64, "/proc/self/fd/%d", fd);
}

static int walk(struct walk *w)
{
	char path[64];
	int err;

	if (!w)
		return mlcc_tagger_follow();
	kept_path_of(path, w->fd);
	err = mlcc_tag_follow(path, w->change);
	close(w->fd);
	free(w);
	return err;
}

/* Who walks again and again takes a third of a processor at most; under the lock. */
static void pause_for(struct kept *k, uint64_t ms)
{
	const uint64_t until = now_us() + ms * 1000;
	const struct timespec t = { until / 1000000, until % 1000000 * 1000 };

	while (!k->ends && pthread_cond_timedwait(&k->changed, &k->lock, &t) != ETIMEDOUT)
		;
}

/* Under the lock, which it gives back meanwhile. */
static void follow_one(struct kept *k)
{
	struct walk *w = STAILQ_FIRST(&k->walks);
	uint64_t begin = now_us(), ms;
	int err;

	if (w) {
		STAILQ_REMOVE_HEAD(&k->walks, entry);
		k->walk_count--;
	} else {
		k->wanted = false;
	}
	pthread_mutex_unlock(&k->lock);
	err = walk(w);
	if (err && err != -EAGAIN && err != -ENODEV)
		note(4, "sockets do not follow a change of their job: %s", strerror(-err));
	ms = 2 * (now_us() - begin) / 1000;
	pthread_mutex_lock(&k->lock);
	k->wanted |= err == -EAGAIN;
	pause_for(k, err == -EAGAIN || ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : ms);
}

/* One walk for all tags that were forgotten since the last one began. */
static void *follow(void *arg)
{
	struct kept *k = arg;

	mlcc_patience(THREAD_PATIENCE_MS);
	pthread_mutex_lock(&k->lock);
	while (k->wanted || k->walk_count || !k->ends) {
		if (k->wanted || k->walk_count)
			follow_one(k);
		else
			pthread_cond_wait(&k->changed, &k->lock);
		/* somebody who has the lock for that long is waited for no longer */
		if (k->ends)
			k->wanted = false;
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* @w, NULL: all sockets.  Without memory for a thread, here. */
static void follow_soon(struct kept *k, struct walk *w)
{
	if (!k->follows)
		k->follows = !pthread_create(&k->follower, NULL, follow, k);
	if (!k->follows) {
		walk(w);
		return;
	}
	pthread_mutex_lock(&k->lock);
	if (w && k->walk_count < WALKS) {
		STAILQ_INSERT_TAIL(&k->walks, w, entry);
		k->walk_count++;
		w = NULL;
	} else {
		k->wanted = true;
	}
	pthread_cond_signal(&k->changed);
	pthread_mutex_unlock(&k->lock);
	if (w)
		close(w->fd);
	free(w);
}

static void follow_end(struct kept *k)
{
	if (!k->follows)
		return;
	pthread_mutex_lock(&k->lock);
	k->ends = true;
	pthread_cond_signal(&k->changed);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->follower, NULL);
	k->follows = false;
}

/*** The tagger ***/

/* What somebody detaches from the root cgroup stays pinned, and tags nothing. */
static int tagger_mend(struct kept *k, struct err *e)
{
	int err = mlcc_tagger_mend(k->t);

	if (err > 0) {
		note(4, "somebody has detached the tagger from the root cgroup: it is attached again");
		follow_soon(k, NULL);
	}
	/* who changes it now will not leave it detached */
	if (err >= 0 || err == -EAGAIN)
		return 0;
	return fail(e, err, "the tagger does not tag: %s", mlcc_tagger_error(k->t));
}

/* Loading it takes a while, and anybody may ask for what needs it. */
int kept_tagger(struct kept *k, struct err *e)
{
	int err;

	if (k->t)
		return tagger_mend(k, e);
	if (k->tried_us && now_us() < k->tried_us + TRY_US)
		return fail(e, k->no_tagger, "%s", k->why.text);
	err = mlcc_tagger_open_only(&k->t, k->unloads ? 0 : k->mark_mask, !k->unloads);
	k->tried_us = now_us();
	if (!err) {
		/* what an earlier daemon has left undone */
		follow_soon(k, NULL);
		return 0;
	}
	k->no_tagger = fail(&k->why, err, "no tagger: %s", mlcc_tagger_error(k->t));
	mlcc_tagger_close(k->t);
	k->t = NULL;
	return fail(e, err, "%s", k->why.text);
}

static bool untag(struct kept *k, const struct untag *u)
{
	struct err e;
	int err = kept_tagger(k, &e);

	if (!err)
		err = mlcc_tag_forget(k->t, u->cgroup_id, u->job);
	if (!err)
		follow_soon(k, NULL);
	return err != -EAGAIN;
}

void kept_untag(struct kept *k, uint64_t cgroup_id, uint32_t job)
{
	const struct untag u = { cgroup_id, job };
	struct untag *more;

	if (untag(k, &u) || k->untag_count == UNTAGS)
		return;
	more = grow(k->untags, k->untag_count, sizeof(u));
	if (!more)
		return;
	k->untags = more;
	k->untags[k->untag_count++] = u;
}

static void untag_again(struct kept *k)
{
	while (k->untag_count && untag(k, &k->untags[k->untag_count - 1]))
		k->untag_count--;
}

/* A carrier that somebody is changing is there still.  What is wrong with the tagger "status" says. */
void kept_refresh(struct kept *k)
{
	struct mlcc *old = k->m;
	struct err ignored;

	/* to map all of its slots again takes a millisecond, and as much memory once more */
	if (!old || !mlcc_is_current(old)) {
		k->m = NULL;
		if (kept_need(k, &ignored) == -EAGAIN)
			k->m = old;
		else
			mlcc_close(old);
	}
	if (k->t)
		tagger_mend(k, &ignored);
	untag_again(k);
}

/* @fd < 0: MLCC_TAG_OTHER, whose sockets may be anywhere. */
static int tag_fd(struct kept *k, int fd, const struct mlcc_tag_conf *conf, struct err *e)
{
	struct walk *w = NULL;
	uint32_t change;
	char path[64];
	int err;

	kept_path_of(path, fd);
	err = mlcc_tag_set_only(k->t, fd < 0 ? NULL : path, conf, &change);
	if (err)
		return fail(e, err, "%s", mlcc_tagger_error(k->t));
	if (!change)
		return 0;
	fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	w = fd < 0 ? NULL : malloc(sizeof(*w));
	if (w)
		*w = (struct walk){ .fd = fd, .change = change };
	else if (fd >= 0)
		close(fd);
	follow_soon(k, w);
	return 0;
}

int kept_tag(struct kept *k, const char *path, uint64_t id, const struct mlcc_tag_conf *conf,
	     struct err *e)
{
	int err = kept_tagger(k, e);
	AUTO_CLOSE int fd = -1;

	/* what is to be taken away goes first: it may be of the same cgroup, and of that id */
	untag_again(k);
	if (!err && k->untag_count)
		err = fail(e, -EAGAIN, "somebody is changing the carrier or the tagger: try again");
	if (err)
		return err;
	if (id == MLCC_TAG_OTHER)
		return tag_fd(k, -1, conf, e);
	fd = cgroup_open(k->cgroups, path, e);
	if (fd < 0)
		return fd;
	/* what was checked is what is tagged, whatever has that path by now */
	if (cgroup_id(fd) != id)
		return fail(e, -ESTALE, "cgroup '%.200s' is another one by now", path);
	return tag_fd(k, fd, conf, e);
}

void kept_close(struct kept *k)
{
	untag_again(k);
	follow_end(k);
	mlcc_close(k->m);
	mlcc_tagger_close(k->t);
	mlcc_orphans_close(k->orphans);
	k->orphans = NULL;
	free(k->listed);
	k->listed = NULL;
	k->m = NULL;
	k->t = NULL;
}

void kept_drop(struct kept *k)
{
	mlcc_close(k->m);
	k->m = NULL;
}
