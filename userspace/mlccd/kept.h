/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the keeper holds: the carrier and the tagger, which may come and go while it runs, and
 * where it looks for cgroups.
 */
#ifndef MLCCD_KEPT_H
#define MLCCD_KEPT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "../common/err.h"
#include "../libmlcc/libmlcc.h"
#include "account.h"

struct cgroups;
struct walk;

/* A tag that could not be taken away: who has the pins is not done with them. */
struct untag {
	uint64_t cgroup_id;
	uint32_t job;
};

struct kept {
	const struct cgroups *cgroups;
	const char *config;		/* the file */
	struct home home;
	struct mlcc *m;			/* NULL: none is loaded */
	struct mlcc_tagger *t;		/* NULL: not there, */
	int no_tagger;			/* for this reason, an error number, */
	struct err why;
	uint64_t tried_us;		/* as it was then */
	uint32_t mark_mask;
	bool unloads;			/* the tagger, whatever its mask is: none is loaded for it */
	struct mlcc_orphans *orphans;	/* NULL: not to be seen, */
	uint64_t orphans_us;		/* as it was then */
	struct mlcc_job_info *listed;	/* all jobs, while they are told one part after the other */
	uint32_t listed_count;
	struct untag *untags;
	size_t untag_count;
	bool follows;			/* sockets, in a thread: since they had to */
	pthread_t follower;
	pthread_mutex_t lock;		/* of what is below */
	pthread_cond_t changed;
	STAILQ_HEAD(, walk) walks;
	unsigned int walk_count;
	bool wanted, ends;
};

/* The calling thread is the one that has others waiting. */
void kept_init(struct kept *k, const struct cgroups *cgroups, const char *config,
	       uint32_t mark_mask);

/* Opens what is not open.  -ENODEV with the reason in @e. */
int kept_need(struct kept *k, struct err *e);
int kept_tagger(struct kept *k, struct err *e);

/*
 * Opens the carrier anew: one that was unloaded and loaded again is another, and a handle of the
 * old one would write where nobody reads.  A tagger that was detached is attached again.  Does what
 * could not be done when it was wanted.
 */
void kept_refresh(struct kept *k);
void kept_close(struct kept *k);

/* How many flows of a job have a carrier that was unloaded; -1: that is not to be seen. */
int kept_orphans(struct kept *k, uint32_t id);

/*
 * Tags the cgroup at @path below the mount, if it is @cgroup_id, or is MLCC_TAG_OTHER; takes a tag
 * away if it is @job's. What connects from now on goes by that; sockets that there are follow in a thread,
 * before kept_close() returns: that walks the namespaces of the cgroup's processes, or of all,
 * which takes milliseconds each.
 */
int kept_tag(struct kept *k, const char *path, uint64_t cgroup_id,
	     const struct mlcc_tag_conf *conf, struct err *e);
void kept_untag(struct kept *k, uint64_t cgroup_id, uint32_t job);

/* Drops a handle that has lost its carrier. */
void kept_drop(struct kept *k);

#endif /* MLCCD_KEPT_H */
