/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The carrier and the tagger, which the keeper has (keep.h), and which may come and go. */
#ifndef MLCCD_CARRIER_H
#define MLCCD_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/err.h"
#include "../libmlcc/libmlcc.h"

/* As the keeper has said last. */
struct carrier {
	enum mlcc_carrier kind;		/* MLCC_CARRIER_ANY: none is loaded */
	bool tagger;
};

/* Opens what is not open.  -ENODEV with the reason in @e. */
int carrier_need(struct carrier *c, struct err *e);
int tagger_need(struct carrier *c, struct err *e);

/*
 * Opens the carrier anew: one that was unloaded and loaded again is another. Does what could not
 * be done when it was wanted.
 */
void carrier_refresh(struct carrier *c);

static inline bool carrier_is_there(const struct carrier *c)
{
	return c->kind != MLCC_CARRIER_ANY;
}

const char *carrier_name(const struct carrier *c);

/* What libmlcc.h says of those of that name.  -ENODEV: there is no carrier any more. */
int carrier_job_set(struct carrier *c, const struct mlcc_job_conf *conf, bool create,
		    struct err *e);
int carrier_job_del(struct carrier *c, uint32_t id);
int carrier_job_get(struct carrier *c, uint32_t id, struct mlcc_job_info *info);
int carrier_job_each(struct carrier *c, int (*each)(const struct mlcc_job_info *info, void *arg),
		     void *arg);
/* Of as many as a list has at most (keep.h), in one question. */
int carrier_progress(struct carrier *c, const uint32_t *ids, uint32_t count,
		     struct mlcc_job_progress *progress);
/* And how many flows have a carrier that was unloaded, also with -ENODEV; -1: not to be seen. */
int carrier_job_look(struct carrier *c, uint32_t id, struct mlcc_job_info *info, int *orphans);
/* Whether somebody else's policy rule is about the mark of a job of that id. */
bool carrier_mark_taken(struct carrier *c, uint32_t id);
int carrier_phase_start(struct carrier *c, uint32_t id, uint64_t bytes, struct err *e);
int carrier_phase_end(struct carrier *c, uint32_t id, struct err *e);
int carrier_profile_get(struct carrier *c, const char *name, struct mlcc_profile_conf *p,
			struct err *e);
int carrier_profile_set(struct carrier *c, const struct mlcc_profile_conf *p, struct err *e);
int carrier_profile_each(struct carrier *c,
			 int (*each)(const struct mlcc_profile_conf *p, void *arg), void *arg,
			 struct err *e);

/*
 * Tags the cgroup at @path below the mount, if it is @cgroup_id still, or takes its tag away if it
 * is @job's: kept.h.
 */
int carrier_tag(struct carrier *c, const char *path, uint64_t cgroup_id,
		const struct mlcc_tag_conf *conf, struct err *e);
void carrier_untag(struct carrier *c, uint64_t cgroup_id, uint32_t job);
/* Takes the tagger out of the kernel, if it is there. */
int carrier_unload(struct carrier *c, struct err *e);

#endif /* MLCCD_CARRIER_H */
