// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Soft-RoCE's rules say which queue pairs are a job's, as the tagger's say which sockets are.
 *
 *	/sys/kernel/debug/rxe/DEVICE/jobs	"cgroup ID JOB" a line; JOB 0 takes a rule away
 *
 * A device may come at any time, and without its driver's patches it has no such file.  So the
 * rules are looked at now and then, and what is not as the jobs are is written.  Rules for cgroups
 * that are no job's, and those by traffic class, are the operator's, and stay.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../rdma/nic.h"
#include "../common/auto.h"
#include "../common/err.h"
#include "keep.h"
#include "rxe.h"

#define RULES_MAX	64	/* that the driver has */
#define RULES_LEN	4096	/* as text */

struct rule {
	uint64_t cgroup;
	uint32_t job;
};

struct walk {
	const struct job_list *jobs;	/* whose rules are set, */
	const struct job *gone;		/* or the one whose rule is to go */
	struct rule rule[RULES_MAX];	/* of the device that is looked at */
	unsigned int rules;
	int err;			/* the first that could not be written */
	char failed[NAME_LEN];		/* and where */
};

static int read_rules(struct walk *w, const char *path)
{
	char text[RULES_LEN], *save;
	ssize_t n = sysroot_read(path, text, sizeof(text));

	w->rules = 0;
	if (n < 0)
		return n;
	for (char *line = strtok_r(text, "\n", &save); line && w->rules < RULES_MAX;
	     line = strtok_r(NULL, "\n", &save)) {
		struct rule *r = &w->rule[w->rules];

		if (sscanf(line, "cgroup %" SCNu64 " %" SCNu32, &r->cgroup, &r->job) == 2)
			w->rules++;
	}
	return 0;
}

/* The job of a cgroup, 0: there is no rule. */
static uint32_t rule_of(const struct walk *w, uint64_t cgroup)
{
	for (unsigned int i = 0; i < w->rules; i++)
		if (w->rule[i].cgroup == cgroup)
			return w->rule[i].job;
	return 0;
}

static int write_rule(const char *name, uint64_t cgroup, uint32_t job)
{
	struct keep_ask a = { .op = KEEP_RULE, .id = job, .number = cgroup };

	snprintf(a.name, sizeof(a.name), "%s", name);
	return keep_ask(&a, NULL)->err;
}

/* The first that fails ends it: the others would, too, and it is tried again soon. */
static int set_all(const struct walk *w, const char *name)
{
	const struct job *j;
	int err = 0;

	LIST_FOREACH(j, w->jobs, all) {
		if (j->cgroup_id && rule_of(w, j->cgroup_id) != j->conf.id)
			err = write_rule(name, j->cgroup_id, j->conf.id);
		if (err)
			break;
	}
	return err;
}

static void rxe_device(struct walk *w, const char *name)
{
	char path[sizeof(RXE_DIR) + NAME_LEN + sizeof("/jobs")];
	int err = 0;

	snprintf(path, sizeof(path), RXE_DIR "/%.*s/jobs", NAME_LEN - 1, name);
	if (read_rules(w, path))
		return;
	if (!w->gone)
		err = set_all(w, name);
	else if (rule_of(w, w->gone->cgroup_id) == w->gone->conf.id)
		err = write_rule(name, w->gone->cgroup_id, 0);
	if (err && !w->err) {
		w->err = err;
		snprintf(w->failed, sizeof(w->failed), "%s", name);
	}
}

static void each_device(struct walk *w)
{
	AUTO_CLOSEDIR DIR *devices = sysroot_dir(RXE_DIR, NULL);

	for (const char *name; (name = sysroot_next(devices));)
		rxe_device(w, name);
}

void rxe_set(const struct job_list *jobs)
{
	static int told;	/* once, not with each look */
	struct walk w = { .jobs = jobs };

	each_device(&w);
	if (w.err && w.err != told)
		note(4, "rdma device %s cannot be told whose its queue pairs are: %s", w.failed,
		     strerror(-w.err));
	told = w.err;
}

void rxe_remove(const struct job *job)
{
	struct walk w = { .gone = job };

	if (job->cgroup_id)
		each_device(&w);
}
