// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The operations of the control socket: Documentation/mlccd-protocol.md.
 *
 * Each reads all of its fields before it changes anything.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include "../../include/mlcc/class.h"
#include "../../include/mlcc/rule.h"
#include "../common/auto.h"
#include "../common/clock.h"
#include "../common/json.h"
#include "fields.h"
#include "plan.h"
#include "request.h"

#define PROTOCOL	1
#define SHOW_MAX	48		/* jobs in one reply, */
#define REASONS		64		/* why there is no job, as was logged last, */
#define REASONS_BURST	20		/* at one time; then one in a second */
#define LOOK_US		5000		/* of the processor; after more, */
#define LOOK_PART	20		/* one part of so many */
#define ENTRIES		1024		/* of a cgroup's folder that are looked at */
#define SHOW_BYTES	32768		/* or as many as go beyond this; one path has 24 KiB at most */

struct op {
	const char *name;
	int (*run)(struct request *r, struct json_object *in, struct json_object *out,
		   struct err *e);
	const char *known;		/* its fields */
	bool admin;
};

struct json_object *reply_error(int code, const char *text)
{
	struct json_object *o = json_object_new_object();
	char line[ERR_LEN];

	snprintf(line, sizeof(line), "%s", text);
	make_printable(line, true);
	put_bool(o, "ok", false);
	put_string(o, "error", line);
	put_string(o, "code", err_name(code));
	return o;
}

/* Jobs */

static struct json_object *job_json(const struct job *job)
{
	struct json_object *o = json_object_new_object();

	put_u64(o, "id", job->conf.id);
	put_string(o, "name", job->conf.name);
	put_u64(o, "uid", job->uid);
	if (job->owner_uid)
		put_u64(o, "owner_uid", job->owner_uid);
	if (job->owner_gid)
		put_u64(o, "owner_gid", job->owner_gid);
	put_string(o, "cgroup", job->cgroup);
	put_string(o, "class", job->conf.job_class);
	put_string(o, "profile", job->conf.profile);
	put_u64(o, "phase_bytes", job->conf.phase_bytes);
	put_u64(o, "period_us", job->period_us);
	put_u64(o, "priority_classes", job->classes);
	put_string(o, "skip", *job->skip ? job->skip : "none");
	if (job->adopted)
		put_bool(o, "adopted", true);
	return o;
}

static void info_json(struct json_object *o, const struct mlcc_job_info *info)
{
	/* the carrier says which profile "the default" is */
	put_string(o, "profile", info->conf.profile);
	put_u64(o, "flows", info->flows);
	put_u64(o, "phases", info->phases);
	put_u64(o, "d_sent_bytes", info->d_sent);
	put_u64(o, "d_phase_bytes", info->d_phase);
	put_u64(o, "d_learnt_bytes", info->d_learnt);
	put_u64(o, "hits", info->hits);
	put_bool(o, "neutral", info->neutral);
	put_bool(o, "hinted", info->hinted);
	put_q16(o, "progress", info->progress);
	put_q16(o, "gain", info->gain);
	put_u64(o, "iteration_us", info->iteration_us);
	put_u64(o, "comm_us", info->comm_us);
	put_u64(o, "best_us", info->best_us);
	put_u64(o, "bytes", info->bytes);
	put_u64(o, "retrans", info->retrans);
	put_u64(o, "ce", info->ce);
	if (info->timeouts)
		put_u64(o, "timeouts", info->timeouts);
}

static bool is_digits(const char *s)
{
	return !s[strspn(s, "0123456789")];
}

/* A unit's name says more than a number, where there is a unit and it fits. */
static void default_name(pid_t pid, char name[MLCC_NAME_LEN])
{
	char *unit = NULL;

	if (name[0])
		return;
	if (sd_pid_get_user_unit(pid, &unit) < 0 && sd_pid_get_unit(pid, &unit) < 0)
		return;
	if (unit && strlen(unit) < MLCC_NAME_LEN && !unit[strspn(unit, MLCC_NAME_CHARS)] &&
	    !is_digits(unit))
		strcpy(name, unit);
	free(unit);
}

/* A number is another process's in another namespace. */
static int may_name_pids(const struct who *who, struct err *e)
{
	char path[PATH_MAX];

	if (who_has_our_pids(who))
		return 0;
	if (who_cgroup(who, path))
		*path = '\0';
	return fail(e, -EINVAL, "pid: process %d, in cgroup '%.200s', has a namespace of its own, whose numbers mean other processes here: use self, or ask from the host",
		    who->pid, path);
}

static int request_has_ended(pid_t pid, struct err *e)
{
	return fail(e, -ESRCH, "process %d has ended", pid);
}

/* One that has ended is taken to have had our namespace. */
static int wanted_cgroup(struct request *r, struct json_object *in, struct job_wanted *w,
			 struct err *e)
{
	int err = field_string(in, "cgroup", w->path, sizeof(w->path), e);

	if (!err && !w->path[0])
		err = fail(e, -EINVAL, "cgroup: a path is wanted");
	if (err || !who_lives(r->who))
		return err;
	/* whoever has thousands of mounts, and copies them meanwhile, has others wait for seconds */
	err = cgroup_seen_by(r->who->pid, r->who->admin, w->path, e);
	return err || who_lives(r->who) ? err : request_has_ended(r->who->pid, e);
}

/* All of it is of one process, if that is there in the end: nobody else has had its number. */
static int path_of_process(struct request *r, pid_t pid, struct job_wanted *w, struct err *e)
{
	AUTO_CLOSE int pidfd = syscall(SYS_pidfd_open, pid, 0);
	const struct who who = { .pidfd = pidfd };
	int err = cgroup_of_pid(pid, pidfd, w->path, e);

	/* where a job cannot be, it takes long to look further */
	if (!err && cgroup_levels(w->path + 1) > CGROUP_LEVELS)
		err = fail(e, -EINVAL, "process %u is more than %d cgroups deep: name one above it",
			   pid, CGROUP_LEVELS);
	if (!err && !strcmp(w->path, "/"))
		err = fail(e, -EINVAL, "process %u is in the root cgroup, which cannot be a job's",
			   pid);
	err = err ? err : cgroup_is_shared(&r->d->cgroups, pid, w->path, e);
	if (!err)
		default_name(pid, w->job.conf.name);
	if (!err && !who_lives(&who))
		err = request_has_ended(pid, e);
	return err;
}

/* One of "cgroup", "pid" and "self" becomes a path. */
static int path_from(struct request *r, struct json_object *in, struct job_wanted *w,
		       struct err *e)
{
	uint32_t pid = r->who->pid;
	bool self = false;
	int err;

	if (field_given(in, "cgroup") + field_given(in, "pid") + field_given(in, "self") > 1)
		return fail(e, -EINVAL, "one of cgroup, pid and self is enough");
	if (field_given(in, "cgroup"))
		return wanted_cgroup(r, in, w, e);
	err = field_u32(in, "pid", 1, INT32_MAX, &pid, e);
	err = err ? err : field_bool(in, "self", &self, e);
	if (err || (!self && !field_given(in, "pid")))
		return err;
	err = self ? 0 : may_name_pids(r->who, e);
	err = err ? err : path_of_process(r, pid, w, e);
	/* the one that has connected, not who has its number now */
	return err || !self || who_lives(r->who) ? err : request_has_ended(pid, e);
}

/* A user may have many processes: what takes long is done for a part of the time. */
static int wanted_path(struct request *r, struct json_object *in, struct job_wanted *w,
		       struct err *e)
{
	clock_t began = clock(), took;
	int err;

	if (now_us() < r->account->looks_us && !r->who->admin)
		return fail(e, -EAGAIN, "processes of this user take long to look through: wait");
	err = path_from(r, in, w, e);
	took = clock() - began;
	if (took > LOOK_US)
		r->account->looks_us = now_us() + LOOK_PART * took;
	return err;
}

static int wanted_skip(struct request *r, struct json_object *in, struct job_wanted *w,
		       struct err *e)
{
	char why[MLCC_ERROR_LEN];
	int err;

	strcpy(w->job.skip, r->d->config.skip);
	err = field_string(in, "skip", w->job.skip, sizeof(w->job.skip), e);
	if (err)
		return err;
	err = mlcc_skip_check(w->job.skip, why);
	return err ? fail(e, err, "%s", why) : 0;
}

/* Only training has phases, which the rule and the period are about. */
static int wanted_class(struct json_object *in, struct job_wanted *w, struct err *e)
{
	static const char *const names[] = MLCC_CLASS_NAMES;
	char name[MLCC_NAME_LEN];
	int err, i = 0;

	strcpy(name, names[MLCC_CLASS_TRAINING]);
	err = field_name(in, "class", name, sizeof(name), e);
	if (err)
		return err;
	while (i < MLCC_CLASS_COUNT && strcmp(name, names[i]))
		i++;
	if (i == MLCC_CLASS_COUNT)
		return fail(e, -EINVAL, "class: " MLCC_CLASS_ALLOWED);
	strcpy(w->job.conf.job_class, names[i]);
	if (i != MLCC_CLASS_TRAINING && (field_given(in, "phase_bytes") ||
					 field_given(in, "period_us")))
		return fail(e, -EINVAL, "class %s has no phases: neither phase_bytes nor period_us",
			    names[i]);
	return 0;
}

/* What has no phases has a DSCP wherever users may: that it says its class is enough. */
static uint32_t default_classes(const struct config *c, const struct job_wanted *w)
{
	bool has = *w->path && strcmp(w->job.conf.job_class, "training");

	return has && c->priority_classes > 1 ? c->priority_classes : 0;
}

/* Who names a slice of services gets all of them, which is seldom what was meant. */
static unsigned int services_in(const struct mlccd *d, const char *cgroup)
{
	char path[2 * PATH_MAX];
	unsigned int count = 0;
	struct dirent *entry;
	const char *dot;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", d->cgroups.mount, cgroup);
	dir = *cgroup ? opendir(path) : NULL;
	/* a user may make many more below what is his */
	for (int left = ENTRIES; left && dir && (entry = readdir(dir)); left--) {
		dot = strrchr(entry->d_name, '.');
		count += dot && !strcmp(dot, ".service");
	}
	if (dir)
		closedir(dir);
	return count;
}

static void warn_of(struct mlccd *d, const struct job *job, bool looked, struct json_object *out)
{
	unsigned int count = services_in(d, job->cgroup);
	char text[128];

	if (!looked && carrier_mark_taken(&d->carrier, job->conf.id))
		put_string(out, "warning", "a policy rule is about its mark: it may take the job's connections elsewhere");
	if (count < 2)
		return;
	snprintf(text, sizeof(text), "its cgroup has %u services, all of which are the job now",
		 count);
	put_string(out, "warning", text);
}

static int request_set_job(struct request *r, struct json_object *in, struct json_object *out,
			   struct err *e)
{
	struct job_wanted w = { };
	uint64_t period = 0;
	struct job *set;
	int err;

	err = field_u32(in, "id", 1, JOB_IDS - 1, &w.job.conf.id, e);
	err = err ? err : field_name(in, "name", w.job.conf.name, MLCC_NAME_LEN, e);
	err = err ? err : field_name(in, "profile", w.job.conf.profile, MLCC_NAME_LEN, e);
	err = err ? err : field_number(in, "phase_bytes", 1, MLCC_PHASE_BYTES_LIMIT,
				       &w.job.conf.phase_bytes, e);
	err = err ? err : field_number(in, "period_us", 1, UINT32_MAX, &period, e);
	err = err ? err : wanted_class(in, &w, e);
	err = err ? err : field_u32(in, "priority_classes", 0, CONFIG_CLASSES, &w.job.classes, e);
	err = err ? err : field_u32(in, "owner_uid", 1, UINT32_MAX - 1, &w.job.owner_uid, e);
	err = err ? err : field_u32(in, "owner_gid", 1, UINT32_MAX - 1, &w.job.owner_gid, e);
	err = err ? err : wanted_skip(r, in, &w, e);
	err = err ? err : field_bool(in, "create", &w.create, e);
	err = err ? err : field_bool(in, "dry_run", &w.dry_run, e);
	err = err ? err : field_bool(in, "limited", &w.limited, e);
	if (!err && w.job.classes == 1)
		err = fail(e, -ERANGE, "priority_classes: 0, or from 2 to %d", CONFIG_CLASSES);
	w.own_name = w.job.conf.name[0];
	if (!err && w.own_name && is_digits(w.job.conf.name))
		err = fail(e, -EINVAL, "name: '%s' would be an id", w.job.conf.name);
	err = err ? err : wanted_path(r, in, &w, e);
	if (err)
		return err;
	if (!field_given(in, "priority_classes"))
		w.job.classes = default_classes(&r->d->config, &w);
	w.job.period_us = period;
	err = jobs_set(&r->d->jobs, r->who, &w, &set, e);
	if (err)
		return err;
	json_object_object_add(out, "job", job_json(set));
	warn_of(r->d, set, w.looked, out);
	if (w.dry_run)
		free(set);
	return 0;
}

/* Whether the reason was not among the last ones that were logged, and there is room for a line. */
static bool is_news(uid_t uid, const char *text)
{
	static uint32_t told[REASONS];
	static unsigned int last;
	static struct bucket lines;
	uint32_t hash = uid;

	while (*text)
		hash = hash * 31 + (unsigned char)*text++;
	for (unsigned int i = 0; i < REASONS; i++)
		if (told[i] == hash)
			return false;
	if (!bucket_take(&lines, 1, REASONS_BURST, now_us(), 1))
		return false;
	told[last++ % REASONS] = hash;
	return true;
}

/* Launchers train on without a job: somebody may look for the reason later. */
static int op_set_job(struct request *r, struct json_object *in, struct json_object *out,
		      struct err *e)
{
	int err = request_set_job(r, in, out, e);

	if (!err || err == -EAGAIN || !is_news(r->who->uid, e->text))
		return err;
	make_printable(e->text, true);
	note(5, "process %d of user %u gets no job: %s", r->who->pid, r->who->uid, e->text);
	return err;
}

static int request_job(struct request *r, struct json_object *in, jobs_right *right,
		       struct job **job, struct err *e)
{
	char name[MLCC_NAME_LEN];
	int err = field_job(in, name, e);

	return err ? err : jobs_find(&r->d->jobs, r->who, right, name, job, e);
}

static int op_del_job(struct request *r, struct json_object *in, struct json_object *out,
		      struct err *e)
{
	bool dry_run = false;
	struct job *job;
	int err;

	err = field_bool(in, "dry_run", &dry_run, e);
	err = err ? err : request_job(r, in, jobs_may, &job, e);
	if (err)
		return err;
	put_u64(out, "id", job->conf.id);
	if (!dry_run)
		jobs_del(&r->d->jobs, job);
	return 0;
}

/* What is not known is left out. */
static void history_json(struct json_object *o, const struct job *job,
			 const struct mlcc_job_info *info)
{
	uint32_t mean = history_mean_us(&job->history), alone;
	const char *from;

	alone = history_alone_us(&job->history, info, job->period_us, &from);
	if (mean)
		put_u64(o, "iteration_mean_us", mean);
	if (!alone)
		return;
	put_u64(o, "alone_us", alone);
	put_string(o, "alone_from", from);
}

/* What the job's processes say that they have sent, for those whose bytes no carrier sees. */
static void ranks_json(struct json_object *o, const struct rings *rings, const struct job *job)
{
	struct ranks ranks;

	rings_ranks(rings, job, &ranks);
	if (!ranks.count)
		return;
	put_u64(o, "ranks", ranks.count);
	if (!ranks.sent_bytes)
		return;
	put_u64(o, "ranks_sent_bytes", ranks.sent_bytes);
	put_u64(o, "ranks_phase_bytes", ranks.phase_bytes);
}

/* Returns how long it is as text: cgroups' paths are chosen by others. */
static size_t show_one(struct request *r, struct job *job, struct json_object *list)
{
	struct json_object *o = job_json(job);
	struct mlcc_job_info info;
	size_t len;
	int orphans;
	bool known;

	if (jobs_is_neutral(&r->d->jobs, job))
		put_bool(o, "measured", true);
	known = !carrier_job_look(&r->d->carrier, job->conf.id, &info, &orphans);
	if (known) {
		jobs_look(&r->d->jobs, job, &info);
		info_json(o, &info);
		history_json(o, job, &info);
	}
	if (orphans >= 0)
		put_u64(o, "orphans", orphans);
	transport_json(&r->d->transport, o, job->conf.id, r->d->carrier.kind,
		       known ? &info : NULL);
	plan_json(&r->d->jobs, &r->d->rings, job, o);
	ranks_json(o, &r->d->rings, job);
	json_object_to_json_string_length(o, JSON_STYLE, &len);
	json_object_array_add(list, o);
	return len;
}

static int op_show(struct request *r, struct json_object *in, struct json_object *out,
		   struct err *e)
{
	struct json_object *list;
	struct err none;
	struct job *job;
	bool self = false;
	uint32_t after = 0, count = 0, id;
	size_t len = 0;
	int err;

	err = field_u32(in, "after", 0, JOB_IDS - 1, &after, e);
	err = err ? err : field_bool(in, "self", &self, e);
	if (!err && self && field_given(in, "job"))
		err = fail(e, -EINVAL, "one of job and self is enough");
	if (err)
		return err;
	carrier_need(&r->d->carrier, &none);
	if (!after && r->who->admin)
		jobs_adopt(&r->d->jobs);
	list = json_object_new_array();
	json_object_object_add(out, "jobs", list);
	if (field_given(in, "job") || self) {
		err = self ? jobs_find_own(&r->d->jobs, r->who, &job, e) :
			     request_job(r, in, jobs_may_hint, &job, e);
		if (!err)
			show_one(r, job, list);
		return err;
	}
	for (id = after + 1; id < JOB_IDS && count < SHOW_MAX && len < SHOW_BYTES; id++) {
		job = r->d->jobs.by_id[id];
		if (!job || !jobs_may_list(r->who, job))
			continue;
		len += show_one(r, job, list);
		count++;
	}
	/* where the next request goes on; none: that was all */
	if (id < JOB_IDS)
		put_u64(out, "after", id - 1);
	return 0;
}

static int op_hint(struct request *r, struct json_object *in, struct json_object *out,
		   struct err *e)
{
	char phase[8] = "";
	uint64_t bytes = 0;
	struct job *job;
	bool start;
	int err;

	err = field_string(in, "phase", phase, sizeof(phase), e);
	start = !strcmp(phase, "start");
	if (!err && !start && strcmp(phase, "end"))
		err = fail(e, -EINVAL, "phase: \"start\" or \"end\" is wanted");
	if (!err && !start && field_given(in, "bytes"))
		err = fail(e, -EINVAL, "bytes belong to the start of a phase");
	err = err ? err : field_number(in, "bytes", 1, MLCC_PHASE_BYTES_LIMIT, &bytes, e);
	err = err ? err : request_job(r, in, jobs_may_hint, &job, e);
	err = err ? err : carrier_need(&r->d->carrier, e);
	if (err)
		return err;
	return start ? carrier_phase_start(&r->d->carrier, job->conf.id, bytes, e) :
		       carrier_phase_end(&r->d->carrier, job->conf.id, e);
}

static int neutral_all(struct request *r, bool neutral, struct err *e)
{
	int err;

	if (!r->who->admin)
		return fail(e, -EPERM, "neutral without a job is for root (CAP_NET_ADMIN)");
	if (*r->neutral ? *r->neutral != NEUTRAL_ALL : r->d->jobs.neutral)
		return fail(e, -EBUSY, "jobs are neutral for one connection");
	err = jobs_neutral_all(&r->d->jobs, neutral, e);
	*r->neutral = neutral ? NEUTRAL_ALL : 0;
	return err;
}

/* As long as the connection is there, at most. */
static int op_neutral(struct request *r, struct json_object *in, struct json_object *out,
		      struct err *e)
{
	bool neutral = true;
	struct job *job;
	int err;

	err = field_bool(in, "neutral", &neutral, e);
	if (!err && !field_given(in, "job"))
		return neutral_all(r, neutral, e);
	err = err ? err : request_job(r, in, jobs_may, &job, e);
	if (err)
		return err;
	if (*r->neutral ? *r->neutral != job->conf.id : job->neutral || r->d->jobs.neutral)
		return fail(e, -EBUSY, "a job is neutral for one connection, and one job or all for each");
	err = jobs_neutral(&r->d->jobs, job, neutral, e);
	if (err != -EINVAL)
		*r->neutral = neutral ? job->conf.id : 0;
	return err;
}

/* Profiles */

static int profile_json(const struct mlcc_profile_conf *p, void *list)
{
	struct json_object *o = json_object_new_object();

	put_string(o, "name", p->name);
	put_q16(o, "floor", p->floor);
	put_q16(o, "slope", p->slope);
	put_q16(o, "hold", p->hold);
	put_u64(o, "shape", p->shape);
	put_string(o, "base", p->base);
	put_string(o, "restart", p->restart);
	put_bool(o, "default", p->is_default);
	json_object_array_add(list, o);
	return 0;
}

static int op_profile_list(struct request *r, struct json_object *in, struct json_object *out,
			   struct err *e)
{
	struct json_object *list;
	int err;

	err = carrier_need(&r->d->carrier, e);
	if (err)
		return err;
	list = json_object_new_array();
	json_object_object_add(out, "profiles", list);
	return carrier_profile_each(&r->d->carrier, profile_json, list, e);
}

static int profile_named(struct request *r, struct json_object *in, struct mlcc_profile_conf *p,
			 struct err *e)
{
	char name[MLCC_NAME_LEN] = "";
	int err;

	err = field_name(in, "name", name, sizeof(name), e);
	if (!err && !name[0])
		err = fail(e, -EINVAL, "name: the profile's is wanted");
	err = err ? err : carrier_need(&r->d->carrier, e);
	return err ? err : carrier_profile_get(&r->d->carrier, name, p, e);
}

static int op_profile_show(struct request *r, struct json_object *in, struct json_object *out,
			   struct err *e)
{
	struct json_object *list = json_object_new_array();
	struct mlcc_profile_conf p;
	int err;

	json_object_object_add(out, "profiles", list);
	err = profile_named(r, in, &p, e);
	if (!err)
		profile_json(&p, list);
	return err;
}

static int request_profile_set(struct request *r, struct json_object *in,
			       struct json_object *out, struct err *e)
{
	struct json_object *list = json_object_new_array();
	struct mlcc_profile_conf p;
	bool dry_run = false;
	int err;

	json_object_object_add(out, "profiles", list);
	err = profile_named(r, in, &p, e);
	err = err ? err : field_q16(in, "floor", MLCC_FLOOR_MAX, &p.floor, e);
	err = err ? err : field_q16(in, "slope", MLCC_SLOPE_MAX, &p.slope, e);
	err = err ? err : field_q16(in, "hold", MLCC_HOLD_MAX, &p.hold, e);
	err = err ? err : field_u32(in, "shape", 1, 4, &p.shape, e);
	err = err ? err : field_name(in, "base", p.base, sizeof(p.base), e);
	err = err ? err : field_name(in, "restart", p.restart, sizeof(p.restart), e);
	err = err ? err : field_bool(in, "default", &p.is_default, e);
	err = err ? err : field_bool(in, "dry_run", &dry_run, e);
	if (err)
		return err;
	if (!dry_run)
		err = carrier_profile_set(&r->d->carrier, &p, e);
	if (err)
		return err;
	profile_json(&p, list);
	return 0;
}

/* The daemon */

static struct json_object *limits_json(const struct config *c)
{
	struct json_object *o = json_object_new_object();
	struct json_object *list = json_object_new_array();

	put_bool(o, "users", c->users);
	put_u64(o, "jobs_per_user", c->jobs_per_user);
	put_u64(o, "rings_per_user", c->rings_per_user);
	put_u64(o, "requests_per_second", c->requests_per_second);
	put_u64(o, "priority_classes", c->priority_classes);
	for (uint32_t i = 0; i < c->profile_count; i++)
		json_object_array_add(list, json_object_new_string(c->profiles[i]));
	json_object_object_add(o, "profiles", list);
	return o;
}

static int op_status(struct request *r, struct json_object *in, struct json_object *out,
		     struct err *e)
{
	struct mlccd *d = r->d;
	const struct rings *rings = &d->rings;
	struct err why;
	int tagger;

	put_string(out, "version", MLCCD_VERSION);
	put_u64(out, "protocol", PROTOCOL);
	if (carrier_need(&d->carrier, &why))
		put_string(out, "carrier_error", why.text);
	put_string(out, "carrier", carrier_name(&d->carrier));
	tagger = tagger_need(&d->carrier, &why);
	if (tagger)
		put_string(out, "tagger_error", why.text);
	put_bool(out, "tagger", !tagger);
	put_string(out, "cgroup_mount", d->cgroups.root < 0 ? "" : d->cgroups.mount);
	put_u64(out, "mark_mask", d->config.mark_mask);
	put_u64(out, "jobs", d->jobs.count);
	put_bool(out, "admin", r->who->admin);
	json_object_object_add(out, "limits", limits_json(&d->config));
	put_u64(out, "requests", d->requests);
	put_u64(out, "requests_refused", d->refused);
	put_u64(out, "requests_limited", d->peers.limited);
	put_u64(out, "peers", d->peers.count);
	put_u64(out, "peers_dropped", d->peers.dropped);
	put_u64(out, "ring_records", rings->records);
	put_u64(out, "ring_records_bad", rings->bad);
	put_u64(out, "ring_records_late", rings->late);
	put_u64(out, "ring_records_limited", rings->limited);
	put_u64(out, "ring_overruns", rings->overruns);
	return 0;
}

static int op_open_ring(struct request *r, struct json_object *in, struct json_object *out,
			struct err *e)
{
	struct job *job = NULL;
	int err = 0;

	if (field_given(in, "job"))
		err = request_job(r, in, jobs_may_hint, &job, e);
	if (!err && *r->ring)
		err = fail(e, -EBUSY, "a connection has one ring, and this one has it already");
	if (!err && !r->with_fds)
		err = fail(e, -EINVAL, "two descriptors are wanted: the memfd and the eventfd");
	if (!err && !r->fds)
		err = -EINPROGRESS;
	if (err)
		return err;
	return ring_open(&r->d->rings, r->who, r->account, r->fds, job ? job->conf.id : 0, r->ring,
			 e);
}

/* Without its jobs or with them: mlccd --unload, which asks for this, deletes them. */
static int request_stop(struct request *r, struct json_object *in, struct json_object *out,
			   struct err *e)
{
	note(5, "ends: process %d asks for it", r->who->pid);
	sd_event_exit(r->d->events, 0);
	return 0;
}

static int op_set_plan(struct request *r, struct json_object *in, struct json_object *out,
		       struct err *e)
{
	return plan_set(&r->d->jobs, r->who, in, out, e);
}

static const struct op ops[] = {
	{ "set-job", op_set_job, " op version id name class profile phase_bytes period_us "
	  "priority_classes skip owner_uid owner_gid create dry_run limited cgroup pid self ", false },
	{ "del-job", op_del_job, " op version job dry_run ", false },
	{ "show", op_show, " op version job self after ", false },
	{ "hint", op_hint, " op version job phase bytes ", false },
	{ "neutral", op_neutral, " op version job neutral ", false },
	{ "profile-list", op_profile_list, " op version ", false },
	{ "profile-show", op_profile_show, " op version name ", false },
	{ "profile-set", request_profile_set, " op version name floor slope hold shape base "
	  "restart default dry_run ", true },
	{ "status", op_status, " op version ", false },
	{ "open-ring", op_open_ring, " op version job ", false },
	{ "set-plan", op_set_plan, " op version jobs dry_run ", false },
	{ "stop", request_stop, " op version ", true },
};

static const struct op *find_op(const char *name)
{
	for (unsigned int i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	return NULL;
}

static int request_dispatch(struct request *r, struct json_object *in, struct json_object *out,
			    struct err *e)
{
	uint64_t version = PROTOCOL;
	const struct op *op;
	char name[20] = "";
	int err;

	err = field_number(in, "version", 0, UINT32_MAX, &version, e);
	err = err ? err : field_name(in, "op", name, sizeof(name), e);
	if (err)
		return err;
	if (version != PROTOCOL)
		return fail(e, -EPROTONOSUPPORT, "version %llu of the protocol: only %d is known",
			    (unsigned long long)version, PROTOCOL);
	op = find_op(name);
	if (!op)
		return fail(e, -EOPNOTSUPP, "no op '%s': set-job, del-job, show, hint, neutral, profile-list, profile-show, profile-set, status, open-ring, set-plan, stop",
			    name);
	if (op->admin && !r->who->admin)
		return fail(e, -EPERM, "%s is for root (CAP_NET_ADMIN)", name);
	if (r->with_fds && op->run != op_open_ring)
		return fail(e, -EINVAL, "%s takes no descriptors", name);
	err = fields_known(in, op->known, e);
	return err ? err : op->run(r, in, out, e);
}

struct json_object *request_handle(struct request *r, const char *text, size_t len)
{
	struct json_object *in, *out;
	struct err e = { "" };
	int err = -EBADMSG;

	r->d->requests += !r->fds;
	in = fields_parse(text, len, &e);
	out = json_object_new_object();
	put_bool(out, "ok", true);
	if (in)
		err = request_dispatch(r, in, out, &e);
	json_object_put(in);
	if (!err)
		return out;
	json_object_put(out);
	if (err == -EINPROGRESS)
		return NULL;
	r->d->refused++;
	return reply_error(err, e.text);
}
