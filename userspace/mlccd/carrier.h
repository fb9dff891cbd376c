/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The carrier and the tagger, which may come and go while the daemon runs. */
#ifndef MLCCD_CARRIER_H
#define MLCCD_CARRIER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "../libmlcc/libmlcc.h"
#include "../common/err.h"

struct walk;

/* A tag that could not be taken away: who has the pins is not done with them. */
struct untag {
	uint64_t cgroup_id;
	uint32_t job;
};

struct carrier {
	struct mlcc *m;			/* NULL: none is loaded */
	struct mlcc_tagger *t;		/* NULL: not there, */
	int no_tagger;			/* for this reason, an error number, */
	struct err why;
	uint64_t tried_us;		/* as it was then */
	uint32_t mark_mask;
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
void carrier_init(struct carrier *c, uint32_t mark_mask);

/* Opens what is not open.  -ENODEV with the reason in @e. */
int carrier_need(struct carrier *c, struct err *e);
int tagger_need(struct carrier *c, struct err *e);

/*
 * Opens the carrier anew: one that was unloaded and loaded again is another, and a handle of the
 * old one would write where nobody reads.
 */
void carrier_refresh(struct carrier *c);
void carrier_close(struct carrier *c);

/*
 * Tags the cgroup @fd, or takes its tag away if it is @job's.  What connects from now on goes by
 * that; sockets that there are follow in a thread, before carrier_close() returns: that walks the
 * namespaces of the cgroup's processes, or of all, which takes milliseconds each.
 */
int carrier_tag(struct carrier *c, int fd, const struct mlcc_tag_conf *conf, struct err *e);
void carrier_untag(struct carrier *c, uint64_t cgroup_id, uint32_t job);

/* Does what could not be done when it was wanted. */
void carrier_retry(struct carrier *c);

/* The library's last error as the daemon's; drops a handle that has lost its carrier. */
int carrier_fail(struct carrier *c, int err, struct err *e);

const char *carrier_name(const struct carrier *c);

#endif /* MLCCD_CARRIER_H */
