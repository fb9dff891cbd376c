/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the verbs of mlcc-ctl share. */
#ifndef MLCC_CTL_H
#define MLCC_CTL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "../common/program.h"
#include "../common/json.h"
#include "../common/options.h"

/* Exit statuses of "run" beside its command's, as env(1) has them; wrong words are EXIT_USAGE. */
enum {
	EXIT_RUN_FAILED = 125,
	EXIT_RUN_CANNOT = 126,
	EXIT_RUN_NOT_FOUND = 127,
};

/* Requests to mlccd.  @request is freed; the reply is the caller's. */
struct json_object *new_request(const char *op);
/* The reply, or NULL: "refusal" says why not. */
struct json_object *try_ask(struct json_object *request);
extern struct refusal {
	int status;		/* to end with */
	char code[32];		/* mlccd's word for it, such as EEXIST; "": it has not refused */
	char why[600];
} refusal;
/* After a fork: the connection is the other process's. */
void forget_connection(void);
/* The reply; a failure ends the program. */
struct json_object *ask(struct json_object *request);

/* A list of one job, @name, or the one that we are in; then of all that may be seen. */
struct json_object *ask_job(const char *name);
struct json_object *all_jobs(void);
struct json_object *try_all_jobs(void);

/* explain.c: whether what is announced of its phases is false; @why in words. */
bool hints_contradict(struct json_object *job, char *why, size_t size);

/* A reply without it ends the program. */
struct json_object *get_list(struct json_object *o, const char *key);

/* That of a file, without its end; false: it has none, or cannot be read. */
bool first_line(const char *path, char *line, size_t size);

/* 1234567 as "1.23M", in one of four buffers */
const char *human(uint64_t v);
const char *milliseconds(uint64_t us);

/* Options of a job, for set-job and run. */
extern const struct option_of job_options[];
/* What follows from several of them; @request is complete but for its cgroup. */
void job_options_end(struct json_object *request, struct json_object *own);

/* The verbs */
int verb_set_job(int argc, char **argv);
int verb_del_job(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_watch(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_observe(int argc, char **argv);
int verb_measure(int argc, char **argv);
int verb_hint(int argc, char **argv);
int verb_profile(int argc, char **argv);
int verb_status(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_undo(int argc, char **argv);
int verb_run(int argc, char **argv);

#define CONTAINER_ID_LEN	128

/*
 * container.c: a process of the container, by id or name, and the whole id, which is part of its
 * cgroup's name; there is none: ends the program
 */
int container_pid(const char *name, char id[CONTAINER_ID_LEN]);

/* doctor_rdma.c: below the root that sysroot_set() has opened */
void check_rdma(void);

#endif /* MLCC_CTL_H */
