/* SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later */
/* What the parts of libmlcc share: errors, the handle, a table of operations for each carrier. */
#ifndef LIBMLCC_INTERNAL_H
#define LIBMLCC_INTERNAL_H

#include <stdarg.h>
#include <stdio.h>

#include "libmlcc.h"

/* Notes what was wrong, and returns @err (a negative error number). */
static inline int __attribute__((__format__(__printf__, 3, 4)))
mlcc_fail(char error[MLCC_ERROR_LEN], int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, MLCC_ERROR_LEN, fmt, ap);
	va_end(ap);
	return err;
}

/* patience.c */
#define MLCC_FOR_EVER	(~0U)

/*
 * flock(@fd, @how), for @ms at most, or as the thread has said (mlcc_patience()).  -EAGAIN: not within
 * that time; then those that the thread tries in the next second do not wait.
 */
int mlcc_lock_wait(int fd, int how, unsigned int ms);

/*
 * All return 0 or a negative error number and leave a line in m->error.  api.c has checked ids, names, profiles' limits and phase bytes before it calls them.
 */
struct mlcc_backend {
	enum mlcc_carrier carrier;
	int (*open)(struct mlcc *m);		/* -ENODEV: not loaded */
	void (*close)(struct mlcc *m);
	bool (*is_current)(const struct mlcc *m);	/* or NULL: that takes as long */
	int (*job_set)(struct mlcc *m, const struct mlcc_job_conf *conf, bool create);
	int (*job_del)(struct mlcc *m, uint32_t id);
	int (*job_get)(struct mlcc *m, uint32_t id, struct mlcc_job_info *info);
	/* or NULL */
	int (*job_progress)(struct mlcc *m, uint32_t id, struct mlcc_job_progress *progress);
	int (*job_each)(struct mlcc *m, int (*each)(const struct mlcc_job_info *info, void *arg),
			void *arg);
	int (*phase_start)(struct mlcc *m, uint32_t id, uint64_t bytes);
	int (*phase_end)(struct mlcc *m, uint32_t id);
	/* or NULL */
	int (*job_hear)(struct mlcc *m, const struct mlcc_answer_conf *answer);
	int (*profile_get)(struct mlcc *m, const char *name, struct mlcc_profile_conf *conf);
	int (*profile_each)(struct mlcc *m,
			    int (*each)(const struct mlcc_profile_conf *conf, void *arg),
			    void *arg);
	int (*profile_set)(struct mlcc *m, const struct mlcc_profile_conf *conf);
};

struct mlcc {
	const struct mlcc_backend *be;
	char error[MLCC_ERROR_LEN];
	void *priv;				/* the backend's */
};

/* Which of enum mlcc_class it is, training for ""; -EINVAL: none of them. */
int mlcc_class_find(const char job_class[16]);

extern const struct mlcc_backend mlcc_backend_bpf, mlcc_backend_netlink;

#endif /* LIBMLCC_INTERNAL_H */
