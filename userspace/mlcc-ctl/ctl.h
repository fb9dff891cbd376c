/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the verbs of mlcc-ctl share. */
#ifndef MLCC_CTL_H
#define MLCC_CTL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "../common/program.h"
#include "../common/json.h"

/* Exit statuses of "run" beside its command's, as env(1) has them; wrong words are EXIT_USAGE. */
enum {
	EXIT_RUN_FAILED = 125,
	EXIT_RUN_CANNOT = 126,
	EXIT_RUN_NOT_FOUND = 127,
};

#define COMMON_OPTIONS	COMMON_OPTIONS_OF("socket")

/* Requests to mlccd.  @request is freed; the reply is the caller's. */
struct json_object *new_request(const char *op);
/* The reply, or NULL and the status to end with, the reason in @error. */
struct json_object *try_ask(struct json_object *request, int *status, char *error, size_t size);
/* mlccd's word for why it has refused the last one, such as EEXIST; "": it has not. */
const char *refused_code(void);
/* After a fork: the connection is the other process's. */
void forget_connection(void);
/* Ends the program with @status, the reason as JSON where that is wanted. */
void die_answering(int status, const char *error) __attribute__((__noreturn__));
/* The reply; a failure ends the program. */
struct json_object *ask(struct json_object *request);

/* A list of one job, @name, or the one that we are in; then of all that may be seen. */
struct json_object *ask_job(const char *name);
struct json_object *all_jobs(void);
struct json_object *try_all_jobs(int *status, char *error, size_t size);

/* explain.c: whether what is announced of its phases is false; @why in words. */
bool hints_contradict(struct json_object *job, char *why, size_t size);

/* A reply without it ends the program. */
struct json_object *get_list(struct json_object *o, const char *key);

/* 1234567 as "1.23M", in one of four buffers */
const char *human(uint64_t v);
const char *milliseconds(uint64_t us);

/* Options of a job, for set-job and run. */
struct job_options {
	struct json_object *request;
	const char *model, *workers, *algorithm, *precision, *parameters;
	bool phase_bytes, period, priorities, phaseless;
};

#define JOB_OPTIONS							\
	{ "name", required_argument, NULL, 1000 },			\
	{ "profile", required_argument, NULL, 1001 },			\
	{ "phase-bytes", required_argument, NULL, 1002 },		\
	{ "period", required_argument, NULL, 1003 },			\
	{ "priority", required_argument, NULL, 1004 },			\
	{ "model", required_argument, NULL, 1005 },			\
	{ "workers", required_argument, NULL, 1006 },			\
	{ "algorithm", required_argument, NULL, 1007 },			\
	{ "precision", required_argument, NULL, 1008 },			\
	{ "parameters", required_argument, NULL, 1009 },		\
	{ "owner", required_argument, NULL, 1010 },			\
	{ "skip", required_argument, NULL, 1011 },			\
	{ "class", required_argument, NULL, 1012 }

void job_options_init(struct job_options *o);
/* false: not one of them */
bool job_option(struct job_options *o, int c);
/* What follows from several of them; the request is complete but for its cgroup. */
void job_options_end(struct job_options *o);

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
