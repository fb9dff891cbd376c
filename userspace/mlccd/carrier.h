/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The carrier and the tagger, which may come and go while the daemon runs. */
#ifndef MLCCD_CARRIER_H
#define MLCCD_CARRIER_H

#include <pthread.h>
#include <stdbool.h>

#include "../libmlcc/libmlcc.h"
#include "../common/err.h"

struct carrier {
	struct mlcc *m;			/* NULL: none is loaded */
	struct mlcc_tagger *t;		/* NULL: not there */
	uint32_t mark_mask;
	pthread_t follower;		/* a thread, since the first tag was forgotten */
	pthread_mutex_t lock;		/* of what is below */
	pthread_cond_t changed;
	bool follows, wanted, ends;
};

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
 * Takes the tag of a cgroup away.  Sockets that have it follow in a thread, before carrier_close()
 * returns: it walks the namespaces of all processes, which takes milliseconds each.
 */
void carrier_untag(struct carrier *c, uint64_t cgroup_id);

/* The library's last error as the daemon's; drops a handle that has lost its carrier. */
int carrier_fail(struct carrier *c, int err, struct err *e);

const char *carrier_name(const struct carrier *c);

#endif /* MLCCD_CARRIER_H */
