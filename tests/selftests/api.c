// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The functions of libmlcc.h, for the tests: "api tag set PATH 7", or several, "api job set 7 a b 0 ,
 * job get 7", to the first that fails.  Arguments go to the library as they are, so that it is the
 * library that refuses them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../userspace/libmlcc/libmlcc.h"

static struct mlcc_tagger *tagger;
static struct mlcc *mlcc;

static int check(int err, const char *what)
{
	if (err)
		fprintf(stderr, "api: %s\n", what);
	return err;
}

static int checked(int err)
{
	return check(err, mlcc_error(mlcc));
}

static int tag_checked(int err)
{
	return check(err, mlcc_tagger_error(tagger));
}

static uint64_t number(const char *s)
{
	return s ? strtoull(s, NULL, 0) : 0;
}

/* API_CARRIER=module: not the BPF carrier. */
static int carrier_open(void)
{
	const char *s = getenv("API_CARRIER");
	bool module = s && !strcmp(s, "module");

	return checked(mlcc_open(&mlcc, module ? MLCC_CARRIER_MODULE : MLCC_CARRIER_BPF));
}

static int tagger_open(uint32_t mask, bool load)
{
	return tag_checked(mlcc_tagger_open(&tagger, mask, load));
}

/* As a cgroup's id, or as its path. */
static uint64_t cgroup(const char *s)
{
	struct stat st;

	return *s == '/' && !stat(s, &st) ? st.st_ino : number(s);
}

static int tagger_load(char **arg)
{
	return tagger_open(number(arg[0]), true);
}

static int tagger_unload(char **arg)
{
	return tagger_open(0, false) ? : tag_checked(mlcc_tagger_unload(tagger));
}

static int tag_set(char **arg)
{
	struct mlcc_tag_conf conf = { .job = number(arg[1]) };

	if (arg[2])
		conf.priority_classes = number(arg[2]);
	for (int i = 0; arg[2] && i < 8 && arg[3 + i]; i++)
		conf.dscp[i] = number(arg[3 + i]);
	return tagger_open(0, false) ? : tag_checked(mlcc_tag_set(tagger, arg[0], &conf));
}

/* PATH JOB LIST */
static int tag_skip(char **arg)
{
	struct mlcc_tag_conf conf = { .job = number(arg[1]) };

	snprintf(conf.skip, sizeof(conf.skip), "%s", arg[2]);
	return tagger_open(0, false) ? : tag_checked(mlcc_tag_set(tagger, arg[0], &conf));
}

static int tag_del(char **arg)
{
	return tagger_open(0, false) ? : tag_checked(mlcc_tag_del(tagger, cgroup(arg[0])));
}

static int tag_print(const struct mlcc_tag_info *i, void *arg)
{
	printf("{\"cgroup\":%" PRIu64 ",\"job\":%u,\"classes\":%u,\"tagged\":%" PRIu64
	       ",\"refused\":%" PRIu64 "}\n", i->cgroup_id, i->conf.job, i->conf.priority_classes,
	       i->tagged, i->refused);
	return 0;
}

static int tag_list(char **arg)
{
	return tagger_open(0, false) ? : tag_checked(mlcc_tag_each(tagger, tag_print, NULL));
}

/* ID NAME PROFILE BYTES; the name may have any bytes, with no NUL at its end if it is too long */
static int job_conf_set(char **arg, bool create)
{
	struct mlcc_job_conf conf = { .id = number(arg[0]) };

	strncpy(conf.name, arg[1], sizeof(conf.name));
	strncpy(conf.profile, arg[2], sizeof(conf.profile));
	conf.phase_bytes = number(arg[3]);
	return carrier_open() ? : checked(mlcc_job_set(mlcc, &conf, create));
}

static int job_set(char **arg)
{
	return job_conf_set(arg, false);
}

static int job_new(char **arg)
{
	return job_conf_set(arg, true);
}

/* ID CLASS; the class may be of any length */
static int job_class(char **arg)
{
	struct mlcc_job_conf conf = { .id = number(arg[0]) };

	strncpy(conf.job_class, arg[1], sizeof(conf.job_class));
	return carrier_open() ? : checked(mlcc_job_set(mlcc, &conf, false));
}

static int job_del(char **arg)
{
	return carrier_open() ? : checked(mlcc_job_del(mlcc, number(arg[0])));
}

static int job_print(const struct mlcc_job_info *i, void *arg)
{
	printf("{\"id\":%u,\"name\":\"%s\",\"profile\":\"%s\",\"class\":\"%s\","
	       "\"phase_bytes\":%" PRIu64 ",\"flows\":%u,\"phases\":%u,\"d_sent\":%" PRIu64
	       ",\"d_phase\":%" PRIu64 ",\"hits\":%u,\"neutral\":%d,\"progress\":%u,\"gain\":%u,\"bytes\":%"
	       PRIu64 ",\"retrans\":%" PRIu64 ",\"ce\":%" PRIu64 ",\"hinted\":%d}\n", i->conf.id,
	       i->conf.name, i->conf.profile, i->conf.job_class, i->conf.phase_bytes, i->flows,
	       i->phases, i->d_sent, i->d_phase, i->hits, i->neutral, i->progress, i->gain, i->bytes,
	       i->retrans, i->ce, i->hinted);
	return 0;
}

/* What is read of the pace later is the same, or further on. */
static int pace_check(const struct mlcc_job_info *info)
{
	struct mlcc_job_progress now;
	int err = checked(mlcc_job_progress(mlcc, info->conf.id, &now));

	if (err || now.phases != info->phases || now.d_sent >= info->d_sent)
		return err;
	fprintf(stderr, "job %u: the pace has fewer bytes than the job had before\n",
		info->conf.id);
	return 1;
}

static int job_get(char **arg)
{
	struct mlcc_job_info info;
	int err = carrier_open() ? : checked(mlcc_job_get(mlcc, number(arg[0]), &info));

	return err ? : pace_check(&info) ? : job_print(&info, NULL);
}

static int job_list(char **arg)
{
	return carrier_open() ? : checked(mlcc_job_each(mlcc, job_print, NULL));
}

static int phase_start(char **arg)
{
	return carrier_open() ? : checked(mlcc_phase_start(mlcc, number(arg[0]), number(arg[1])));
}

static int phase_end(char **arg)
{
	return carrier_open() ? : checked(mlcc_phase_end(mlcc, number(arg[0])));
}

static int profile_print(const struct mlcc_profile_conf *p, void *arg)
{
	printf("%s %u %u %u %u %s %s%s\n", p->name, p->floor, p->slope, p->hold, p->shape, p->base,
	       p->restart, p->is_default ? " default" : "");
	return 0;
}

static int profile_list(char **arg)
{
	return carrier_open() ? : checked(mlcc_profile_each(mlcc, profile_print, NULL));
}

/* NAME FLOOR SLOPE HOLD SHAPE BASE RESTART [default] */
static int profile_set(char **arg)
{
	struct mlcc_profile_conf p = {
		.floor = number(arg[1]), .slope = number(arg[2]), .hold = number(arg[3]),
		.shape = number(arg[4]), .is_default = arg[7],
	};

	strncpy(p.name, arg[0], sizeof(p.name) - 1);
	strncpy(p.base, arg[5], sizeof(p.base) - 1);
	strncpy(p.restart, arg[6], sizeof(p.restart) - 1);
	return carrier_open() ? : checked(mlcc_profile_set(mlcc, &p));
}

/* PATH JOB: tags and takes tags off, sets and deletes, until it is killed. */
static int churn(char **arg)
{
	struct mlcc_job_conf conf = { .id = number(arg[1]), .name = "churn" };
	struct mlcc_tag_conf tag = { .job = conf.id };
	int err = carrier_open() ? : tagger_open(0, false);

	while (!err) {
		err = checked(mlcc_job_set(mlcc, &conf, true)) ? :
		      tag_checked(mlcc_tag_set(tagger, arg[0], &tag)) ? :
		      checked(mlcc_phase_start(mlcc, conf.id, 1000000)) ? :
		      tag_checked(mlcc_tag_del(tagger, cgroup(arg[0]))) ? :
		      checked(mlcc_job_del(mlcc, conf.id));
	}
	return err;
}

/* JOB: announces its phases by one handle, until it is killed. */
static int announce(char **arg)
{
	int err = carrier_open();

	while (!err) {
		err = checked(mlcc_phase_start(mlcc, number(arg[0]), 1000000)) ? :
		      checked(mlcc_phase_end(mlcc, number(arg[0])));
		usleep(2000);
	}
	return err;
}

static const struct {
	const char *what, *verb;
	int arguments;
	int (*run)(char **arg);
} verbs[] = {
	{ "tagger", "load", 0, tagger_load },
	{ "tagger", "unload", 0, tagger_unload },
	{ "tag", "set", 2, tag_set },
	{ "tag", "skip", 3, tag_skip },
	{ "tag", "del", 1, tag_del },
	{ "tag", "list", 0, tag_list },
	{ "job", "set", 4, job_set },
	{ "job", "class", 2, job_class },
	{ "job", "new", 4, job_new },
	{ "job", "del", 1, job_del },
	{ "job", "get", 1, job_get },
	{ "job", "list", 0, job_list },
	{ "phase", "start", 2, phase_start },
	{ "phase", "end", 1, phase_end },
	{ "profile", "list", 0, profile_list },
	{ "profile", "set", 7, profile_set },
	{ "churn", "forever", 2, churn },
	{ "announce", "forever", 1, announce },
};

/* One of them, with its arguments up to the next NULL. */
static int run_verb(char **arg, int count)
{
	for (size_t i = 0; count > 1 && i < sizeof(verbs) / sizeof(*verbs); i++) {
		int err;

		if (strcmp(arg[0], verbs[i].what) || strcmp(arg[1], verbs[i].verb) ||
		    count - 2 < verbs[i].arguments)
			continue;
		err = verbs[i].run(arg + 2);
		mlcc_tagger_close(tagger);
		mlcc_close(mlcc);
		tagger = NULL;
		mlcc = NULL;
		return err ? 1 : 0;
	}
	fprintf(stderr, "usage: api WHAT VERB [ARGUMENTS...] [, WHAT VERB...]...\n");
	return 2;
}

int main(int argc, char **argv)
{
	int status = 0, end;

	for (int i = 1; i < argc && !status; i = end + 1) {
		for (end = i; end < argc && strcmp(argv[end], ","); end++)
			;
		argv[end] = NULL;
		status = run_verb(argv + i, end - i);
	}
	return status;
}
