// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/json.h"
#include "../common/sysroot.h"
#include "fields.h"
#include "state.h"

#define STATE_VERSION	1
#define STATE_MAX	16384

struct job *job_new(const char *cgroup)
{
	size_t n = strlen(cgroup) + 1;
	struct job *job = calloc(1, sizeof(*job) + n);

	if (job)
		memcpy(job->cgroup, cgroup, n);
	return job;
}

int state_open(const char *dir, struct err *e)
{
	int fd;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return fail(e, -errno, "%s: %s", dir, strerror(errno));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* that of another user, whom root in a container may lack the right to override */
	if (fd < 0 && errno == EACCES && !lchown(dir, geteuid(), -1))
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fail(e, -errno, "%s: %s", dir, strerror(errno));
	return fd;
}

/* What is not a file of its own, under this name alone, is nobody's to take over. */
static int give_files(DIR *list, uid_t uid, gid_t gid)
{
	struct dirent *entry;
	struct stat st;
	int err = 0;

	while (!err && (entry = readdir(list))) {
		int fd = dirfd(list);

		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
		    st.st_nlink != 1)
			continue;
		if (fchownat(fd, entry->d_name, uid, gid, AT_SYMLINK_NOFOLLOW))
			err = -errno;
	}
	return err;
}

/* Nobody else adds to it meanwhile: it is ours until all of it is his. */
int state_give(int dir, uid_t uid, gid_t gid, struct err *e)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list)
		return fail(e, -errno, "the jobs' files: %s", strerror(errno));
	if (fchown(dir, geteuid(), -1))
		err = -errno;
	if (!err)
		err = give_files(list, uid, gid);
	if (!err && fchown(dir, uid, gid))
		err = -errno;
	closedir(list);
	return err ? fail(e, err, "the jobs' files: %s", strerror(-err)) : 0;
}

static struct json_object *counters_to_json(const struct job *job)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < JOB_COUNTERS; i++) {
		json_object_array_add(list, json_object_new_int64(job->counters[i].seen));
		json_object_array_add(list, json_object_new_int64(job->counters[i].lost));
	}
	return list;
}

static void counters_from_json(struct json_object *o, struct job *job)
{
	struct json_object *list;

	if (!json_object_object_get_ex(o, "counters", &list) ||
	    !json_object_is_type(list, json_type_array))
		return;
	for (int i = 0; i < JOB_COUNTERS; i++) {
		uint64_t *both[] = { &job->counters[i].seen, &job->counters[i].lost };

		for (int k = 0; k < 2; k++)
			*both[k] = json_object_get_int64(json_object_array_get_idx(list, 2 * i + k));
	}
}

static struct json_object *state_to_json(const struct job *job)
{
	struct json_object *o = json_object_new_object();

	put_u64(o, "version", STATE_VERSION);
	put_u64(o, "id", job->conf.id);
	put_u64(o, "uid", job->uid);
	put_u64(o, "owner_uid", job->owner_uid);
	put_u64(o, "owner_gid", job->owner_gid);
	put_string(o, "name", job->conf.name);
	put_string(o, "profile", job->conf.profile);
	put_string(o, "class", job->conf.job_class);
	put_u64(o, "phase_bytes", job->conf.phase_bytes);
	put_u64(o, "period_us", job->period_us);
	put_u64(o, "classes", job->classes);
	put_string(o, "skip", job->skip);
	put_u64(o, "plan_period_us", job->plan.period_us);
	put_u64(o, "plan_offset_us", job->plan.offset_us);
	put_u64(o, "plan_lead_us", job->plan.lead_us);
	put_u64(o, "plan_dscp", job->plan.dscp);
	put_string(o, "cgroup", job->cgroup);
	put_u64(o, "cgroup_id", job->cgroup_id);
	json_object_object_add(o, "counters", counters_to_json(job));
	return o;
}

int state_write(int dir, const struct job *job, struct err *e)
{
	struct json_object *o = state_to_json(job);
	char name[16];
	int err;

	snprintf(name, sizeof(name), "%u", job->conf.id);
	err = rundir_replace(dir, name, json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
			     false);
	json_object_put(o);
	return err ? fail(e, err, "cannot write the job's file: %s", strerror(-err)) : 0;
}

void state_remove(int dir, uint32_t id)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", id);
	unlinkat(dir, name, 0);
}

static struct job *state_from_json(struct json_object *o, uint32_t id)
{
	struct job *job;

	if (!json_object_is_type(o, json_type_object) || get_u64(o, "version") != STATE_VERSION ||
	    get_u64(o, "id") != id)
		return NULL;
	job = job_new(get_string(o, "cgroup"));
	if (!job)
		return NULL;
	job->conf.id = id;
	job->conf.phase_bytes = get_u64(o, "phase_bytes");
	snprintf(job->conf.name, MLCC_NAME_LEN, "%s", get_string(o, "name"));
	snprintf(job->conf.profile, MLCC_NAME_LEN, "%s", get_string(o, "profile"));
	/* a file of a release that knew no classes has none */
	snprintf(job->conf.job_class, sizeof(job->conf.job_class), "%s",
		 field_given(o, "class") ? get_string(o, "class") : "training");
	job->uid = get_u64(o, "uid");
	job->owner_uid = get_u64(o, "owner_uid");
	job->owner_gid = get_u64(o, "owner_gid");
	job->period_us = get_u64(o, "period_us");
	job->classes = get_u64(o, "classes");
	snprintf(job->skip, sizeof(job->skip), "%s", get_string(o, "skip"));
	job->plan.period_us = get_u64(o, "plan_period_us");
	job->plan.offset_us = get_u64(o, "plan_offset_us");
	job->plan.lead_us = get_u64(o, "plan_lead_us");
	job->plan.dscp = get_u64(o, "plan_dscp");
	job->cgroup_id = get_u64(o, "cgroup_id");
	counters_from_json(o, job);
	return job;
}

static struct job *state_read(int dir, const char *name, uint32_t id)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[STATE_MAX + 1];
	struct json_object *o;
	struct job *job;
	ssize_t n = fd < 0 ? -1 : read(fd, text, STATE_MAX);

	if (n <= 0)
		return NULL;
	text[n] = '\0';
	o = json_tokener_parse(text);
	job = o ? state_from_json(o, id) : NULL;
	json_object_put(o);
	return job;
}

int state_each(int dir, void (*each)(void *arg, struct job *job), void *arg)
{
	struct dirent *entry;
	struct job *job;
	DIR *list;
	int fd;

	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list)
		return -errno;
	while ((entry = readdir(list))) {
		char *end;
		unsigned long id = strtoul(entry->d_name, &end, 10);

		/* what a killed daemon has not got to rename */
		if (*entry->d_name == '.' && strstr(entry->d_name, ".new"))
			unlinkat(dir, entry->d_name, 0);
		if (*end || !id || id >= JOB_IDS)
			continue;
		job = state_read(dir, entry->d_name, id);
		if (job)
			each(arg, job);
		else
			note(4, "the file of job %lu cannot be read; it is left as it is", id);
	}
	closedir(list);
	return 0;
}
