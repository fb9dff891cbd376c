/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What doctor and explain have found: a line each, or with --json an object each in a list. */
#ifndef MLCC_CTL_FINDINGS_H
#define MLCC_CTL_FINDINGS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

enum finding { FINE, NOTE, BAD };

void findings_begin(void);

/* A line: @what was looked at, what was found, and @todo about it ("": nothing). */
void result(enum finding s, const char *what, const char *todo, const char *fmt, ...)
	__attribute__((__format__(__printf__, 4, 5)));

/* Runs a command, or with --dry-run only says so; a line of that.  Whether it has worked, or would. */
bool ran(const char *what, char *const words[]);

/* The status to end with. */
int findings_end(void);

/* explain.c: a line of connections whose carrier was unloaded; whether the job has any. */
bool check_orphans(struct json_object *job);

/* explain.c: a line for each NIC whose packets all have one class. */
void check_forced(const char *todo);
/* doctor_peer.c: the status to end with.  peer_listen() does not. */
int peer_ask(const char *host), peer_listen(void);

/* doctor_try.c: 0, or a negative error number. */
int try_cc(const char *name);
/* A program of two instructions, as the tagger's: a descriptor. */
int try_bpf(void);
/*
 * An operation of a congestion control, as the carrier's, by what the kernel says of its types.
 * -ENOENT: it says nothing of them.
 */
int try_struct_ops(void);
/* As the command of a job: prints mark and congestion control of a connection. */
int try_connection(void);
void check_connection(bool carrier);
/* Policy rules and packet filters for marks that jobs may have; @mask: 0, mlccd's default. */
void check_marks(uint64_t mask);
/* Routes with several next hops. */
void check_paths(void);

#endif /* MLCC_CTL_FINDINGS_H */
