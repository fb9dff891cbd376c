// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
/*
 * A carrier and a tagger that are nothing but memory: what the tests of mlccd run against where no
 * kernel is to be changed.  Linked instead of libmlcc's backends, never installed.
 *
 * MLCC_FAKE names a file that plays the kernel: what is in it outlives the process, as pinned maps
 * do.  Without it all is gone at exit.  With MLCC_FAKE_GONE naming a file that exists, no carrier
 * is loaded; with MLCC_FAKE_NOTAG, tagging fails.  What changes something wants the lock of the file
 * that MLCC_FAKE_LOCK names, and a walk over sockets takes MLCC_FAKE_WALK_MS.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../include/mlcc/profiles.h"
#include "../../include/mlcc/uapi/mlcc_netlink.h"
#include "../../include/mlcc/uapi/mlcc_skip.h"
#include "../../userspace/libmlcc/internal.h"

#define FAKE_JOBS	(MLCC_JOB_ID_MAX + 1)
#define FAKE_TAGS	16384

/* tests/fake_carrier.py writes jobs into it */
struct fake {
	struct mlcc_job_info jobs[FAKE_JOBS];		/* conf.id 0: free */
	struct mlcc_answer_conf heard[FAKE_JOBS];	/* the last one of each */
	uint32_t made;
	struct mlcc_profile_conf profiles[MLCC_PROFILE_COUNT];
	struct mlcc_tag_info tags[FAKE_TAGS];		/* conf.job 0: free */
};

struct mlcc_tagger {
	struct fake *f;
	char error[MLCC_ERROR_LEN];
};

static void make_profiles(struct mlcc_profile_conf *to)
{
	static const struct mlcc_profile table[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = MLCC_PROFILE_NAMES;

	for (int i = 0; i < MLCC_PROFILE_COUNT; i++) {
		to[i] = (struct mlcc_profile_conf){
			.floor = table[i].floor, .slope = table[i].slope, .hold = table[i].hold,
			.shape = table[i].shape, .is_default = !i,
		};
		strcpy(to[i].name, names[i]);
		strcpy(to[i].base, table[i].base == MLCC_BASE_CUBIC ? "cubic" : "reno");
		strcpy(to[i].restart, table[i].restart == MLCC_RESTART_QUEUE ? "queue" : "base");
	}
}

static struct fake *fake_map(void)
{
	const char *path = getenv("MLCC_FAKE");
	static struct fake *mem;
	int fd = -1;

	if (mem)
		return mem;
	if (path) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, sizeof(*mem)))
			return NULL;
	}
	mem = mmap(NULL, sizeof(*mem), PROT_READ | PROT_WRITE,
		   path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (fd >= 0)
		close(fd);
	if (mem == MAP_FAILED)
		return mem = NULL;
	if (!mem->made)
		make_profiles(mem->profiles);
	mem->made = 1;
	return mem;
}

static bool fake_gone(void)
{
	const char *path = getenv("MLCC_FAKE_GONE");

	return path && !access(path, F_OK);
}

/* As the pins' lock, which nobody needs here for longer: 0, or -EAGAIN. */
static int fake_lock(char error[MLCC_ERROR_LEN])
{
	const char *path = getenv("MLCC_FAKE_LOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1, err = 0;

	if (fd < 0)
		return 0;
	if (mlcc_lock_wait(fd, LOCK_EX, MLCC_FOR_EVER))
		err = mlcc_fail(error, -EAGAIN, "somebody is changing the carrier: try again");
	close(fd);
	return err;
}

static int fake_walk(void)
{
	const char *ms = getenv("MLCC_FAKE_WALK_MS");

	usleep(ms ? atoi(ms) * 1000 : 0);
	return 0;
}

static int fake_job(struct mlcc *m, uint32_t id, struct mlcc_job_info **job)
{
	struct fake *f = m->priv;

	if (fake_gone())
		return mlcc_fail(m->error, -ENODEV, "the carrier is not loaded any more");
	if (!f->jobs[id].conf.id)
		return mlcc_fail(m->error, -ENOENT, "no job %u", id);
	*job = &f->jobs[id];
	return 0;
}

static struct mlcc_profile_conf *fake_profile(struct mlcc *m, const char *name)
{
	struct fake *f = m->priv;

	for (int i = 0; i < MLCC_PROFILE_COUNT; i++)
		if (!strcmp(f->profiles[i].name, name))
			return &f->profiles[i];
	mlcc_fail(m->error, -ENOENT, "no profile '%s': interleave, hotnets22, mltcp", name);
	return NULL;
}

static int fake_open(struct mlcc *m)
{
	m->priv = fake_map();
	if (fake_gone() || !m->priv)
		return mlcc_fail(m->error, -ENODEV, "no carrier is loaded");
	return 0;
}

static void fake_close(struct mlcc *m)
{
}

static bool fake_is_current(const struct mlcc *m)
{
	return !fake_gone();
}

static int fake_job_set(struct mlcc *m, const struct mlcc_job_conf *conf, bool create)
{
	struct fake *f = m->priv;
	struct mlcc_job_info *job = &f->jobs[conf->id];
	int err = fake_lock(m->error) ? : fake_job(m, conf->id, &job);

	if (!err && create)
		return mlcc_fail(m->error, -EEXIST, "there is a job %u", conf->id);
	if (err && err != -ENOENT)
		return err;
	if (conf->profile[0] && !fake_profile(m, conf->profile))
		return -EINVAL;
	job->conf = *conf;
	if (!conf->job_class[0])
		strcpy(job->conf.job_class, "training");
	job->neutral = !conf->phase_bytes;
	job->d_phase = conf->phase_bytes;
	return 0;
}

static int fake_job_del(struct mlcc *m, uint32_t id)
{
	struct mlcc_job_info *job = NULL;
	int err = fake_lock(m->error) ? : fake_job(m, id, &job);

	if (!err)
		memset(job, 0, sizeof(*job));
	return err;
}

static int fake_job_get(struct mlcc *m, uint32_t id, struct mlcc_job_info *info)
{
	struct mlcc_job_info *job = NULL;
	int err = fake_job(m, id, &job);

	if (!err)
		*info = *job;
	return err;
}

static int fake_job_each(struct mlcc *m, int (*each)(const struct mlcc_job_info *info, void *arg),
			 void *arg)
{
	struct fake *f = m->priv;
	int ret = 0;

	if (fake_gone())
		return mlcc_fail(m->error, -ENODEV, "the carrier is not loaded any more");
	for (int i = 1; i < FAKE_JOBS && !ret; i++)
		if (f->jobs[i].conf.id)
			ret = each(&f->jobs[i], arg);
	return ret;
}

static int fake_phase_start(struct mlcc *m, uint32_t id, uint64_t bytes)
{
	struct mlcc_job_info *job = NULL;
	int err = fake_job(m, id, &job);

	if (!err) {
		job->phases++;
		job->hinted = true;
		job->neutral = false;
		job->d_phase = bytes ? bytes : job->d_phase;
	}
	return err;
}

static int fake_phase_end(struct mlcc *m, uint32_t id)
{
	struct mlcc_job_info *job = NULL;
	int err = fake_job(m, id, &job);

	if (!err)
		job->neutral = true;
	return err;
}

static int fake_job_hear(struct mlcc *m, const struct mlcc_answer_conf *answer)
{
	struct fake *f = m->priv;
	struct mlcc_job_info *job = NULL;
	int err = fake_job(m, answer->id, &job);

	if (!err)
		f->heard[answer->id] = *answer;
	return err;
}

static int fake_profile_get(struct mlcc *m, const char *name, struct mlcc_profile_conf *conf)
{
	struct mlcc_profile_conf *p = fake_profile(m, name);

	if (!p)
		return -ENOENT;
	*conf = *p;
	return 0;
}

static int fake_profile_each(struct mlcc *m,
			     int (*each)(const struct mlcc_profile_conf *conf, void *arg),
			     void *arg)
{
	struct fake *f = m->priv;
	int ret = 0;

	for (int i = 0; i < MLCC_PROFILE_COUNT && !ret; i++)
		ret = each(&f->profiles[i], arg);
	return ret;
}

static int fake_profile_set(struct mlcc *m, const struct mlcc_profile_conf *conf)
{
	struct fake *f = m->priv;
	struct mlcc_profile_conf *p = fake_profile(m, conf->name);

	if (!p)
		return -ENOENT;
	for (int i = 0; conf->is_default && i < MLCC_PROFILE_COUNT; i++)
		f->profiles[i].is_default = false;
	*p = *conf;
	return 0;
}

/* In the place of libmlcc's own, whose api.c has checked what it is given. */
const struct mlcc_backend mlcc_backend_bpf = {
	.carrier = MLCC_CARRIER_BPF,
	.open = fake_open, .close = fake_close, .is_current = fake_is_current,
	.job_set = fake_job_set, .job_del = fake_job_del,
	.job_get = fake_job_get, .job_each = fake_job_each,
	.phase_start = fake_phase_start, .phase_end = fake_phase_end,
	.job_hear = fake_job_hear,
	.profile_get = fake_profile_get, .profile_each = fake_profile_each,
	.profile_set = fake_profile_set,
};

/* Carriers that were unloaded */

int mlcc_orphans_open(struct mlcc_orphans **o)
{
	*o = NULL;
	return -EPERM;
}

void mlcc_orphans_close(struct mlcc_orphans *o)
{
}

uint32_t mlcc_orphans_of(const struct mlcc_orphans *o, uint32_t id)
{
	return 0;
}

/* The tagger */

int mlcc_tagger_open_only(struct mlcc_tagger **t, uint32_t mark_mask, bool load)
{
	*t = calloc(1, sizeof(**t));
	if (!*t)
		return -ENOMEM;
	(*t)->f = getenv("MLCC_FAKE_NOTAGGER") ? NULL : fake_map();
	return (*t)->f ? 0 : -ENODEV;
}

int mlcc_tagger_mend(struct mlcc_tagger *t)
{
	return 0;
}

void mlcc_tagger_close(struct mlcc_tagger *t)
{
	free(t);
}

const char *mlcc_tagger_error(const struct mlcc_tagger *t)
{
	return t ? t->error : "no tagger";
}

static int tag_fail(struct mlcc_tagger *t, int err, const char *why)
{
	snprintf(t->error, sizeof(t->error), "%s", why);
	return err;
}

/* The tag of that cgroup, or a free place (0). */
static struct mlcc_tag_info *fake_tag(struct fake *f, uint64_t cgroup_id)
{
	for (int i = 0; i < FAKE_TAGS; i++)
		if (f->tags[i].cgroup_id == cgroup_id)
			return &f->tags[i];
	return NULL;
}

int mlcc_tag_set_only(struct mlcc_tagger *t, const char *path, const struct mlcc_tag_conf *conf,
		      uint32_t *change)
{
	struct stat st = { .st_ino = MLCC_TAG_OTHER };
	struct mlcc_tag_info *tag;
	int err = fake_lock(t->error);

	*change = 1;
	if (err)
		return err;
	if (getenv("MLCC_FAKE_NOTAG"))
		return tag_fail(t, -EPERM, "the kernel refused the tagger");
	if (path && (stat(path, &st) || !S_ISDIR(st.st_mode)))
		return tag_fail(t, -ENOENT, "no such cgroup");
	tag = fake_tag(t->f, st.st_ino);
	if (!tag)
		tag = fake_tag(t->f, 0);
	if (!tag)
		return tag_fail(t, -ENOSPC, "too many tags");
	tag->cgroup_id = st.st_ino;
	tag->conf = *conf;
	return 0;
}

int mlcc_tag_forget(struct mlcc_tagger *t, uint64_t cgroup_id, uint32_t job)
{
	struct mlcc_tag_info *tag = fake_tag(t->f, cgroup_id);
	int err = fake_lock(t->error);

	if (err)
		return err;
	if (!tag || !cgroup_id || (job && tag->conf.job != job))
		return tag_fail(t, -ENOENT, "that cgroup has no tag");
	memset(tag, 0, sizeof(*tag));
	return 0;
}

/* There are no sockets. */
int mlcc_tagger_follow(void)
{
	return fake_walk();
}

int mlcc_tag_follow(const char *path, uint32_t change)
{
	return fake_walk();
}

int mlcc_tagger_unload(struct mlcc_tagger *t)
{
	memset(t->f->tags, 0, sizeof(t->f->tags));
	return 0;
}
