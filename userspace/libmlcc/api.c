// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
/* Picks the carrier, checks what both would have to check, and calls it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "../../include/mlcc/class.h"
#include "../../include/mlcc/rule.h"
#include "../../include/mlcc/uapi/mlcc_netlink.h"

/* the module first: who loads it means it */
static const struct mlcc_backend *const backends[] = {
#ifndef MLCC_WITHOUT_NETLINK		/* mlcc-bpf is built where there is no libmnl */
	&mlcc_backend_netlink,
#endif
	&mlcc_backend_bpf,
};

#define BACKENDS (sizeof(backends) / sizeof(*backends))

/* programs outside of this tree have libmlcc.h alone */
_Static_assert(MLCC_NAME_LEN == MLCC_JOB_NAME_MAX + 1, "names have one length");
_Static_assert(MLCC_PHASE_BYTES_LIMIT == MLCC_PHASE_BYTES_MAX, "phases have one limit");

static __thread char open_error[MLCC_ERROR_LEN] = "no error";

const char *mlcc_error(const struct mlcc *m)
{
	return m ? m->error : open_error;
}

enum mlcc_carrier mlcc_carrier_of(const struct mlcc *m)
{
	return m->be->carrier;
}

const char *mlcc_carrier_name(enum mlcc_carrier c)
{
	static const char *const names[] = { "any", "module", "bpf" };

	return c < sizeof(names) / sizeof(*names) ? names[c] : "unknown";
}

/* The first of the carriers wanted that is loaded; -ENODEV: none.  Another error is final. */
static int api_carrier_open(struct mlcc *m, enum mlcc_carrier wanted)
{
	int err = mlcc_fail(m->error, -ENODEV, "the carrier %s is not in this build of libmlcc",
			    mlcc_carrier_name(wanted));

	for (size_t i = 0; i < BACKENDS && err == -ENODEV; i++) {
		if (wanted != MLCC_CARRIER_ANY && wanted != backends[i]->carrier)
			continue;
		m->be = backends[i];
		err = m->be->open(m);
	}
	if (err == -ENODEV && wanted == MLCC_CARRIER_ANY)
		mlcc_fail(m->error, err,
			  "no carrier is loaded: 'modprobe tcp_mlcc' or 'mlcc-bpf load'");
	return err;
}

int mlcc_open(struct mlcc **mp, enum mlcc_carrier wanted)
{
	struct mlcc *m = calloc(1, sizeof(*m));
	int err = -ENOMEM;

	*mp = NULL;
	if (m) {
		strcpy(m->error, "no error");
		err = api_carrier_open(m, wanted);
	}
	if (!err) {
		*mp = m;
		return 0;
	}
	snprintf(open_error, sizeof(open_error), "%s", m ? m->error : "no memory");
	free(m);
	return err;
}

bool mlcc_is_current(const struct mlcc *m)
{
	return m->be->is_current && m->be->is_current(m);
}

void mlcc_close(struct mlcc *m)
{
	if (!m)
		return;
	m->be->close(m);
	free(m);
}

static int check_id(struct mlcc *m, uint32_t id)
{
	if (id >= 1 && id <= MLCC_JOB_ID_MAX)
		return 0;
	return mlcc_fail(m->error, -EINVAL, "job id %u: from 1 to %u", id, MLCC_JOB_ID_MAX);
}

/* "" or 1 .. MLCC_NAME_LEN - 1 of the characters that are allowed. */
static int api_check_name(struct mlcc *m, const char *what, const char name[MLCC_NAME_LEN])
{
	size_t len = strnlen(name, MLCC_NAME_LEN);

	if (len < MLCC_NAME_LEN && strspn(name, MLCC_NAME_CHARS) == len)
		return 0;
	return mlcc_fail(m->error, -EINVAL, "%s: at most %d letters, digits and ._:/@+-", what,
			 MLCC_NAME_LEN - 1);
}

static int check_bytes(struct mlcc *m, uint64_t bytes)
{
	if (bytes <= MLCC_PHASE_BYTES_LIMIT)
		return 0;
	return mlcc_fail(m->error, -ERANGE, "phase bytes %llu: at most %llu",
			 (unsigned long long)bytes, MLCC_PHASE_BYTES_LIMIT);
}

int mlcc_class_find(const char job_class[16])
{
	static const char *const names[] = MLCC_CLASS_NAMES;

	for (int i = 0; i < MLCC_CLASS_COUNT; i++)
		if (!strncmp(job_class, names[i], 16))
			return i;
	return *job_class ? -EINVAL : MLCC_CLASS_TRAINING;
}

/* Phases are training's only. */
static int check_class(struct mlcc *m, const struct mlcc_job_conf *conf)
{
	int class = mlcc_class_find(conf->job_class);

	if (class < 0)
		return mlcc_fail(m->error, -EINVAL, "class: " MLCC_CLASS_ALLOWED);
	if (class != MLCC_CLASS_TRAINING && conf->phase_bytes)
		return mlcc_fail(m->error, -EINVAL, "class %s has no phases, so no phase bytes",
				 conf->job_class);
	return 0;
}

static int check_job(struct mlcc *m, const struct mlcc_job_conf *conf)
{
	int err = check_id(m, conf->id);

	err = err ? err : api_check_name(m, "job name", conf->name);
	err = err ? err : api_check_name(m, "profile", conf->profile);
	err = err ? err : check_bytes(m, conf->phase_bytes);
	return err ? err : check_class(m, conf);
}

static int api_check_range(struct mlcc *m, const char *what, uint32_t v, uint32_t min, uint32_t max)
{
	if (v >= min && v <= max)
		return 0;
	return mlcc_fail(m->error, -ERANGE, "%s %u: from %u to %u", what, v, min, max);
}

static int check_word(struct mlcc *m, const char *what, const char word[16], const char *one,
		      const char *other)
{
	if (!strncmp(word, one, 16) || !strncmp(word, other, 16))
		return 0;
	return mlcc_fail(m->error, -EINVAL, "%s: %s or %s", what, one, other);
}

static int check_profile(struct mlcc *m, const struct mlcc_profile_conf *c)
{
	int err = api_check_name(m, "profile", c->name);

	err = err ? err : api_check_range(m, "floor", c->floor, MLCC_GROW_MIN, MLCC_FLOOR_MAX);
	err = err ? err : api_check_range(m, "slope", c->slope, 0, MLCC_SLOPE_MAX);
	err = err ? err : api_check_range(m, "hold", c->hold, 0, MLCC_HOLD_MAX);
	err = err ? err : api_check_range(m, "shape", c->shape, 1, MLCC_SHAPE_MAX);
	err = err ? err : check_word(m, "base", c->base, "reno", "cubic");
	return err ? err : check_word(m, "restart", c->restart, "base", "queue");
}

int mlcc_job_set(struct mlcc *m, const struct mlcc_job_conf *conf, bool create)
{
	int err = check_job(m, conf);

	return err ? err : m->be->job_set(m, conf, create);
}

int mlcc_job_del(struct mlcc *m, uint32_t id)
{
	int err = check_id(m, id);

	return err ? err : m->be->job_del(m, id);
}

int mlcc_job_get(struct mlcc *m, uint32_t id, struct mlcc_job_info *info)
{
	int err = check_id(m, id);

	return err ? err : m->be->job_get(m, id, info);
}

int mlcc_job_progress(struct mlcc *m, uint32_t id, struct mlcc_job_progress *progress)
{
	struct mlcc_job_info info;
	int err = check_id(m, id);

	if (!err && m->be->job_progress)
		return m->be->job_progress(m, id, progress);
	if (!err)
		err = m->be->job_get(m, id, &info);
	if (!err)
		*progress = (struct mlcc_job_progress){
			info.neutral, info.phases, info.progress, info.d_sent
		};
	return err;
}

int mlcc_job_each(struct mlcc *m, int (*each)(const struct mlcc_job_info *info, void *arg),
		  void *arg)
{
	return m->be->job_each(m, each, arg);
}

int mlcc_phase_start(struct mlcc *m, uint32_t id, uint64_t bytes)
{
	int err = check_id(m, id);

	err = err ? err : check_bytes(m, bytes);
	return err ? err : m->be->phase_start(m, id, bytes);
}

int mlcc_phase_end(struct mlcc *m, uint32_t id)
{
	int err = check_id(m, id);

	return err ? err : m->be->phase_end(m, id);
}

int mlcc_job_hear(struct mlcc *m, const struct mlcc_answer_conf *answer)
{
	int err = check_id(m, answer->id);

	if (!err && !m->be->job_hear)
		err = mlcc_fail(m->error, -EOPNOTSUPP,
				"the %s carrier has no flows over RDMA, which alone have a leader",
				mlcc_carrier_name(m->be->carrier));
	return err ? err : m->be->job_hear(m, answer);
}

int mlcc_profile_get(struct mlcc *m, const char *name, struct mlcc_profile_conf *conf)
{
	return m->be->profile_get(m, name, conf);
}

int mlcc_profile_each(struct mlcc *m, int (*each)(const struct mlcc_profile_conf *conf, void *arg),
		      void *arg)
{
	return m->be->profile_each(m, each, arg);
}

int mlcc_profile_set(struct mlcc *m, const struct mlcc_profile_conf *conf)
{
	int err = check_profile(m, conf);

	return err ? err : m->be->profile_set(m, conf);
}
