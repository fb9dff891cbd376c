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

#define FAILED	1
#define USAGE	2

static struct mlcc_tagger *tagger;
static struct mlcc *mlcc;
static char **word;	/* WHAT VERB [ARGUMENTS...], and NULL */
static int words;

static bool is(const char *what, const char *verb, int arguments)
{
	return words >= 2 + arguments && !strcmp(word[0], what) && !strcmp(word[1], verb);
}

static uint64_t number(const char *s)
{
	return s ? strtoull(s, NULL, 0) : 0;
}

/* As a cgroup's id, or as its path. */
static uint64_t cgroup(const char *s)
{
	struct stat st;

	return *s == '/' && !stat(s, &st) ? st.st_ino : number(s);
}

/* PATH JOB [CLASSES DSCP...] */
static int tag_set(char **arg)
{
	struct mlcc_tag_conf conf = { .job = number(arg[1]), .priority_classes = number(arg[2]) };

	for (int i = 0; arg[2] && i < 8 && arg[3 + i]; i++)
		conf.dscp[i] = number(arg[3 + i]);
	return mlcc_tag_set(tagger, arg[0], &conf);
}

/* PATH JOB LIST */
static int tag_skip(char **arg)
{
	struct mlcc_tag_conf conf = { .job = number(arg[1]) };

	snprintf(conf.skip, sizeof(conf.skip), "%s", arg[2]);
	return mlcc_tag_set(tagger, arg[0], &conf);
}

static int tag_print(const struct mlcc_tag_info *i, void *arg)
{
	printf("{\"cgroup\":%" PRIu64 ",\"job\":%u,\"classes\":%u,\"tagged\":%" PRIu64
	       ",\"refused\":%" PRIu64 "}\n", i->cgroup_id, i->conf.job, i->conf.priority_classes,
	       i->tagged, i->refused);
	return 0;
}

static int tag_verb(char **arg)
{
	int err;

	if (is("tagger", "load", 0))
		return mlcc_tagger_open(&tagger, number(arg[0]), true);
	err = mlcc_tagger_open(&tagger, 0, false);
	if (err)
		return err;
	if (is("tagger", "unload", 0))
		return mlcc_tagger_unload(tagger);
	if (is("tag", "set", 2))
		return tag_set(arg);
	if (is("tag", "skip", 3))
		return tag_skip(arg);
	if (is("tag", "del", 1))
		return mlcc_tag_del(tagger, cgroup(arg[0]));
	if (is("tag", "list", 0))
		return mlcc_tag_each(tagger, tag_print, NULL);
	return USAGE;
}

/* ID NAME PROFILE BYTES; the name may have any bytes, with no NUL at its end if it is too long */
static int job_set(char **arg, bool create)
{
	struct mlcc_job_conf conf = { .id = number(arg[0]), .phase_bytes = number(arg[3]) };

	strncpy(conf.name, arg[1], sizeof(conf.name));
	strncpy(conf.profile, arg[2], sizeof(conf.profile));
	return mlcc_job_set(mlcc, &conf, create);
}

/* ID CLASS; the class may be of any length */
static int job_class(char **arg)
{
	struct mlcc_job_conf conf = { .id = number(arg[0]) };

	strncpy(conf.job_class, arg[1], sizeof(conf.job_class));
	return mlcc_job_set(mlcc, &conf, false);
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
static int job_get(uint32_t id)
{
	struct mlcc_job_progress now;
	struct mlcc_job_info info;
	int err = mlcc_job_get(mlcc, id, &info) ? : mlcc_job_progress(mlcc, id, &now);

	if (err)
		return err;
	if (now.phases == info.phases && now.d_sent < info.d_sent) {
		fprintf(stderr, "job %u: the pace has fewer bytes than the job had before\n", id);
		return FAILED;
	}
	return job_print(&info, NULL);
}

static int profile_print(const struct mlcc_profile_conf *p, void *arg)
{
	printf("%s %u %u %u %u %s %s%s\n", p->name, p->floor, p->slope, p->hold, p->shape, p->base,
	       p->restart, p->is_default ? " default" : "");
	return 0;
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
	return mlcc_profile_set(mlcc, &p);
}

/* PATH JOB: tags and takes tags off, sets and deletes, until it is killed. */
static int churn(char **arg)
{
	struct mlcc_job_conf conf = { .id = number(arg[1]), .name = "churn" };
	struct mlcc_tag_conf tag = { .job = conf.id };
	int err = mlcc_tagger_open(&tagger, 0, false);

	while (!err) {
		err = mlcc_job_set(mlcc, &conf, true) ? :
		      mlcc_tag_set(tagger, arg[0], &tag) ? :
		      mlcc_phase_start(mlcc, conf.id, 1000000) ? :
		      mlcc_tag_del(tagger, cgroup(arg[0])) ? :
		      mlcc_job_del(mlcc, conf.id);
	}
	return err;
}

/* Announces the job's phases by one handle, until it is killed. */
static int announce(uint32_t job)
{
	int err = 0;

	while (!err) {
		err = mlcc_phase_start(mlcc, job, 1000000) ? : mlcc_phase_end(mlcc, job);
		usleep(2000);
	}
	return err;
}

/* API_CARRIER=module: not the BPF carrier. */
static int carrier_verb(char **arg)
{
	const char *s = getenv("API_CARRIER");
	bool module = s && !strcmp(s, "module");
	int err = mlcc_open(&mlcc, module ? MLCC_CARRIER_MODULE : MLCC_CARRIER_BPF);

	if (err)
		return err;
	if (is("job", "set", 4) || is("job", "new", 4))
		return job_set(arg, is("job", "new", 4));
	if (is("job", "class", 2))
		return job_class(arg);
	if (is("job", "del", 1))
		return mlcc_job_del(mlcc, number(arg[0]));
	if (is("job", "get", 1))
		return job_get(number(arg[0]));
	if (is("job", "list", 0))
		return mlcc_job_each(mlcc, job_print, NULL);
	if (is("phase", "start", 2))
		return mlcc_phase_start(mlcc, number(arg[0]), number(arg[1]));
	if (is("phase", "end", 1))
		return mlcc_phase_end(mlcc, number(arg[0]));
	if (is("profile", "list", 0))
		return mlcc_profile_each(mlcc, profile_print, NULL);
	if (is("profile", "set", 7))
		return profile_set(arg);
	if (is("churn", "forever", 2))
		return churn(arg);
	if (is("announce", "forever", 1))
		return announce(number(arg[0]));
	return USAGE;
}

static int run_verb(void)
{
	bool tags = words && !strncmp(word[0], "tag", 3);
	int err = words < 2 ? USAGE : tags ? tag_verb(word + 2) : carrier_verb(word + 2);

	if (err == USAGE)
		fprintf(stderr, "usage: api WHAT VERB [ARGUMENTS...] [, WHAT VERB...]...\n");
	else if (err < 0)
		fprintf(stderr, "api: %s\n", tags ? mlcc_tagger_error(tagger) : mlcc_error(mlcc));
	mlcc_tagger_close(tagger);
	mlcc_close(mlcc);
	tagger = NULL;
	mlcc = NULL;
	return err < 0 ? FAILED : err;
}

int main(int argc, char **argv)
{
	int status = 0, end;

	for (int i = 1; i < argc && !status; i = end + 1) {
		for (end = i; end < argc && strcmp(argv[end], ","); end++)
			;
		argv[end] = NULL;
		word = argv + i;
		words = end - i;
		status = run_verb();
	}
	return status;
}
